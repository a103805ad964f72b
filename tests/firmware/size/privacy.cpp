// What rules of a privacy take in a recorder: which of them names a tensor, and what it leaves of it. The table that
// tells the rest is the session's part.

#include "opdump/impl/capture/private_tensors.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;

/// In the place of the table.
struct Rows {
  virtual Status reduce(const DumpTarget& target, const TensorView& tensor, KeptAs kept, std::uint16_t rule,
                        std::byte* to) = 0;
};

extern "C" {
bool size_take_kept(HostMemory& memory, const RecordSource& source, Rows& table, std::byte* to,
                    CapturedTensors* kept, CapturedTensors* told) {
  PrivateTensors<HostMemory> tensors(source, *source.op, nullptr);
  if (!tensors.any() || !tensors.fits()) return false;
  *kept = tensors.take_kept(memory, true);
  *told = tensors.take_told();
  Status status = tensors.reduce(table, memory, 0, to);
  if (status == Status::ok) status = copy_elements(memory, kept->outputs[0], 0, {to, 16});
  return status == Status::ok;
}
}
