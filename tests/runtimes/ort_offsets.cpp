// Prints where ONNX Runtime's header, or opdump's without it, has what the tap and its example use.
#include <cstddef>
#include <cstdio>

#include "platform/runtimes/onnxruntime/ort_abi.hpp"

#define SHOW(Struct, member) std::printf("%s.%s %zu\n", #Struct, #member, offsetof(Struct, member))
#define API(member) SHOW(OrtApi, member)
#define EDITOR(member) SHOW(OrtModelEditorApi, member)
#define OP(member) SHOW(OrtCustomOp, member)
#define VALUE(name) std::printf("%s %d\n", #name, static_cast<int>(name))

int main() {
  EDITOR(CreateNode);
  EDITOR(CreateGraph);
  EDITOR(AddNodeToGraph);
  EDITOR(CreateModel);
  EDITOR(AddGraphToModel);
  EDITOR(CreateModelEditorSession);
  EDITOR(CreateModelEditorSessionFromArray);
  EDITOR(SessionGetOpsetForDomain);
  EDITOR(ApplyModelToModelEditorSession);
  EDITOR(FinalizeModelEditorSession);
  API(GetErrorMessage);
  API(CreateEnv);
  API(CreateSession);
  API(CreateSessionFromArray);
  API(Run);
  API(CreateSessionOptions);
  API(SetOptimizedModelFilePath);
  API(CloneSessionOptions);
  API(SetSessionExecutionMode);
  API(EnableProfiling);
  API(DisableProfiling);
  API(SetSessionLogSeverityLevel);
  API(SetSessionGraphOptimizationLevel);
  API(SetIntraOpNumThreads);
  API(SetInterOpNumThreads);
  API(CreateCustomOpDomain);
  API(CustomOpDomain_Add);
  API(AddCustomOpDomain);
  API(SessionGetOutputCount);
  API(SessionGetOutputName);
  API(CreateTensorWithDataAsOrtValue);
  API(IsTensor);
  API(GetTensorMutableData);
  API(GetTensorElementType);
  API(GetDimensionsCount);
  API(GetDimensions);
  API(GetTensorTypeAndShape);
  API(CreateCpuMemoryInfo);
  API(GetAllocatorWithDefaultOptions);
  API(KernelContext_GetInput);
  API(ReleaseEnv);
  API(ReleaseStatus);
  API(ReleaseMemoryInfo);
  API(ReleaseSession);
  API(ReleaseValue);
  API(ReleaseTensorTypeAndShapeInfo);
  API(ReleaseSessionOptions);
  API(ReleaseCustomOpDomain);
  API(KernelInfo_GetNodeName);
  API(ReleaseNode);
  API(ReleaseGraph);
  API(ReleaseModel);
  API(GetModelEditorApi);
  API(GetTensorSizeInBytes);
  OP(CreateKernel);
  OP(GetName);
  OP(GetExecutionProviderType);
  OP(GetInputType);
  OP(GetInputTypeCount);
  OP(GetOutputType);
  OP(GetOutputTypeCount);
  OP(KernelCompute);
  OP(KernelDestroy);
  OP(GetInputCharacteristic);
  OP(GetOutputCharacteristic);
  OP(GetInputMemoryType);
  OP(GetVariadicInputMinArity);
  OP(GetVariadicInputHomogeneity);
  OP(GetVariadicOutputMinArity);
  OP(GetVariadicOutputHomogeneity);
  OP(CreateKernelV2);
  OP(KernelComputeV2);
  OP(InferOutputShapeFn);
  OP(GetStartVersion);
  OP(GetEndVersion);
  OP(GetMayInplace);
  OP(ReleaseMayInplace);
  OP(GetAliasMap);
  OP(ReleaseAliasMap);
  OP(version);
  SHOW(OrtApiBase, GetApi);
  SHOW(OrtApiBase, GetVersionString);
  VALUE(ORT_LOGGING_LEVEL_WARNING);
  VALUE(ORT_LOGGING_LEVEL_ERROR);
  VALUE(ORT_LOGGING_LEVEL_FATAL);
  VALUE(OrtArenaAllocator);
  VALUE(OrtMemTypeDefault);
  VALUE(ORT_SEQUENTIAL);
  VALUE(ORT_PARALLEL);
  VALUE(ORT_DISABLE_ALL);
  VALUE(ORT_ENABLE_ALL);
  VALUE(INPUT_OUTPUT_REQUIRED);
  VALUE(INPUT_OUTPUT_VARIADIC);
  VALUE(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);
  VALUE(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  VALUE(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  return 0;
}
