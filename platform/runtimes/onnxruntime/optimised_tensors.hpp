#pragma once
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_set>

#include "platform/runtimes/onnxruntime/model_source.hpp"

namespace opdump::onnxruntime {

/// The names of the tensors that are left of a model once ONNX Runtime has optimised it. To learn them it
/// creates a session, which writes the optimised model to a temporary file, and reads that.
class OptimisedTensors {
 public:
  /// False, with an error of `calls`: they are not known.
  bool read(Calls& calls, const ModelSource& model, const OrtSessionOptions& options) {
    const char* const folder = std::getenv("TMPDIR");
    std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/opdump-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) return calls.fail("temporary file " + path + ": " + std::strerror(errno));
    close(file);
    OrtSessionOptions* changed = nullptr;
    OrtSession* session = nullptr;
    const bool created =
        calls.succeeds(calls->CloneSessionOptions(&options, &changed)) &&
        calls.succeeds(calls->SetOptimizedModelFilePath(changed, path.c_str())) &&
        calls.succeeds(calls->SetSessionLogSeverityLevel(changed, ORT_LOGGING_LEVEL_ERROR)) &&
        calls.succeeds(calls->DisableProfiling(changed)) &&
        calls.succeeds(model.create(*calls.operator->(), changed, &session));
    const opdump_status status = created ? opdump_onnx_nodes_of_file(path.c_str(), keep, this) : OPDUMP_OK;
    if (session != nullptr) calls->ReleaseSession(session);
    if (changed != nullptr) calls->ReleaseSessionOptions(changed);
    unlink(path.c_str());
    if (status != OPDUMP_OK) return calls.fail(path + ": " + opdump_status_text(status));
    return created;
  }

  bool has(const std::string& name) const { return names_.count(name) != 0; }

 private:
  static void keep(void* self, const opdump_onnx_node* node) {
    auto& names = static_cast<OptimisedTensors*>(self)->names_;
    names.insert(node->inputs, node->inputs + node->input_count);
    names.insert(node->outputs, node->outputs + node->output_count);
  }

  std::unordered_set<std::string> names_;
};

}  // namespace opdump::onnxruntime
