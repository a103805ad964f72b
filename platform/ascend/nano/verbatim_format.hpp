#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/impl/record/part_interfaces.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// The file format of records whose bytes are the whole file, head included.
class VerbatimFormat final : public RecordFormat {
 public:
  bool one_tensor() const override { return false; }

  std::string_view suffix(const RecordView& /*record*/, const DumpTarget& /*target*/,
                          std::span<char> /*memory*/) const override {
    return {};
  }

  [[nodiscard]] Status begin(OpenObject& object, FormatState& /*state*/, const RecordView& /*record*/,
                             Bytes data, MutableBytes /*scratch*/) override {
    return object.put(data);
  }

  [[nodiscard]] Status append(OpenObject& object, FormatState& /*state*/, Bytes data) override {
    return object.put(data);
  }

  [[nodiscard]] Status put_report(OpenObject& object, const OverflowReport& /*report*/) override {
    object.abort();
    return Status::not_supported;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
