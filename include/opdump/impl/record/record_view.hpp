#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/impl/record/ring_record.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

class ReadyName;

/// An encoded record's head, read in place. The bytes are checked once, by `parse`; they must stay.
class RecordView {
 public:
  /// `malformed` when the lengths inside do not fit `bytes`, which are 8-byte aligned.
  static Result<RecordView> parse(Bytes bytes) {
    RecordView view;
    if (kDoubtRings && bytes.size() < sizeof(RecordHead)) return Status::malformed;
    view.head_ = std::launder(reinterpret_cast<const RecordHead*>(bytes.data()));
    view.tensors_ = bytes.data() + sizeof(RecordHead);
    std::size_t at = sizeof(RecordHead);
    const std::size_t text_bytes =
        std::size_t{view.head_->model_name_bytes} + view.head_->type_bytes + view.head_->name_bytes;
    for (std::uint32_t i = 0; !build::kLean && i < view.tensor_count(); ++i) {
      if (kDoubtRings && bytes.size() - at < sizeof(TensorHead)) return Status::malformed;
      const TensorHead& tensor = *std::launder(reinterpret_cast<const TensorHead*>(bytes.data() + at));
      const std::size_t whole = tensor_bytes(tensor);
      if (kDoubtRings &&
          (tensor.rank > kMaxRank || tensor.original_rank > kMaxRank ||
           static_cast<int>(tensor.dtype) >= kKnownDTypes ||
           static_cast<int>(tensor.original_dtype) >= kKnownDTypes || bytes.size() - at < whole)) {
        return Status::malformed;
      }
      at += whole;
    }
    if (kDoubtRings &&
        (bytes.size() - at < text_bytes || bytes.size() - at - text_bytes < view.head_->file_bytes))
      return Status::malformed;
    view.texts_ = reinterpret_cast<const char*>(bytes.data() + at);
    return view;
  }

  /// The same view of a copy of its bytes at `bytes`.
  RecordView moved_to(const std::byte* bytes) const {
    RecordView view;
    view.head_ = std::launder(reinterpret_cast<const RecordHead*>(bytes));
    view.tensors_ = bytes + sizeof(RecordHead);
    view.texts_ =
        reinterpret_cast<const char*>(view.tensors_) + (texts_ - reinterpret_cast<const char*>(tensors_));
    return view;
  }

  /// Turns the head at `bytes`, which this is a view of, into that of the record that `again` and `addresses`
  /// describe. Returns whether an address has changed.
  bool renew(const AgainHead& again, std::byte* bytes, const std::byte* addresses) const {
    RecordHead& head = *std::launder(reinterpret_cast<RecordHead*>(bytes));
    head.unix_us = again.unix_us;
    head.step = again.step;
    head.sequence = again.sequence;
    std::byte* at = bytes + sizeof head;
    bool moved = false;
    for (std::uint32_t i = tensor_count(); i != 0; --i, addresses += sizeof(Address)) {
      TensorHead& tensor = *std::launder(reinterpret_cast<TensorHead*>(at));
      Address address;
      std::memcpy(&address, addresses, sizeof address);
      if (address != tensor.address) {
        tensor.address = address;
        moved = true;
      }
      at += tensor_bytes(tensor);
    }
    return moved;
  }

  /// Whether the tensors are at `addresses`.
  [[gnu::always_inline]] bool is_at(const std::byte* addresses) const {
    const std::byte* at = tensors_;
    for (std::uint32_t i = tensor_count(); i != 0; --i, addresses += sizeof(Address)) {
      const TensorHead& tensor = *std::launder(reinterpret_cast<const TensorHead*>(at));
      if (std::memcmp(addresses, &tensor.address, sizeof(Address)) != 0) return false;
      at += tensor_bytes(tensor);
    }
    return true;
  }

  /// The record's name in the sink, without the time; null: not made yet.
  const ReadyName* ready_name() const { return ready_name_; }

  /// The head of the record's nano file; empty: not made yet.
  Bytes nano_head() const { return nano_head_; }

  /// Sets what the drainer has made of this head before. Both must stay as long as this view.
  void set_ready(const ReadyName& name, Bytes nano_head) {
    ready_name_ = &name;
    nano_head_ = nano_head;
  }

  const RecordHead& head() const { return *head_; }
  std::string_view model_name() const { return {texts_, head_->model_name_bytes}; }
  std::string_view type() const { return {end_of(model_name()), head_->type_bytes}; }
  std::string_view name() const { return {end_of(type()), head_->name_bytes}; }
  std::uint32_t tensor_count() const { return std::uint32_t{head_->input_count} + head_->output_count; }

  /// Calls `use(tensor, is_output, index)` for the inputs in order, then the outputs, originals filled in.
  template <class Use>
  void for_each_tensor(Use use) const {
    const std::byte* at = tensors_;
    for (std::uint32_t i = 0; i < tensor_count(); ++i) {
      std::uint32_t index = 0;
      const TensorView tensor = next_tensor(at, index);
      use(tensor, i >= head_->input_count, index);
    }
  }

 private:
  TensorView next_tensor(const std::byte*& at, std::uint32_t& index) const {
    const TensorHead& head = *std::launder(reinterpret_cast<const TensorHead*>(at));
    const Dim* dims = reinterpret_cast<const Dim*>(at + sizeof head);
    // Every field once: clearing the whole first would cost as much.
    TensorView tensor = {
        .address = head.address,
        .bytes = head.bytes,
        .dtype = head.dtype,
        .format = static_cast<Format>(head.format),
        .shape = {dims, head.rank},
        .original_shape = {dims + head.rank, head.original_rank},
        .original_name = {reinterpret_cast<const char*>(dims + head.rank + head.original_rank),
                          head.original_name_bytes},
        .original_index = head.original_index,
        .original_dtype = head.original_dtype,
        .original_format = static_cast<Format>(head.original_format),
        .address_kind = static_cast<AddressKind>(head.address_kind),
    };
    fill_in_originals(tensor, name(), head.index);
    at += tensor_bytes(head);
    index = head.index;
    return tensor;
  }

  static const char* end_of(std::string_view text) { return text.data() + text.size(); }

  static std::size_t tensor_bytes(const TensorHead& tensor) {
    return sizeof(TensorHead) + sizeof(Dim) * (std::size_t{tensor.rank} + tensor.original_rank) +
           padded_bytes(tensor.original_name_bytes);
  }

  const RecordHead* head_ = nullptr;
  const std::byte* tensors_ = nullptr;
  const char* texts_ = nullptr;
  [[no_unique_address]] Maybe<!build::kLean, const ReadyName*> ready_name_{};
  [[no_unique_address]] Maybe<!build::kLean, Bytes> nano_head_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
