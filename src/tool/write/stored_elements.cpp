#include "src/tool/write/stored_elements.hpp"

#include <algorithm>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/read/dump/safetensors_dtype.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
constexpr std::uint32_t kMostItemBytes = 16;

RecordTensor described(const DumpTensor& tensor) {
  RecordTensor record;
  record.dtype = tensor.dtype;
  record.dtype_known = true;
  record.has_shape = true;
  record.rank = static_cast<std::uint8_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), record.dims);
  record.bytes = tensor.data_bytes;
  return record;
}

DType dtype_of_descr(std::string_view descr) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].npy_descr == descr) return static_cast<DType>(i);
  }
  return DType::undefined;
}

bool plan_order(const DumpTensor& tensor, Format format, StoredArray& stored, std::string& reason) {
  if (tensor.layout.format == format || stored.elements == 0) return true;
  if (stored.element_bits < 8) {
    reason = "elements smaller than a byte are not rearranged";
    return false;
  }
  const RelayoutRequest request = restoration(tensor.layout, tensor.shape, format, stored.element_bits / 8);
  Relayout& relayout = stored.relayout.emplace();
  if (relayout.plan(request) != Status::ok || relayout.source_elements() != stored.elements) {
    reason = format_text(tensor.layout.format) + " " + shape_text(tensor.shape) +
             " cannot be rearranged into " + format_text(format) + " by the original shape " +
             shape_text(tensor.layout.original_shape);
    return false;
  }
  stored.shape.assign(relayout.dims().begin(), relayout.dims().end());
  stored.elements = relayout.elements();
  return true;
}

}  // namespace

bool plan_stored(const DumpTensor& tensor, const std::optional<Format>& format, StoredArray& stored,
                 std::string& reason) {
  stored = {};
  reason = tensor.summary ? "there are statistics of it, and no elements" : tensor.problem;
  if (tensor.shape.size() > kMaxRank) reason = "it has more than " + std::to_string(kMaxRank) + " dims";
  if (!reason.empty()) return false;
  stored.shape = tensor.shape;
  stored.elements = tensor.elements;
  stored.element_bits = info(tensor.dtype).bits;
  stored.dtype = tensor.dtype;
  if (name_in_safetensors(tensor.dtype).empty()) {
    NpyArray array;
    if (!describe_array(described(tensor), false, array, reason)) return false;
    stored.dtype = dtype_of_descr(array.descr);
    stored.convert = array.convert;
    stored.item_bytes = array.item_bytes;
    if (name_in_safetensors(stored.dtype).empty()) {
      reason = "safetensors has no dtype for " + std::string(info(tensor.dtype).name);
      return false;
    }
  }
  if (format && !plan_order(tensor, *format, stored, reason)) return false;
  stored.bytes = stored.convert != nullptr ? stored.elements * stored.item_bytes
                                           : (stored.elements * stored.element_bits + 7) / 8;
  return true;
}

bool StoredElements::open(const DumpSide& side, const DumpTensor& tensor, const StoredArray& stored,
                          std::string& reason) {
  stored_ = &stored;
  source_bytes_.resize(kBlockBytes);
  if (source_.open(side, tensor, stored.relayout)) return true;
  reason = source_.error();
  return false;
}

bool StoredElements::next(std::uint64_t done, Bytes& items, std::size_t& bytes, std::size_t& count,
                          std::string& reason) {
  if (interrupted()) return false;
  // A multiple of 8, so that a block begins at a whole byte.
  const std::uint64_t most = kBlockBytes / std::max<std::uint32_t>(stored_->element_bits, 8) * 8;
  count = static_cast<std::size_t>(std::min(most, stored_->elements - done));
  bytes = (count * stored_->element_bits + 7) / 8;
  const std::byte* const read = source_.read(done * stored_->element_bits / 8, bytes, source_bytes_.data());
  if (read == nullptr) {
    reason = source_.failed() ? source_.error() : "its bytes cannot be read";
    return false;
  }
  items = {read, bytes};
  if (stored_->convert == nullptr) return true;
  items_.resize(std::max<std::size_t>(items_.size(), most * kMostItemBytes));
  stored_->convert(read, count, items_.data());
  items = Bytes(items_).first(count * stored_->item_bytes);
  return true;
}

}  // namespace opdump::tool
