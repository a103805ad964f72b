#include "src/tool/commands/replay/placed_run.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <algorithm>
#include <bit>

#include "opdump/base/bytes.hpp"
#include "opdump/session.hpp"
#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

/// The bits of `value` as float16, rounded to nearest, ties to even. Not for infinities and NaNs.
std::uint16_t float16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // The addition puts the last bit of a float16 subnormal at the last bit of the sum and rounds there.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000u));
  }
  const std::uint32_t rebased = magnitude - (112u << 23);
  return static_cast<std::uint16_t>(sign | ((rebased + 0x0fffu + (rebased >> 13 & 1u)) >> 13));
}

std::uint16_t bfloat16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// A number that looks random, always the same for the same two.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xd1342543de82ef95u + index * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// What a real number of a fill is: one per element, two per complex element.
double real_number(Fill fill, std::uint64_t seed, std::uint64_t index) {
  constexpr std::uint64_t kRampLength = 65536;
  if (fill == Fill::ramp) return (static_cast<double>(index % kRampLength) - 3) * 0.75;
  return static_cast<double>(mixed(seed, index) >> 11) * 0x1p-52 - 1;
}

/// A kind of number that fills are made of, and its bytes.
struct NumberUnit {
  std::uint32_t bytes;
  void (*make)(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to);
};

template <class T>
void make_integer(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to) {
  store_little_endian(to, static_cast<T>(fill == Fill::ramp ? index : mixed(seed, index)));
}

void make_bool(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to) {
  *to = static_cast<std::byte>((fill == Fill::ramp ? index : mixed(seed, index)) & 1);
}

void make_float16(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to) {
  store_little_endian(to, float16_bits(static_cast<float>(real_number(fill, seed, index))));
}

void make_bfloat16(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to) {
  store_little_endian(to, bfloat16_bits(static_cast<float>(real_number(fill, seed, index))));
}

void make_float32(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to) {
  store_little_endian(to, std::bit_cast<std::uint32_t>(static_cast<float>(real_number(fill, seed, index))));
}

void make_float64(Fill fill, std::uint64_t seed, std::uint64_t index, std::byte* to) {
  store_little_endian(to, std::bit_cast<std::uint64_t>(real_number(fill, seed, index)));
}

NumberUnit unit_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::complex32:
      return {2, make_float16};
    case DType::bfloat16:
      return {2, make_bfloat16};
    case DType::float32:
    case DType::complex64:
      return {4, make_float32};
    case DType::float64:
    case DType::complex128:
      return {8, make_float64};
    case DType::boolean:
      return {1, make_bool};
    default:
      break;
  }
  switch (info(dtype).bits) {
    case 16:
      return {2, make_integer<std::uint16_t>};
    case 32:
      return {4, make_integer<std::uint32_t>};
    case 64:
      return {8, make_integer<std::uint64_t>};
    default:
      return {1, make_integer<std::uint8_t>};
  }
}

}  // namespace

void make_fill(const RunTensor& tensor, std::uint64_t seed, std::uint64_t offset, std::byte* to,
               std::size_t bytes) {
  if (tensor.fill == Fill::zeros) {
    std::fill_n(to, bytes, std::byte{0});
    return;
  }
  const NumberUnit unit = unit_of(tensor.dtype);
  std::uint64_t index = offset / unit.bytes;
  std::size_t skipped = static_cast<std::size_t>(offset % unit.bytes);
  while (bytes != 0) {
    std::byte made[8];
    unit.make(tensor.fill, seed, index++, made);
    const std::size_t now = std::min(bytes, unit.bytes - skipped);
    std::copy_n(made + skipped, now, to);
    to += now;
    bytes -= now;
    skipped = 0;
  }
}

Address MadeMemory::place(const RunTensor& tensor) {
  const Address start = next_;
  placed_.push_back({start, &tensor});
  next_ += (tensor.bytes / kAlignment + 1) * kAlignment;
  return start;
}

Status MadeMemory::copy(std::byte* to, Address from, std::size_t bytes) {
  const Status status = make(to, from, bytes);
  for (const Patch& patch : patches_) {
    const Address first = std::max(from, patch.at);
    const Address end = std::min(from + bytes, patch.at + patch.bytes.size());
    if (first < end) std::copy_n(patch.bytes.data() + (first - patch.at), end - first, to + (first - from));
  }
  return status;
}

Status MadeMemory::make(std::byte* to, Address from, std::size_t bytes) {
  const auto behind =
      std::upper_bound(placed_.begin(), placed_.end(), from,
                       [](Address address, const Placed& placed) { return address < placed.start; });
  if (behind == placed_.begin()) return Status::device_copy_failed;
  const Placed& placed = *(behind - 1);
  const RunTensor& tensor = *placed.tensor;
  const std::uint64_t offset = from - placed.start;
  if (offset > tensor.bytes || bytes > tensor.bytes - offset) return Status::device_copy_failed;
  if (progress_ != nullptr) progress_->add(bytes);
  if (tensor.fill == Fill::none) return read_file(to, tensor, offset, bytes);
  make_fill(tensor, static_cast<std::uint64_t>(behind - placed_.begin()), offset, to, bytes);
  return Status::ok;
}

Status MadeMemory::read_file(std::byte* to, const RunTensor& tensor, std::uint64_t offset,
                             std::size_t bytes) {
  if (file_tensor_ != &tensor) {
    file_.reset(open(tensor.file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    file_tensor_ = file_ ? &tensor : nullptr;
  }
  while (bytes != 0) {
    const ssize_t got = pread(file_.get(), to, bytes, static_cast<off_t>(tensor.file_offset + offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      failure_ = tensor.file + ": " + (got == 0 ? "has become shorter" : strerror(errno));
      return Status::device_copy_failed;
    }
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return Status::ok;
}

namespace {

std::vector<OpDesc> descs_in(const std::vector<RunOp>& ops) {
  std::vector<OpDesc> descs;
  for (const RunOp& op : ops) descs.push_back(op.desc);
  return descs;
}

}  // namespace

TensorView placed_view(const RunTensor& tensor, MadeMemory& memory) {
  TensorView view = view_of(tensor);
  view.address = memory.place(tensor);
  return view;
}

PlacedOp::PlacedOp(const RunOp& op, MadeMemory& memory) {
  for (const RunTensor& tensor : op.inputs) {
    inputs.push_back(placed_view(tensor, memory));
    input_bytes += tensor.bytes;
  }
  for (const RunTensor& tensor : op.outputs) {
    outputs.push_back(placed_view(tensor, memory));
    output_bytes += tensor.bytes;
  }
}

std::vector<PlacedOp> placed(const std::vector<RunOp>& ops, MadeMemory& memory) {
  Progress progress(ops.size(), "placing operators");
  std::vector<PlacedOp> out;
  out.reserve(ops.size());
  for (const RunOp& op : ops) {
    out.emplace_back(op, memory);
    progress.add();
  }
  return out;
}

LoadedModel::LoadedModel(const RunModel& model, MadeMemory& memory)
    : run(model), descs(descs_in(model.ops)), ops(placed(model.ops, memory)), bits(model.ops.size()) {
  for (const PlacedOp& op : ops) tensors.push_back({op.inputs, op.outputs});
  desc = {model.name, model.graph_name, model.id, descs, tensors};
}

std::size_t watch_words(const RunFile& run) {
  std::size_t bytes = 8;
  for (const RunModel& model : run.models) {
    std::size_t longest = 0;
    for (const RunOp& op : model.ops) longest = std::max(longest, op.desc.name.size());
    bytes += watch_bytes(model.ops.size(), 2 * longest);
  }
  return bytes / 8;
}

std::size_t scratch_bytes(const RunFile& run, const DumpConfig& config) {
  std::size_t model_name = config.net_name.size();
  std::size_t type = 0;
  std::size_t name = 0;
  const auto look = [&](const std::vector<RunOp>& ops) {
    for (const RunOp& op : ops) {
      type = std::max(type, op.desc.type.size());
      name = std::max(name, op.desc.name.size());
    }
  };
  for (const RunModel& model : run.models) {
    model_name = std::max({model_name, model.name.size(), model.graph_name.size()});
    look(model.ops);
  }
  look(run.single_ops);
  if (config.watch) name = 2 * name + WatchState::kBetween.size();
  return drain_scratch_bytes(model_name, type, name);
}

}  // namespace opdump::tool
