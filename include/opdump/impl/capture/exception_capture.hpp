#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/impl/capture/record_splitter.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// An operator that is running, as the runtime announced it.
struct RunningOp {
  const OpDesc* op = nullptr;  ///< null: none
  std::span<const TensorView> inputs{};
  std::span<const TensorView> outputs{};
  const OpMemory* memory = nullptr;  ///< null: not known
};

/// What a recorder does with an operator that failed. `norm` captures inputs, arguments, outputs, workspaces, and as
/// text the attributes of its OpDesc; `brief` and `detail` inputs, outputs and arguments as bytes without a meaning,
/// and no name: arguments are inputs behind the others. Where records are nano ones, which have no attributes, these
/// are left out. Source: CANN's server, whose `detail` is `brief` on chips that write no core file.
template <class Memory>
class ExceptionCapture {
 public:
  ExceptionCapture(RecordSplitter<Memory>& splitter, const ModelPlan& plan, const RunningOp& failed)
      : splitter_(splitter),
        sender_(splitter.sender()),
        plan_(plan),
        failed_(failed),
        memory_(failed.memory != nullptr ? *failed.memory : OpMemory{}),
        desc_(*failed.op) {
    sender_.count_for_none();
  }

  /// Captures what the scene asks for. Memory that cannot be read is captured as zeros.
  Status take() {
    sender_.feed().zero_unreadable(true);
    const DumpTarget& target = (*sender_.context().targets)[plan_.target];
    switch (target.exception) {
      case ExceptionDump::none:
        // Source: MindSpore saves the inputs as it does those of any operator.
        note(record({.inputs = failed_.inputs}));
        break;
      case ExceptionDump::norm:
        take_norm(target.format != nullptr);
        break;
      case ExceptionDump::brief:
      case ExceptionDump::detail:
        take_brief();
        break;
    }
    sender_.feed().zero_unreadable(false);
    return status_;
  }

 private:
  static constexpr Dim kNoElement[] = {0};
  static constexpr std::uint16_t kNoTensor = PrivacyFilter<Memory>::kNoPosition;
  /// Parts of one record; an operator with more takes several.
  static constexpr std::size_t kMost = sizeof(void*) > 4 ? 64 : 16;

  void take_norm(bool has_attributes) {
    for (const TensorView& tensor : failed_.inputs) add(tensor, false, place_in(failed_.inputs, tensor));
    for (const TensorView& part : memory_.arguments) add_bytes(part, false, AddressKind::traditional);
    for (const TensorView& tensor : failed_.outputs) add(tensor, true, place_in(failed_.outputs, tensor));
    for (const TensorView& part : memory_.workspaces)
      add_bytes(part, true, has_attributes ? AddressKind::workspace : AddressKind::nano_workspace);
    for (const OpAttribute& attribute : failed_.op->attributes) {
      if (!has_attributes) break;
      if (count_ + 2 > kMost) flush();
      add_text(attribute.name, AddressKind::attribute_name);
      add_text(attribute.value, AddressKind::attribute_value);
    }
    flush();
  }

  void take_brief() {
    desc_.name = {};
    for (const TensorView& part : failed_.inputs)
      add_bytes(part, false, AddressKind::traditional, place_in(failed_.inputs, part));
    for (const TensorView& part : memory_.arguments) add_bytes(part, false, AddressKind::traditional);
    for (const TensorView& part : failed_.outputs)
      add_bytes(part, true, AddressKind::traditional, place_in(failed_.outputs, part));
    flush();
  }

  static std::uint16_t place_in(std::span<const TensorView> list, const TensorView& tensor) {
    return static_cast<std::uint16_t>(&tensor - list.data());
  }

  void add(const TensorView& part, bool is_output, std::uint16_t place = kNoTensor) {
    if (count_ == kMost) flush();
    if constexpr (!build::kLean) places_[count_] = place;
    parts_[count_++] = part;
    if (!is_output) input_count_ = count_;
  }

  void add_bytes(const TensorView& part, bool is_output, AddressKind kind, std::uint16_t place = kNoTensor) {
    if (count_ == kMost) flush();
    bytes_[count_] = part.bytes;
    add({.address = part.address, .bytes = part.bytes, .shape = {&bytes_[count_], 1}, .address_kind = kind},
        is_output, place);
  }

  /// A text that is too long for a record is cut.
  void add_text(std::string_view text, AddressKind kind) {
    text = text.substr(0, kMaxTextBytes);
    add({.address = text.size(), .shape = kNoElement, .original_name = text, .address_kind = kind}, true);
  }

  void flush() {
    const std::span<const TensorView> parts(parts_, count_);
    if (count_ != 0) note(record({parts.first(input_count_), parts.subspan(input_count_)}, places_));
    count_ = input_count_ = 0;
  }

  Status record(const CapturedTensors& tensors, const std::uint16_t* places = nullptr) {
    RecordSource source =
        sender_.describe(desc_, &plan_, plan_.target, sender_.begin_record(plan_.target), tensors);
    source.of = failed_.op;
    return splitter_.take(source, false, *failed_.op, places);
  }

  void note(Status status) {
    if (status_ == Status::ok) status_ = status;
  }

  RecordSplitter<Memory>& splitter_;
  RecordSender<Memory>& sender_;
  const ModelPlan& plan_;
  const RunningOp failed_;
  const OpMemory memory_;
  OpDesc desc_;  ///< as the record names it
  Status status_ = Status::ok;
  std::size_t count_ = 0;
  std::size_t input_count_ = 0;  ///< the first ones
  TensorView parts_[kMost];
  Dim bytes_[kMost];
  std::uint16_t places_[kMost];  ///< of each part among the operator's inputs or outputs
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
