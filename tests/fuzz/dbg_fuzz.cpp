// The .dbg file of a nano product's model: what is read lies in the file, and what is left without some
// tensors can be read again.
#include "platform/ascend/nano/dbg_file.hpp"
#include "record_use.hpp"

using opdump::fuzz::require;
using opdump::nano::DbgFault;
using opdump::nano::DbgFile;

namespace {

std::size_t bytes_of(const opdump::ModelDesc& model) {
  std::size_t bytes = model.name.size() + model.graph_name.size();
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    bytes += model.ops[i].name.size() + model.ops[i].type.size();
    for (const opdump::TensorView& tensor : model.tensors[i].inputs) bytes += tensor.shape.size_bytes();
    for (const opdump::TensorView& tensor : model.tensors[i].outputs) bytes += tensor.original_name.size();
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::byte* const bytes = reinterpret_cast<const std::byte*>(data);
  DbgFile file;
  std::vector<DbgFault> faults;
  const bool good = file.read({bytes, bytes + size}, faults);
  require(good || !faults.empty());
  for (const DbgFault& fault : faults) require(fault.offset <= size && !(good && fault.fatal));
  if (!good) return 0;
  require(bytes_of(file.model("net")) <= size * 2 + 3);
  DbgFile less;
  std::vector<DbgFault> faults_of_less;
  const std::vector<std::byte> left = file.without(
      [](std::size_t op, bool is_output, std::uint32_t index) { return (op + index + is_output) % 2 == 0; });
  require(left.size() <= size);
  if (!faults.empty()) return 0;
  require(less.read(left, faults_of_less) && faults_of_less.empty() &&
          less.ops().size() == file.ops().size());
  return 0;
}
