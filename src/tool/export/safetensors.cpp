#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/dump/safetensors_dtype.hpp"
#include "src/tool/export/export.hpp"

namespace opdump::tool {
namespace {

struct Placed {
  const ExportedOp* op = nullptr;
  DumpTensor tensor;
  StoredArray stored;
};

bool safetensors_has(DType dtype) {
  return !name_in_safetensors(dtype).empty();
}

/// The head of the file, with what precedes and fills it up.
std::string safetensors_head(const ExportedStep& step, const std::vector<Placed>& tensors,
                             const std::string& provenance) {
  constexpr std::size_t kAlignment = 8;
  JsonWriter json;
  json.open('{').key("__metadata__").open('{').key("producer").text("opdump " OPDUMP_VERSION);
  json.key("step").text(std::to_string(step.step)).key("rank").text(std::to_string(step.rank));
  if (step.boot) json.key("boot").text(std::to_string(*step.boot));
  if (!provenance.empty()) json.key("provenance").text(provenance);
  json.close('}');
  Repeats repeats;
  std::uint64_t at = 0;
  const ExportedOp* last = nullptr;
  std::string key;
  for (const Placed& placed : tensors) {
    if (placed.op != last) key = key_of(step, *placed.op, repeats.next(key_of(step, *placed.op, 0)));
    last = placed.op;
    json.line().key(key + '/' + role_of(placed.tensor)).open('{');
    json.key("dtype").text(name_in_safetensors(placed.stored.dtype)).key("shape").open('[');
    for (const Dim dim : placed.stored.shape) json.number(dim);
    json.close(']')
        .key("data_offsets")
        .open('[')
        .number(at)
        .number(at + placed.stored.bytes)
        .close(']')
        .close('}');
    at += placed.stored.bytes;
  }
  std::string text = json.close('}').take();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string length(sizeof(std::uint64_t), '\0');
  store_little_endian(reinterpret_cast<std::byte*>(length.data()), std::uint64_t{text.size()});
  return length + text;
}

void write_step(Export& out, const ExportedStep& step) {
  constexpr std::size_t kMostHead = 100'000'000;
  std::vector<Placed> tensors;
  for (const ExportedOp& op : step.ops) {
    for (const std::size_t index : op.tensors) {
      Placed placed = {&op, out.dump().tensor(index), {}};
      if (out.plan(op, placed.tensor, safetensors_has, placed.stored)) tensors.push_back(std::move(placed));
    }
  }
  if (tensors.empty()) return;
  const std::string head = safetensors_head(step, tensors, out.provenance());
  const std::string name = directory_of(out.dump(), step) + ".safetensors";
  if (head.size() > kMostHead) {
    out.fail(out.directory(name) + ": its head would have more than 100 MB, which readers refuse");
    return;
  }
  ExportFile file;
  bool good = file.create(out.directory({}), name) && file.write(head);
  for (std::size_t i = 0; good && i < tensors.size(); ++i) {
    good = out.for_each(*tensors[i].op, tensors[i].tensor, tensors[i].stored,
                        [&file](Bytes items, Bytes, std::size_t) { return file.write(items); });
  }
  if (!out.commit(file, good)) return;
  for (std::size_t i = 0; i < tensors.size(); ++i) out.tensor_written();
}

}  // namespace

void export_safetensors(Export& out) {
  for (const ExportedStep& step : out.dump().steps) write_step(out, step);
}

}  // namespace opdump::tool
