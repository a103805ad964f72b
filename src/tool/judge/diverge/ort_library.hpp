#pragma once
#include <optional>
#include <string>

#include "platform/runtimes/onnxruntime/ort_abi.hpp"

namespace opdump::tool {

/// The library of ONNX Runtime. It stays loaded until the program ends, as it starts threads.
struct OrtLibrary {
  const OrtApi* api = nullptr;
  std::string version;  ///< "1.28.2"
};

/// Whether the variable OPDUMP_ORT names a library.
bool is_ort_named();

/// Loads the library `path`; if that is empty, the one that the variable OPDUMP_ORT names, else the system's.
/// Loading runs what a library does when it starts. Nothing: `reason` names the file, and says why it cannot
/// be had.
std::optional<OrtLibrary> load_ort(const std::string& path, std::string& reason);

}  // namespace opdump::tool
