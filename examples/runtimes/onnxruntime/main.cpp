// usage: onnxruntime MODEL.onnx IMAGE.pgm...
// Says which way up each line of text is, by PaddleOCR's classifier in the stock library of ONNX Runtime. The
// tensors that the config of OPDUMP_CONFIG asks for are dumped: a step is an image, of any width.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "platform/runtimes/onnxruntime/ort_tap.hpp"

const OrtApi* const api = OrtGetApiBase()->GetApi(ORT_API_VERSION);

void check(OrtStatus* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", api->GetErrorMessage(status));
  std::exit(1);
}

/// Three equal channels, from -1 to 1. `dims`: NCHW.
std::vector<float> read_pgm(const char* path, std::int64_t* dims) {
  std::ifstream file(path, std::ios::binary);
  std::string kind, most;
  file >> kind >> dims[3] >> dims[2] >> most;
  const std::size_t pixels = static_cast<std::size_t>(dims[2] * dims[3]);
  std::vector<float> image(3 * pixels);
  file.get();
  for (std::size_t i = 0; i < pixels; ++i)
    image[i] = image[i + pixels] = image[i + 2 * pixels] = static_cast<float>(file.get()) / 127.5f - 1;
  return image;
}

int main(int count, char** arguments) {
  if (count < 3 || api == nullptr) return 2;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "upright", &env));
  check(api->CreateSessionOptions(&options));
  check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  opdump::attach::Dump dump;                                        // opdump
  opdump::onnxruntime::Tap tap(dump, "upright", *OrtGetApiBase());  // opdump
  check(tap.create_session(env, arguments[1], options, &session));  // opdump
  for (int i = 2; i < count; ++i) {
    const auto step = tap.step();  // opdump
    std::int64_t dims[] = {1, 3, 0, 0};
    std::vector<float> image = read_pgm(arguments[i], dims);
    const char *const input_name = "x", *const output_name = "softmax_0.tmp_0";
    OrtValue *input = nullptr, *output = nullptr;
    check(api->CreateTensorWithDataAsOrtValue(memory, image.data(), image.size() * sizeof(float), dims, 4,
                                              ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    check(api->Run(session, nullptr, &input_name, &input, 1, &output_name, 1, &output));
    float* shares = nullptr;
    check(api->GetTensorMutableData(output, reinterpret_cast<void**>(&shares)));
    std::printf("%s %.9g\n", shares[0] >= shares[1] ? "upright" : "upside down", double{shares[0]});
  }
  api->ReleaseSession(session);
  return dump.stop() == OPDUMP_OK ? 0 : 1;  // opdump
}
