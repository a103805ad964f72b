// In the place of ONNX Runtime's library: one that is older than opdump takes, or with OTHER_REFUSES one that
// refuses each model, or where the environment has OTHER_CRASHES, ends the program by a model with a Clip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "platform/runtimes/onnxruntime/ort_abi.hpp"

namespace {

#ifdef OTHER_REFUSES

/// A status is its text.
OrtStatus* refusal(const char* text) {
  return reinterpret_cast<OrtStatus*>(const_cast<char*>(text));
}

template <class Object>
OrtStatus* make(Object** made) {
  static char place = 0;
  *made = reinterpret_cast<Object*>(&place);
  return nullptr;
}

const OrtApi* api_of(std::uint32_t) noexcept {
  static OrtApi api{};
  api.GetErrorMessage = [](const OrtStatus* status) noexcept {
    return reinterpret_cast<const char*>(status);
  };
  api.ReleaseStatus = [](OrtStatus*) noexcept {};
  api.CreateEnv = [](OrtLoggingLevel, const char*, OrtEnv** made) noexcept { return make(made); };
  api.ReleaseEnv = [](OrtEnv*) noexcept {};
  api.CreateSessionOptions = [](OrtSessionOptions** made) noexcept { return make(made); };
  api.ReleaseSessionOptions = [](OrtSessionOptions*) noexcept {};
  api.SetSessionLogSeverityLevel = [](OrtSessionOptions*, int) noexcept -> OrtStatus* { return nullptr; };
  api.SetSessionGraphOptimizationLevel =
      [](OrtSessionOptions*, GraphOptimizationLevel) noexcept -> OrtStatus* { return nullptr; };
  api.SetIntraOpNumThreads = [](OrtSessionOptions*, int) noexcept -> OrtStatus* { return nullptr; };
  api.SetInterOpNumThreads = [](OrtSessionOptions*, int) noexcept -> OrtStatus* { return nullptr; };
  api.CreateCpuMemoryInfo = [](OrtAllocatorType, OrtMemType, OrtMemoryInfo** made) noexcept {
    return make(made);
  };
  api.ReleaseMemoryInfo = [](OrtMemoryInfo*) noexcept {};
  api.CreateSessionFromArray = [](const OrtEnv*, const void* model, std::size_t bytes,
                                  const OrtSessionOptions*, OrtSession**) noexcept {
    const std::string_view text(static_cast<const char*>(model), bytes);
    if (std::getenv("OTHER_CRASHES") != nullptr && text.find("Clip") != std::string_view::npos) std::abort();
    return refusal("no operators here,\nand no \x1b[31mcolours");
  };
  return &api;
}

const char* version() noexcept {
  return "1.99.0";
}

#else

const OrtApi* api_of(std::uint32_t) noexcept {
  return nullptr;
}

const char* version() noexcept {
  return "1.4.0";
}

#endif

const OrtApiBase kBase = {api_of, version};

}  // namespace

// As it is declared, here or by the runtime.
const OrtApiBase* OrtGetApiBase() noexcept(noexcept(OrtGetApiBase())) {
  return &kBase;
}
