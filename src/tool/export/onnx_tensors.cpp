#include <vector>

#include "src/attach/onnx_dtype.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/export/export.hpp"

namespace opdump::tool {
namespace {

bool onnx_has(DType dtype) {
  return onnx_of_dtype(dtype) != 0;
}

void add_varint(std::string& text, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  text += static_cast<char>(value);
}

void add_number(std::string& text, unsigned field, std::uint64_t value) {
  add_varint(text, field << 3);
  add_varint(text, value);
}

void add_head(std::string& text, unsigned field, std::uint64_t bytes) {
  constexpr unsigned kBytes = 2;
  add_varint(text, field << 3 | kBytes);
  add_varint(text, bytes);
}

/// A TensorProto up to its elements.
std::string onnx_head(const std::string& name, const StoredArray& stored) {
  constexpr unsigned kDims = 1, kDType = 2, kName = 8, kRawData = 9;
  std::string text;
  for (const Dim dim : stored.shape) add_number(text, kDims, dim);
  add_number(text, kDType, onnx_of_dtype(stored.dtype));
  add_head(text, kName, name.size());
  text += name;
  add_head(text, kRawData, stored.bytes);
  return text;
}

void write_tensor(Export& out, const ExportedStep& step, const ExportedOp& op, const DumpTensor& tensor,
                  std::uint64_t repeat) {
  constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - 1;
  StoredArray stored;
  if (!out.plan(op, tensor, onnx_has, stored)) return;
  std::string name;
  if (const CardedOps* const card = out.card_of(op); card != nullptr)
    name = framework_name(out.dump(), op, tensor, card, repeat);
  if (name.empty()) name = key_of(step, op, repeat) + '/' + role_of(tensor);
  const std::string head = onnx_head(name, stored);
  if (head.size() + stored.bytes > kMostBytes) {
    out.fail_tensor(op, tensor,
                    byte_text(stored.bytes) + " are more than a protobuf message may have, 2 GiB");
    return;
  }
  const std::string model = step.several_models && !op.model.empty() ? op.model + '.' : std::string();
  const std::string file_name = model + (op.type.empty() ? "" : op.type + '.') + op.name +
                                (repeat == 0 ? "" : ".run" + std::to_string(repeat)) + '.' + role_of(tensor) +
                                ".pb";
  ExportFile file;
  const bool good = file.create(out.directory(directory_of(out.dump(), step)), file_name) &&
                    file.write(head) &&
                    out.for_each(op, tensor, stored,
                                 [&file](Bytes items, Bytes, std::size_t) { return file.write(items); });
  if (out.commit(file, good)) out.tensor_written();
}

}  // namespace

void export_onnx_tensors(Export& out) {
  for (const ExportedStep& step : out.dump().steps) {
    Repeats repeats;
    for (const ExportedOp& op : step.ops) {
      const std::uint64_t repeat = repeats.next(key_of(step, op, 0));
      for (const std::size_t index : op.tensors)
        write_tensor(out, step, op, out.dump().tensor(index), repeat);
    }
  }
}

}  // namespace opdump::tool
