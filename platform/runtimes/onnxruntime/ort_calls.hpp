#pragma once
#include <string>
#include <utility>

#include "platform/runtimes/onnxruntime/ort_abi.hpp"

namespace opdump::onnxruntime {

/// Calls of ONNX Runtime, and what the last one that failed said.
class Calls {
 public:
  explicit Calls(const OrtApi* api) : api_(api) {}

  const OrtApi* operator->() const { return api_; }
  const std::string& error() const { return error_; }

  bool succeeds(OrtStatus* status) {
    if (status == nullptr) return true;
    fail(api_->GetErrorMessage(status));
    api_->ReleaseStatus(status);
    return false;
  }
  bool fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

 private:
  const OrtApi* api_;
  std::string error_;
};

}  // namespace opdump::onnxruntime
