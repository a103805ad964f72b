#include "src/tool/judge/diverge/ort_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>

#include "platform/posix/impl/trusted_variable.hpp"

namespace opdump::tool {
namespace {

/// The functions that are used here have been in the table since the first one, and later ones came behind
/// them. Run with the libraries of 1.11.0, 1.28.2 and 1.30.0.
constexpr std::uint32_t kApi = 11;
constexpr char kOldest[] = "1.11";

constexpr char kVariable[] = "OPDUMP_ORT";

/// Null: it names nothing.
const char* named_library() {
  const char* const value = posix::trusted_variable(kVariable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

void* open_library(const std::string& file) {
  return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// What the loader says of the last failure, without the file's name if it begins with that.
std::string loader_text(const std::string& file) {
  const char* const told = ::dlerror();
  std::string text = told == nullptr ? "the loader does not say why" : told;
  if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
  return text;
}

std::optional<OrtLibrary> api_of(void* library, const std::string& file, std::string& reason) {
  const auto base_of = reinterpret_cast<const OrtApiBase* (*)()>(
      library == nullptr ? nullptr : ::dlsym(library, "OrtGetApiBase"));
  const OrtApiBase* const base = base_of == nullptr ? nullptr : base_of();
  if (base == nullptr) {
    reason = file + ": is not the library of ONNX Runtime: it has no OrtGetApiBase";
    return std::nullopt;
  }
  OrtLibrary found{base->GetApi(kApi), base->GetVersionString()};
  if (found.api != nullptr) return found;
  reason = file + ": is ONNX Runtime " + found.version + ", which is older than " + kOldest;
  return std::nullopt;
}

std::optional<OrtLibrary> load_system(std::string& reason) {
  const std::string names[] = {"libonnxruntime.so", "libonnxruntime.so.1"};
  for (const std::string& name : names) {
    if (void* const library = open_library(name); library != nullptr) return api_of(library, name, reason);
    const std::string why = loader_text(name);
    if (reason.empty()) reason = name + ": " + why;
  }
  reason += std::string("; install ONNX Runtime ") + kOldest +
            " or later, or name its library by --reference ort:FILE or by " + kVariable;
  return std::nullopt;
}

}  // namespace

bool is_ort_named() {
  return named_library() != nullptr;
}

std::optional<OrtLibrary> load_ort(const std::string& path, std::string& reason) {
  reason.clear();
  std::string file = path;
  std::string named_by;
  if (const char* const value = file.empty() ? named_library() : nullptr; value != nullptr) {
    file = value;
    named_by = std::string(", which ") + kVariable + " names";
  }
  if (file.empty()) return load_system(reason);
  // The loader looks for a bare name elsewhere.
  const std::string opened =
      file.find('/') == std::string::npos && ::access(file.c_str(), F_OK) == 0 ? "./" + file : file;
  void* const library = open_library(opened);
  if (library == nullptr) {
    reason = file + named_by + ": " + loader_text(opened);
    return std::nullopt;
  }
  return api_of(library, file + named_by, reason);
}

}  // namespace opdump::tool
