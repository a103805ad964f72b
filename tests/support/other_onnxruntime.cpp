// In the place of ONNX Runtime's library: one that is older than opdump takes, or with OTHER_COMPUTES one that
// computes Identity, Relu, Neg and Clip of float32 and refuses each other model, or where the environment has
// OTHER_CRASHES, ends the program by a model with a Clip.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/runtimes/onnxruntime/ort_abi.hpp"

namespace {

#ifdef OTHER_COMPUTES

struct Value {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> dims;
  std::vector<float> items;
};

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

const Value& value_of(const void* value) {
  return *static_cast<const Value*>(value);
}

/// Whether `model`, of one node, has it of this type: NodeProto's field 4.
bool has_type(std::string_view model, std::string_view type) {
  const std::string field = std::string("\x22") + static_cast<char>(type.size()) + std::string(type);
  return model.find(field) != std::string_view::npos;
}

OrtStatus* open_model(const OrtEnv*, const void* model, std::size_t bytes, const OrtSessionOptions*,
                      OrtSession** made) noexcept {
  static const char* const kTypes[] = {"Identity", "Relu", "Neg", "Clip"};
  const std::string_view text(static_cast<const char*>(model), bytes);
  if (std::getenv("OTHER_CRASHES") != nullptr && has_type(text, "Clip")) std::abort();
  for (const char* const& type : kTypes) {
    if (has_type(text, type)) *made = reinterpret_cast<OrtSession*>(const_cast<char**>(&type));
  }
  return *made != nullptr ? nullptr : refusal("no such operators here,\nand no \x1b[31mcolours");
}

OrtStatus* run(OrtSession* session, const OrtRunOptions*, const char* const*, const OrtValue* const* inputs,
               std::size_t input_count, const char* const*, std::size_t, OrtValue** outputs) noexcept {
  const std::string_view type = *reinterpret_cast<const char* const*>(session);
  auto made = std::make_unique<Value>(value_of(inputs[0]));
  for (float& item : made->items) {
    if (type == "Relu") item = std::max(item, 0.0f);
    if (type == "Neg") item = -item;
    if (type == "Clip" && input_count == 2) item = std::min(item, value_of(inputs[1]).items[0]);
  }
  outputs[0] = reinterpret_cast<OrtValue*>(made.release());
  return nullptr;
}

OrtStatus* make_value(const OrtMemoryInfo*, void* data, std::size_t bytes, const std::int64_t* dims,
                      std::size_t rank, ONNXTensorElementDataType type, OrtValue** made) noexcept {
  if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return refusal("float32 alone is computed");
  const auto* const items = static_cast<const float*>(data);
  *made = reinterpret_cast<OrtValue*>(
      new Value{type, {dims, dims + rank}, {items, items + bytes / sizeof(float)}});
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
  api.CreateSessionFromArray = open_model;
  api.ReleaseSession = [](OrtSession*) noexcept {};
  api.Run = run;
  api.CreateTensorWithDataAsOrtValue = make_value;
  api.ReleaseValue = [](OrtValue* value) noexcept { delete reinterpret_cast<Value*>(value); };
  api.IsTensor = [](const OrtValue*, int* is_tensor) noexcept -> OrtStatus* {
    *is_tensor = 1;
    return nullptr;
  };
  api.GetTensorTypeAndShape = [](const OrtValue* value,
                                 OrtTensorTypeAndShapeInfo** made) noexcept -> OrtStatus* {
    *made = reinterpret_cast<OrtTensorTypeAndShapeInfo*>(const_cast<OrtValue*>(value));
    return nullptr;
  };
  api.ReleaseTensorTypeAndShapeInfo = [](OrtTensorTypeAndShapeInfo*) noexcept {};
  api.GetTensorElementType = [](const OrtTensorTypeAndShapeInfo* value,
                                ONNXTensorElementDataType* type) noexcept -> OrtStatus* {
    *type = value_of(value).type;
    return nullptr;
  };
  api.GetDimensionsCount = [](const OrtTensorTypeAndShapeInfo* value,
                              std::size_t* rank) noexcept -> OrtStatus* {
    *rank = value_of(value).dims.size();
    return nullptr;
  };
  api.GetDimensions = [](const OrtTensorTypeAndShapeInfo* value, std::int64_t* dims,
                         std::size_t) noexcept -> OrtStatus* {
    std::copy(value_of(value).dims.begin(), value_of(value).dims.end(), dims);
    return nullptr;
  };
  api.GetTensorMutableData = [](OrtValue* value, void** data) noexcept -> OrtStatus* {
    *data = reinterpret_cast<Value*>(value)->items.data();
    return nullptr;
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
