#include "src/tool/judge/diverge/save_failing.hpp"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>

#include "src/config/text/display_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/judge/diverge/one_node_model.hpp"

namespace opdump::tool {
namespace {

/// The same text, each line with only what a terminal can show.
std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

class Folder {
 public:
  Folder(const std::string& directory, const FailingOp& failing, std::string& reason)
      : failing_(failing), op_(failing.op), path_(directory + '/' + failing.folder), reason_(reason) {}

  bool make() {
    return take_outputs() && make_model() && make_folders() && write("model.onnx", model_) &&
           write_inputs() && write_outputs() && write("README.txt", text());
  }

 private:
  bool take_outputs() {
    for (std::size_t i = 0; i < op_.wanted.size(); ++i) {
      ReplayTensor tensor = failing_.expected[i];
      const DType wanted = op_.wanted[i].second;
      if (tensor.dtype == DType::float64 && wanted != tensor.dtype &&
          !narrow_floats(failing_.expected[i], wanted, tensor)) {
        reason_ = path_ + ": output " + std::to_string(i) +
                  " is computed as float64, which is not rounded to " + std::string(info(wanted).name);
        return false;
      }
      expected_.push_back(std::move(tensor));
    }
    return true;
  }

  bool make_model() {
    if (one_node_model(op_, &expected_, model_, reason_)) return true;
    reason_ = path_ + "/model.onnx: " + reason_;
    return false;
  }

  bool make_folders() {
    const std::string parent = path_.substr(0, path_.size() - failing_.folder.size() - 1);
    if (const int error = make_directories(parent); error != 0) return fail(parent, error);
    if (::mkdir(path_.c_str(), 0700) != 0) {
      if (errno != EEXIST) return fail(path_, errno);
      reason_ = path_ + ": is there already; remove it, or name another folder";
      return false;
    }
    const std::string data = path_ + "/test_data_set_0";
    return ::mkdir(data.c_str(), 0700) == 0 || fail(data, errno);
  }

  bool write_inputs() {
    std::size_t k = 0;
    for (const std::optional<ReplayTensor>& input : op_.inputs) {
      if (!input) continue;
      const std::string number = std::to_string(k);
      if (!write_proto("input_" + number, *input, model_input_name(k)) ||
          !write_array("input_" + number, *input))
        return false;
      list("input_" + number, *input, input->name);
      ++k;
    }
    inputs_ = k;
    return true;
  }

  bool write_outputs() {
    std::size_t k = 0;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (op_.wanted[i].first.empty()) continue;
      const std::string number = std::to_string(k);
      if (!write_proto("output_" + number, expected_[i], model_output_name(k)) ||
          !write_array("expected_" + number, expected_[i]))
        return false;
      if (i >= failing_.device.size() || failing_.device[i].dtype == DType::undefined)
        lacking_ += "There is no device_" + number + ".npy: that output was not dumped.\n";
      else if (!write_array("device_" + number, failing_.device[i]))
        return false;
      list("output_" + number, expected_[i], op_.wanted[i].first);
      ++k;
    }
    return true;
  }

  bool write_proto(const std::string& file, const ReplayTensor& tensor, const std::string& name) {
    std::string bytes;
    ReplayTensor named = tensor;
    named.name = name;
    return tensor_proto(named, bytes, reason_) && write("test_data_set_0/" + file + ".pb", bytes);
  }

  bool write_array(const std::string& name, const ReplayTensor& tensor) {
    std::string bytes;
    std::string why;
    if (array_of(tensor, bytes, why)) return write(name + ".npy", bytes);
    lacking_ += "There is no " + name + ".npy: " + why + ".\n";
    return true;
  }

  bool write(const std::string& file, const std::string& bytes) {
    return write_file(path_ + '/' + file, as_bytes(bytes), reason_);
  }

  void list(const std::string& name, const ReplayTensor& tensor, const std::string& own) {
    tensors_ += "  " + name + "  " + std::string(info(tensor.dtype).name) + "  " + shape_text(tensor.dims);
    if (!own.empty()) tensors_ += "  \"" + printable(own) + "\" in the model that ran";
    tensors_ += '\n';
  }

  std::string text() const {
    std::string out = "Operator \"" + printable(op_.name) + "\": " + printable(op_.type);
    if (!op_.domain.empty()) out += " of " + printable(op_.domain);
    out += ", opset " + std::to_string(op_.opset) +
           "\n\nA device computed something else than the operator says.\n" + printable_lines(failing_.said) +
           "\n"
           "model.onnx                   this operator alone\n"
           "test_data_set_0/input_*.pb   the inputs that it had on the device, as TensorProto\n"
           "test_data_set_0/output_*.pb  what it should give";
    if (!failing_.reference.empty()) out += ", by " + printable(failing_.reference);
    out +=
        "\n"
        "input_*.npy, expected_*.npy  the same as arrays of NumPy\n"
        "device_*.npy                 what the device gave\n\n" +
        tensors_ + lacking_ +
        "\n"
        "An array of bfloat16 has its elements as float32. To run the model in Python, in this folder:\n\n"
        "  import numpy, onnxruntime\n"
        "  session = onnxruntime.InferenceSession(\"model.onnx\")\n";
    out += "  inputs = {f\"input_{k}\": numpy.load(f\"input_{k}.npy\") for k in range(" +
           std::to_string(inputs_) +
           ")}\n"
           "  for k, found in enumerate(session.run(None, inputs)):\n"
           "    for name in (\"expected\", \"device\"):\n"
           "      other = numpy.load(f\"{name}_{k}.npy\")\n"
           "      print(k, name, numpy.abs(found.astype(float) - other.astype(float)).max(initial=0))\n";
    return out;
  }

  bool fail(const std::string& path, int error) {
    reason_ = path + ": " + ::strerror(error);
    return false;
  }

  const FailingOp& failing_;
  const ReplayOp& op_;
  const std::string path_;
  std::string& reason_;
  std::string model_;
  std::vector<ReplayTensor> expected_;
  std::size_t inputs_ = 0;
  std::string tensors_;
  std::string lacking_;
};

}  // namespace

std::string failing_folder(std::size_t index, std::string_view op_name) {
  constexpr std::size_t kMostLetters = 80;
  std::string folder = "op" + std::to_string(index) + '_';
  for (const char letter : op_name.substr(0, kMostLetters)) {
    const bool is_plain = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= 'a' && letter <= 'z') || letter == '-' || letter == '.';
    folder += is_plain ? letter : '_';
  }
  return folder;
}

bool save_failing(const std::string& directory, const FailingOp& failing, std::string& reason) {
  return Folder(directory, failing, reason).make();
}

}  // namespace opdump::tool
