#include "src/attach/tensor_list.hpp"

#include <utility>

#include "src/c_api/c_port.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr Address kFreeAddresses = Address{1} << 63;

bool overlap(const TensorView& one, const TensorView& other) {
  return one.address < other.address + other.bytes && other.address < one.address + one.bytes;
}

}  // namespace

TensorRefusal TensorList::take(RuntimeTensors inputs, RuntimeTensors outputs) {
  taken_.clear();
  views_.clear();
  sources_.clear();
  source_of_.clear();
  dims_.clear();
  inputs_ = inputs.count;
  std::size_t dims = 0;
  for (const bool is_output : {false, true}) {
    const RuntimeTensors& list = is_output ? outputs : inputs;
    if (list.count != 0 && list.first == nullptr) return {Status::missing_argument, is_output, 0};
    for (std::uint32_t i = 0; i < list.count; ++i) {
      opdump_attach_tensor tensor;
      Status status = list.take(i, tensor);
      if (status == Status::ok && (tensor.rank > kMaxRank || tensor.original_rank > kMaxRank))
        status = Status::too_many_dims;
      if (status == Status::ok && ((tensor.rank != 0 && tensor.dims == nullptr) ||
                                   (tensor.original_rank != 0 && tensor.original_dims == nullptr)))
        status = Status::missing_argument;
      if (status != Status::ok) return {status, is_output, i};
      dims += tensor.rank + tensor.original_rank;
      taken_.push_back(tensor);
    }
  }
  // So that no dim moves while views refer to it.
  dims_.reserve(dims);
  views_.resize(taken_.size());
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const bool is_output = i >= inputs_;
    const Status status = take(taken_[i], views_[i]);
    if (status != Status::ok)
      return {status, is_output, static_cast<std::uint32_t>(is_output ? i - inputs_ : i)};
    if (source_of_.size() != sources_.size()) source_of_.push_back(i);
  }
  place_sources();
  return {};
}

Status TensorList::take(const opdump_attach_tensor& from, TensorView& view) {
  if (from.dtype < 0 || from.dtype >= kKnownDTypes) return Status::unknown_dtype;
  view = {};
  view.address = address_of(from.data);
  view.dtype = static_cast<DType>(from.dtype);
  view.format = static_cast<Format>(from.format);
  view.shape = copy_dims(from.dims, from.rank);
  view.original_shape = copy_dims(from.original_dims, from.original_rank);
  c_api::take_text(from.name, view.original_name);
  std::uint64_t packed = 0;
  const bool countable = count_bytes(view.dtype, view.shape, packed);
  if (from.strides == nullptr) {
    // What cannot be counted is told by the recorder, in numbers.
    view.bytes = from.bytes != 0 || !countable ? from.bytes : packed;
    if (from.read == nullptr || view.bytes == 0) return Status::ok;
  } else {
    if (!countable) return Status::uncountable_shape;
    if (codes_of(view.dtype).bits % 8 != 0 || codes_of(view.dtype).bits == 0) return Status::not_supported;
    view.bytes = packed;
    if (packed == 0) return Status::ok;
  }
  StridedSource source{.bytes = view.bytes,
                       .run_bytes = view.bytes,
                       .data = static_cast<const std::byte*>(from.data),
                       .read = from.read,
                       .context = from.context};
  if (from.strides != nullptr) {
    const Status status =
        set_runs(source, codes_of(view.dtype).bits / 8, view.shape, {from.strides, from.rank}, from.bytes);
    if (status != Status::ok) return status;
    if (source.dims.empty() && from.read == nullptr) return Status::ok;
  }
  sources_.push_back(source);
  return Status::ok;
}

Shape TensorList::copy_dims(const std::int64_t* dims, std::uint32_t rank) {
  for (std::uint32_t i = 0; i < rank; ++i) dims_.push_back(static_cast<Dim>(dims[i]));
  return Shape(dims_).last(rank);
}

/// A source has its own address where no other tensor's bytes lie; else, and for none, one that nothing has.
void TensorList::place_sources() {
  Address free = kFreeAddresses;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    TensorView& view = views_[source_of_[i]];
    bool taken = view.address == 0 || view.address + view.bytes >= kFreeAddresses;
    for (const TensorView& other : views_) taken = taken || (&other != &view && overlap(view, other));
    if (taken) view.address = free;
    sources_[i].address = view.address;
    free += taken ? view.bytes : 0;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
