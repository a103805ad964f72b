#pragma once
/// ONNX Runtime's C API: its own header where there is one, be it included before or to be found; else what
/// the tap and a small program need of it, as it lies in every library since 1.22. The structs of functions
/// only ever grow at their ends. A gap's name tells the number of the function behind it.
///
/// Read from the header of API 29, and run with the libraries of 1.28.2 and 1.30.0.
#if !defined(ORT_API_VERSION)
#if __has_include(<onnxruntime_c_api.h>)
#include <onnxruntime_c_api.h>
#elif __has_include(<onnxruntime/onnxruntime_c_api.h>)
#include <onnxruntime/onnxruntime_c_api.h>
#elif __has_include(<onnxruntime/core/session/onnxruntime_c_api.h>)
#include <onnxruntime/core/session/onnxruntime_c_api.h>
#endif
#endif

#if !defined(ORT_API_VERSION)
#include <cstddef>
#include <cstdint>

#define ORT_API_VERSION 22

extern "C" {

struct OrtEnv;
struct OrtStatus;
struct OrtMemoryInfo;
struct OrtSession;
struct OrtValue;
struct OrtRunOptions;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtTensorTypeAndShapeInfo;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtAllocator;
struct OrtNode;
struct OrtGraph;
struct OrtModel;
struct OrtOpAttr;
struct OrtPrepackedWeightsContainer;
struct OrtShapeInferContext;
struct OrtCustomOp;
struct OrtApi;

enum OrtLoggingLevel {
  ORT_LOGGING_LEVEL_WARNING = 2,
  ORT_LOGGING_LEVEL_ERROR = 3,
  ORT_LOGGING_LEVEL_FATAL = 4
};
enum OrtAllocatorType { OrtArenaAllocator = 1 };
enum OrtMemType { OrtMemTypeDefault = 0 };
enum ExecutionMode { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 };
enum GraphOptimizationLevel { ORT_DISABLE_ALL = 0, ORT_ENABLE_ALL = 99 };
enum OrtCustomOpInputOutputCharacteristic { INPUT_OUTPUT_REQUIRED = 0, INPUT_OUTPUT_VARIADIC = 2 };
enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8
};

struct OrtModelEditorApi {
  void* gap_to_6[6];
  OrtStatus* (*CreateNode)(const char* type, const char* domain, const char* name, const char* const* inputs,
                           std::size_t input_count, const char* const* outputs, std::size_t output_count,
                           OrtOpAttr** attributes, std::size_t attribute_count, OrtNode** node);
  OrtStatus* (*CreateGraph)(OrtGraph**);
  void* gap_to_11[3];
  OrtStatus* (*AddNodeToGraph)(OrtGraph*, OrtNode*);
  OrtStatus* (*CreateModel)(const char* const* domains, const int* opsets, std::size_t count, OrtModel**);
  OrtStatus* (*AddGraphToModel)(OrtModel*, OrtGraph*);
  void* gap_to_15[1];
  OrtStatus* (*CreateModelEditorSession)(const OrtEnv*, const char* path, const OrtSessionOptions*,
                                         OrtSession**);
  OrtStatus* (*CreateModelEditorSessionFromArray)(const OrtEnv*, const void* model, std::size_t bytes,
                                                  const OrtSessionOptions*, OrtSession**);
  OrtStatus* (*SessionGetOpsetForDomain)(const OrtSession*, const char* domain, int* opset);
  OrtStatus* (*ApplyModelToModelEditorSession)(OrtSession*, OrtModel*);
  OrtStatus* (*FinalizeModelEditorSession)(OrtSession*, const OrtSessionOptions*,
                                           OrtPrepackedWeightsContainer*);
};

struct OrtApi {
  void* gap_to_2[2];
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(OrtLoggingLevel, const char* name, OrtEnv**);
  void* gap_to_7[3];
  OrtStatus* (*CreateSession)(const OrtEnv*, const char* path, const OrtSessionOptions*, OrtSession**);
  OrtStatus* (*CreateSessionFromArray)(const OrtEnv*, const void* model, std::size_t bytes,
                                       const OrtSessionOptions*, OrtSession**);
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names,
                    const OrtValue* const* inputs, std::size_t input_count, const char* const* output_names,
                    std::size_t output_count, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions**);
  OrtStatus* (*SetOptimizedModelFilePath)(OrtSessionOptions*, const char* path);
  OrtStatus* (*CloneSessionOptions)(const OrtSessionOptions*, OrtSessionOptions**);
  OrtStatus* (*SetSessionExecutionMode)(OrtSessionOptions*, ExecutionMode);
  OrtStatus* (*EnableProfiling)(OrtSessionOptions*, const char* prefix);
  OrtStatus* (*DisableProfiling)(OrtSessionOptions*);
  void* gap_to_22[6];
  OrtStatus* (*SetSessionLogSeverityLevel)(OrtSessionOptions*, int level);
  OrtStatus* (*SetSessionGraphOptimizationLevel)(OrtSessionOptions*, GraphOptimizationLevel);
  OrtStatus* (*SetIntraOpNumThreads)(OrtSessionOptions*, int threads);
  OrtStatus* (*SetInterOpNumThreads)(OrtSessionOptions*, int threads);
  OrtStatus* (*CreateCustomOpDomain)(const char* name, OrtCustomOpDomain**);
  OrtStatus* (*CustomOpDomain_Add)(OrtCustomOpDomain*, const OrtCustomOp*);
  OrtStatus* (*AddCustomOpDomain)(OrtSessionOptions*, OrtCustomOpDomain*);
  void* gap_to_31[2];
  OrtStatus* (*SessionGetOutputCount)(const OrtSession*, std::size_t*);
  void* gap_to_37[5];
  OrtStatus* (*SessionGetOutputName)(const OrtSession*, std::size_t index, OrtAllocator*, char** name);
  void* gap_to_49[11];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, std::size_t bytes,
                                               const std::int64_t* dims, std::size_t rank,
                                               ONNXTensorElementDataType, OrtValue**);
  OrtStatus* (*IsTensor)(const OrtValue*, int*);
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void**);
  void* gap_to_60[8];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo*, ONNXTensorElementDataType*);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, std::size_t*);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, std::int64_t* dims, std::size_t rank);
  void* gap_to_65[2];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo**);
  void* gap_to_69[3];
  OrtStatus* (*CreateCpuMemoryInfo)(OrtAllocatorType, OrtMemType, OrtMemoryInfo**);
  void* gap_to_78[8];
  OrtStatus* (*GetAllocatorWithDefaultOptions)(OrtAllocator**);
  void* gap_to_90[11];
  OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext*, std::size_t index, const OrtValue**);
  void* gap_to_92[1];
  void (*ReleaseEnv)(OrtEnv*);
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void (*ReleaseSession)(OrtSession*);
  void (*ReleaseValue)(OrtValue*);
  void* gap_to_99[2];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
  void (*ReleaseCustomOpDomain)(OrtCustomOpDomain*);
  void* gap_to_244[142];
  OrtStatus* (*KernelInfo_GetNodeName)(const OrtKernelInfo*, char* name, std::size_t* bytes);
  void* gap_to_286[41];
  void (*ReleaseNode)(OrtNode*);
  void (*ReleaseGraph)(OrtGraph*);
  void (*ReleaseModel)(OrtModel*);
  void* gap_to_291[2];
  const OrtModelEditorApi* (*GetModelEditorApi)();
  void* gap_to_318[26];
  OrtStatus* (*GetTensorSizeInBytes)(const OrtValue*, std::size_t*);
};

struct OrtCustomOp {
  std::uint32_t version;
  void* (*CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*);
  const char* (*GetName)(const OrtCustomOp*);
  const char* (*GetExecutionProviderType)(const OrtCustomOp*);
  ONNXTensorElementDataType (*GetInputType)(const OrtCustomOp*, std::size_t);
  std::size_t (*GetInputTypeCount)(const OrtCustomOp*);
  ONNXTensorElementDataType (*GetOutputType)(const OrtCustomOp*, std::size_t);
  std::size_t (*GetOutputTypeCount)(const OrtCustomOp*);
  void (*KernelCompute)(void*, OrtKernelContext*);
  void (*KernelDestroy)(void*);
  OrtCustomOpInputOutputCharacteristic (*GetInputCharacteristic)(const OrtCustomOp*, std::size_t);
  OrtCustomOpInputOutputCharacteristic (*GetOutputCharacteristic)(const OrtCustomOp*, std::size_t);
  OrtMemType (*GetInputMemoryType)(const OrtCustomOp*, std::size_t);
  int (*GetVariadicInputMinArity)(const OrtCustomOp*);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void**);
  OrtStatus* (*KernelComputeV2)(void*, OrtKernelContext*);
  OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*);
  int (*GetStartVersion)(const OrtCustomOp*);
  int (*GetEndVersion)(const OrtCustomOp*);
  std::size_t (*GetMayInplace)(int**, int**);
  void (*ReleaseMayInplace)(int*, int*);
  std::size_t (*GetAliasMap)(int**, int**);
  void (*ReleaseAliasMap)(int*, int*);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(std::uint32_t version);
  const char* (*GetVersionString)();
};

const OrtApiBase* OrtGetApiBase();

}  // extern "C"
#endif
