#include "src/tool/config/checked_config.hpp"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "platform/posix/exception_environment.hpp"
#include "src/card/hexadecimal.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {
namespace {

constexpr Runtime kRuntimes[] = {
    {"ggml: llama.cpp, whisper.cpp and others", "platform/runtimes/ggml/ggml_tap.hpp",
     "the scheduler's callback, or `cb_eval`", "outputs; inputs that the operator does not write over",
     "yes: what a backend fuses is computed apart where it is dumped", "ggml's question before each node",
     "the graph stops behind the node, and waits for the backend", "run in the tests, ggml 0.25.1"},
    {"ONNX Runtime, 1.22 or later", "platform/runtimes/onnxruntime/ort_tap.hpp",
     "an operator of its own behind each that is wanted, by the model editor of the C API",
     "inputs with constants, outputs; not in the bodies of If, Loop and Scan",
     "no: a tensor that is tapped is not fused away", "nothing: no tap in the graph",
     "the fusion that is lost", "run in the tests, ONNX Runtime 1.28.2; by hand 1.30.0"},
    {"Arm NN", "platform/runtimes/armnn/armnn_tap.hpp", "debug layers, and the callback that they call",
     "outputs; not of layers that the optimiser adds", "no: a fused layer is one operator",
     "nothing: no debug layer", "a copy behind each layer, asked for or not",
     "run in the tests, Arm NN 20.08; compiled for 21.05 and later"},
    {"OpenCV DNN", "platform/runtimes/opencv_dnn/opencv_tap.hpp",
     "layers asked for, made within ones that forward to them", "inputs, outputs",
     "no: a tapped layer is not fused", "nothing: OpenCV's own layers", "the fusion that is lost",
     "run in the tests, OpenCV 4.6.0"},
    {"TensorFlow Lite Micro", "platform/runtimes/tflite_micro/tflm_tap.hpp",
     "the operator resolver, wrapped; no heap", "inputs, outputs; of subgraphs too",
     "no: an Ethos-U network is one operator", "nothing: kernels that no step captures stay as they are",
     "a call, and a second record where the kernel writes to its inputs",
     "compiled, run once by hand with micro_speech; tflite-micro 90b983c"},
};

}  // namespace

std::span<const Runtime> runtimes() {
  return kRuntimes;
}

/// One byte more than allowed at most, so that too much is seen.
Status CheckedConfig::read_standard_input() {
  std::string text;
  char block[4096];
  while (text.size() <= kMaxConfigBytes) {
    const ssize_t got = read(STDIN_FILENO, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error.fault = ConfigFault::unreadable;
      error.reason = strerror(errno);
      return Status::config_refused;
    }
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  text_.bytes.reset(new char[text.size()]);
  text_.size = text.copy(text_.bytes.get(), text.size());
  return Status::ok;
}

Status CheckedConfig::load(const std::string& file, DumpPathCheck check_path, const ConfigContext& context) {
  const Status read =
      file == "-" ? read_standard_input() : posix::read_config_file(file.c_str(), text_, error);
  if (read != Status::ok) return read;
  if (is_plan(text())) check_path = nullptr;
  return posix::load_config_text(text(), file.c_str(), memory_, *this, context, check_path);
}

Status CheckedConfig::follow_environment() {
  if (is_plan(text())) return Status::ok;
  posix::ProcessEnvironment environment(false);
  const Status status = posix::follow_environment(environment, memory_, *this);
  if (status == Status::ok) return status;
  error.fault = ConfigFault::no_memory;
  error.reason = to_string(status);
  return status;
}

bool read_personality(const std::optional<std::string>& word, ConfigContext& context) {
  constexpr std::pair<std::string_view, MindSporeMode> kModes[] = {{"o0", MindSporeMode::kernel},
                                                                   {"o1", MindSporeMode::kernel},
                                                                   {"o2", MindSporeMode::graph},
                                                                   {"cpu", MindSporeMode::cpu}};
  if (!word) return true;
  if (*word == "lite") {
    context.dialect = ConfigDialect::mindspore_lite;
    return true;
  }
  for (const auto& [name, value] : kModes) {
    if (*word != name) continue;
    context.mindspore = value;
    return true;
  }
  return false;
}

void print_refusal(const std::string& file, const ConfigError& error, std::string_view text) {
  // The error may lie in a file that `file` names.
  posix::ConfigText named;
  ConfigError unreadable;
  if (!error.file.empty())
    text = posix::read_config_file(error.file.c_str(), named, unreadable) == Status::ok ? named.view()
                                                                                        : std::string_view{};
  const std::string line = is_plan(text) ? std::string() : refused_line(text, error);
  say(to_string(error, file));
  std::fputs(line.c_str(), stderr);
}

namespace {

constexpr std::size_t kBytesPerLine = 16;

bool starts_c_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool continues_c_name(char c) {
  return starts_c_name(c) || (c >= '0' && c <= '9');
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

/// Of C23 and C++20. `name`: letters, digits and underscores.
bool is_keyword(std::string_view name) {
  constexpr std::string_view kKeywords =
      " _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic "
      "_Imaginary _Noreturn _Static_assert _Thread_local alignas alignof and and_eq asm auto bitand "
      "bitor bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield "
      "compl concept const const_cast consteval constexpr constinit continue decltype default delete "
      "do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
      "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
      "public register reinterpret_cast requires restrict return short signed sizeof static "
      "static_assert static_cast struct switch template this thread_local throw true try typedef "
      "typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while "
      "xor xor_eq ";
  return kKeywords.find(" " + std::string(name) + " ") != kKeywords.npos;
}

}  // namespace

bool is_c_name(std::string_view name) {
  return !name.empty() && starts_c_name(name.front()) &&
         std::all_of(name.begin(), name.end(), continues_c_name) && !is_keyword(name);
}

std::string plan_source(Bytes plan, std::string_view name, std::size_t memory_bytes) {
  const std::string macro = upper(name);
  std::string text =
      "/* Written by opdump compile: include it in one file, and give it to opdump::load_plan. */\n";
  text += "#ifndef " + macro + "_BYTES\n";
  text += "#define " + macro + "_BYTES " + std::to_string(plan.size()) + "u\n";
  text += "/* RAM that load_plan takes for the lists: so much is enough on every machine. */\n";
  text += "#define " + macro + "_MEMORY_BYTES " + std::to_string(memory_bytes) + "u\n";
  text +=
      "#ifdef __cplusplus\nalignas(8)\n#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L\n"
      "_Alignas(8)\n#endif\n";
  text += "static const unsigned char " + std::string(name) + "[" + macro + "_BYTES] = {";
  for (std::size_t i = 0; i < plan.size(); ++i) {
    text += i % kBytesPerLine == 0 ? "\n    0x" : " 0x";
    text += cards::hexadecimal(plan.subspan(i, 1)) + ',';
  }
  return text + "\n};\n#endif\n";
}

}  // namespace opdump::tool
