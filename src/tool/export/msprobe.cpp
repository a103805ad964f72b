#include <string.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/cli/json.hpp"
#include "src/tool/dump/elements.hpp"
#include "src/tool/dump/npy_header.hpp"
#include "src/tool/export/export.hpp"

namespace opdump::tool {
namespace {

/// What msprobe says of a tensor. NaNs and infinities go into the numbers, as in frameworks.
class Summary {
 public:
  explicit Summary(DType dtype) : read_(element_reader(dtype)), bits_(info(dtype).bits) {}

  void add(Bytes elements, std::size_t count) {
    constexpr std::size_t kBlock = 1024;
    double numbers[kBlock];
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t now = count - done < kBlock ? count - done : kBlock;
      read_(elements.data() + done * bits_ / 8, now, numbers);
      for (std::size_t i = 0; i < now; ++i) add(numbers[i]);
    }
  }

  void write(JsonWriter& json) const {
    if (count_ == 0) return write(json, {}, {}, {}, {});
    write(json, max_, min_, sum_ / static_cast<double>(count_), std::sqrt(squares_));
  }

  using Number = std::optional<double>;
  static void write(JsonWriter& json, Number max, Number min, Number mean, Number norm) {
    const auto put = [&json](const char* name, const Number& number) {
      number ? json.key(name).real(*number) : json.key(name).json("null");
    };
    put("Max", max);
    put("Min", min);
    put("Mean", mean);
    put("Norm", norm);
  }

 private:
  void add(double number) {
    if (count_++ == 0) max_ = min_ = number;
    if (number > max_ || std::isnan(number)) max_ = number;
    if (number < min_ || std::isnan(number)) min_ = number;
    sum_ += number;
    squares_ += number * number;
  }

  ReadElements read_;
  std::size_t bits_;
  std::uint64_t count_ = 0;
  double max_ = 0, min_ = 0, sum_ = 0, squares_ = 0;
};

/// MindSpore's name, "Float32".
std::string mindspore_dtype(DType dtype) {
  if (dtype == DType::bfloat16) return "BFloat16";
  if (dtype == DType::boolean) return "Bool";
  std::string name(info(dtype).name);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  if (name.starts_with("Uint")) name[1] = 'I';
  return name;
}

/// msprobe takes no other letters in the names of files.
std::string msprobe_name(const std::string& name) {
  std::string text = name;
  for (char& c : text) {
    const unsigned char letter = static_cast<unsigned char>(c);
    if (letter >= 0x80 || (std::isalnum(letter) == 0 && c != '-')) c = '_';
  }
  return text;
}

class MsprobeStep {
 public:
  MsprobeStep(Export& out, const ExportedStep& step)
      : out_(out),
        step_(step),
        directory_(out.directory((step.boot ? "boot" + std::to_string(*step.boot) + '/' : "") + "step" +
                                 std::to_string(step.step) + "/rank" + std::to_string(step.rank))) {}

  void write() {
    const std::string data = directory_ + "/dump_tensor_data";
    const int error = make_directories(data);
    ExportFile dump, stack, construct;
    bool good = error == 0 && dump.create(directory_, "dump.json") &&
                stack.create(directory_, "stack.json") && construct.create(directory_, "construct.json");
    if (error != 0) out_.fail(data + ": " + strerror(error));
    JsonWriter json, stacks, parents;
    json.open('{').key("task").text(has_elements() ? "tensor" : "statistics").key("level").text("L1");
    json.key("framework").text("mindspore").key("dump_data_dir");
    has_elements() ? json.text(real_path(data)) : json.json("null");
    json.key("data").open('{');
    stacks.open('{');
    parents.open('{');
    Repeats repeats;
    for (const ExportedOp& op : step_.ops) {
      if (!good) break;
      const std::string short_name =
          msprobe_name(step_.several_models && !op.model.empty() ? op.model + '_' + op.name : op.name);
      const std::string name =
          "Primitive." + short_name + '.' + std::to_string(repeats.next(short_name)) + ".forward";
      write_op(json, op, name);
      stacks.line().key(name).open('[').text(origin_of(op)).close(']');
      parents.line().key(name).text("");
      good = dump.write(json.take()) && stack.write(stacks.take()) && construct.write(parents.take());
    }
    json.line().close('}').close('}');
    stacks.line().close('}');
    parents.line().close('}');
    out_.commit(stack, good && stack.write(stacks.take() + '\n'));
    out_.commit(construct, good && construct.write(parents.take() + '\n'));
    out_.commit(dump, good && dump.write(json.take() + '\n'));
  }

 private:
  bool has_elements() const {
    for (const ExportedOp& op : step_.ops) {
      for (const std::size_t index : op.tensors) {
        if (!out_.dump().tensor(index).summary) return true;
      }
    }
    return false;
  }

  std::string origin_of(const ExportedOp& op) const {
    const DumpFile file = out_.dump().side.files[op.file];
    std::string text = op.type.empty() ? "operator " + op.name : op.type + ' ' + op.name;
    if (!op.model.empty()) text += ", model " + op.model + " (" + std::to_string(op.model_id) + ')';
    if (file.task && *file.task != kNoTask) text += ", task " + std::to_string(*file.task);
    if (file.unix_us != 0) text += ", at " + std::to_string(file.unix_us) + " us";
    return text;
  }

  void write_op(JsonWriter& json, const ExportedOp& op, const std::string& name) {
    json.line().key(name).open('{');
    for (const bool is_output : {false, true}) {
      json.key(is_output ? "output" : "input_args").open('[');
      // msprobe counts tensors by their place in the list, so that missing ones need one.
      constexpr std::uint32_t kMostMissing = 1024;
      std::uint32_t place = 0;
      for (const std::size_t index : op.tensors) {
        const DumpTensor tensor = out_.dump().tensor(index);
        if (tensor.is_output != is_output) continue;
        for (; place < std::min(tensor.index, kMostMissing); ++place) json.json("null");
        write_tensor(json, op, tensor, name);
        ++place;
      }
      json.close(']');
      if (!is_output) json.key("input_kwargs").open('{').close('}');
    }
    json.close('}');
  }

  void write_tensor(JsonWriter& json, const ExportedOp& op, const DumpTensor& tensor,
                    const std::string& name) {
    if (tensor.summary) {
      write_head(json, tensor, tensor.shape);
      const TensorSummary& summary = *tensor.summary;
      Summary::write(json, summary.max, summary.min, summary.mean, summary.l2_norm);
      json.close('}');
      out_.tensor_written();
      return;
    }
    std::string file_name = name + '.' + role_of(tensor) + ".npy";
    constexpr std::size_t kLongest = 255;
    if (file_name.size() > kLongest) file_name = "long." + std::to_string(++long_names_) + ".npy";
    StoredArray stored;
    Summary summary(tensor.dtype);
    ExportFile file;
    if (!out_.plan(op, tensor, numpy_has, stored) ||
        !out_.commit(
            file, file.create(directory_ + "/dump_tensor_data", file_name) &&
                      file.write(npy_header(stored.descr(), stored.shape)) &&
                      out_.for_each(op, tensor, stored, [&](Bytes items, Bytes elements, std::size_t count) {
                        summary.add(elements, count);
                        return file.write(items);
                      }))) {
      json.json("null");
      return;
    }
    write_head(json, tensor, stored.shape);
    summary.write(json);
    json.key("data_name").text(file_name).close('}');
    out_.tensor_written();
  }

  static void write_head(JsonWriter& json, const DumpTensor& tensor, Shape shape) {
    json.line(2)
        .open('{')
        .key("type")
        .text("mindspore.Tensor")
        .key("dtype")
        .text(mindspore_dtype(tensor.dtype));
    json.key("shape").open('[');
    for (const Dim dim : shape) json.number(dim);
    json.close(']');
  }

  Export& out_;
  const ExportedStep& step_;
  const std::string directory_;
  std::uint64_t long_names_ = 0;
};

}  // namespace

void export_msprobe(Export& out) {
  for (const ExportedStep& step : out.dump().steps) MsprobeStep(out, step).write();
}

}  // namespace opdump::tool
