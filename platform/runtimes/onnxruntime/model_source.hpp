#pragma once
#include <cstddef>
#include <cstdio>
#include <memory>

#include "opdump/attach.h"
#include "platform/runtimes/onnxruntime/ort_abi.hpp"
#include "platform/runtimes/onnxruntime/ort_calls.hpp"

namespace opdump::onnxruntime {

/// A model from which sessions are created: a file, or bytes in memory.
struct ModelSource {
  const OrtEnv* env;
  const char* path;  ///< null: it is in memory
  const void* data;
  std::size_t bytes;

  OrtStatus* create(const OrtApi& api, const OrtSessionOptions* options, OrtSession** session) const {
    return path != nullptr ? api.CreateSession(env, path, options, session)
                           : api.CreateSessionFromArray(env, data, bytes, options, session);
  }

  /// A session that can still be added to.
  OrtStatus* create(const OrtModelEditorApi& api, const OrtSessionOptions* options,
                    OrtSession** session) const {
    return path != nullptr ? api.CreateModelEditorSession(env, path, options, session)
                           : api.CreateModelEditorSessionFromArray(env, data, bytes, options, session);
  }

  opdump_status show_nodes(void (*show)(void*, const opdump_onnx_node*), void* context) const {
    return path != nullptr ? opdump_onnx_nodes_of_file(path, show, context)
                           : opdump_onnx_nodes(data, bytes, show, context);
  }

  bool is_larger_than(std::size_t most) const {
    if (path == nullptr) return bytes > most;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rbe"), std::fclose);
    return file == nullptr || std::fseek(file.get(), 0, SEEK_END) != 0 ||
           static_cast<std::size_t>(std::ftell(file.get())) > most;
  }
};

}  // namespace opdump::onnxruntime
