#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "opdump/base/build.hpp"
#include "opdump/base/status.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/record/record_view.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/overflow.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

struct DumpConfig;
struct ModelPlan;
struct NeverCaptured;
struct RecordSource;

template <class Memory>
class RecordSender;

/// Calls something of which the caller only knows how it is called. Refers to it.
template <class Signature>
class Callback;

template <class Result, class... Values>
class Callback<Result(Values...)> {
 public:
  template <class Use>
  Callback(const Use& use)
      : use_(&use), call_([](const void* at, Values... values) -> Result {
          return (*static_cast<const Use*>(at))(static_cast<Values>(values)...);
        }) {}

  Result operator()(Values... values) const { return call_(use_, static_cast<Values>(values)...); }

 private:
  const void* use_;
  Result (*call_)(const void*, Values...);
};

/// What a RecordFormat remembers of an object while it writes it.
struct FormatState {
  std::uint64_t left = 0;  ///< elements or bytes still to be written
  DType dtype = DType::undefined;
};

/// Bytes of memory that `RecordFormat::suffix` needs.
inline constexpr std::size_t kMaxSuffixBytes = build::kLean ? 64 : 128;

/// A file format other than nano records. A session is given pointers to the formats that its configs may ask
/// for, so that firmware which writes only nano records carries no code for others. All calls come from the
/// drainer, one at a time.
class RecordFormat {
 public:
  static constexpr std::string_view kReportSuffix = ".output.0.json";

  /// Whether an object holds one tensor; then each tensor is a record of its own.
  virtual bool one_tensor() const = 0;

  /// The text that follows the record's name in the sink. It may lie in `memory`, which has kMaxSuffixBytes.
  virtual std::string_view suffix(const RecordView& record, const DumpTarget& target,
                                  std::span<char> memory) const = 0;

  /// Writes to `object`, which has just been opened, the head of `record` and `data`, the first of its
  /// tensors' bytes. `scratch` (not empty) is used during the call only. After any error `object` is aborted.
  [[nodiscard]] virtual Status begin(OpenObject& object, FormatState& state, const RecordView& record,
                                     Bytes data, MutableBytes scratch) = 0;

  /// Writes more of the tensors' bytes, whole elements. Errors as `begin`.
  [[nodiscard]] virtual Status append(OpenObject& object, FormatState& state, Bytes data) = 0;

  /// Writes `report`. Called only if an object holds one tensor; else a report is a tensor among others.
  /// Errors as `begin`.
  [[nodiscard]] virtual Status put_report(OpenObject& object, const OverflowReport& report) = 0;

 protected:
  ~RecordFormat() = default;
};

/// The formats that a session can write besides nano records; null: it cannot write that one.
struct RecordFormats {
  RecordFormat* protobuf = nullptr;
  RecordFormat* npy = nullptr;
  RecordFormat* bin = nullptr;
};

/// Reduces records: where the config wants no tensors, and under WhenFull::degrade where there is no room for
/// them. A session is given a pointer to one, so that firmware which needs none carries no code for it. The
/// recorder reduces each tensor, and the drainer makes the file of the results.
class TensorReduction {
 public:
  /// Bytes that `reduce` makes of one tensor for a target of that form, which it `makes`.
  virtual std::uint32_t bytes_per_tensor(const TargetForm& form) const = 0;

  /// Whether it makes what `target` asks for.
  virtual bool makes(const DumpTarget& target) const = 0;

  /// Reduces `tensor` to `bytes_per_tensor` bytes at `to`. Takes time proportional to the tensor, and none of
  /// the ring's room. Called on the recorder's thread; several recorders may call at once.
  [[nodiscard]] virtual Status reduce(const DumpTarget& target, const TensorView& tensor, std::byte* to) = 0;

  /// What follows the record's name in the sink, unless the record becomes rows of a table.
  virtual std::string_view suffix() const = 0;

  /// Writes and commits the object `name` from what `reduce` made of each of the record's tensors in order,
  /// and returns its size. Called by the drainer.
  virtual Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                      const RecordView& record, Bytes reduced) = 0;

  /// The same, as rows of the table in `name`'s directory, with `unix_us` as the record's time. `name.file`
  /// begins with `{type}.{name}.`, in every layout.
  virtual Result<std::uint64_t> write_rows(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                           std::uint64_t unix_us, const RecordView& record,
                                           Bytes reduced) = 0;

  /// For a target that asks for digests, instead of the two above: keeps the record, which comes right behind
  /// those that are kept. `too_large` when there is no room for it: `flush`, then try again.
  [[nodiscard]] virtual Status keep(const DumpTarget&, const RecordView&, Bytes) {
    return Status::not_supported;
  }

  /// Whether records are kept until there is no room for more, or someone waits for them: not only until a
  /// ring is empty. The same from `init` to `finalize`.
  virtual bool holds() const { return false; }

  /// Writes what is kept, all of `target`, and returns its size. After an error it is gone.
  virtual Result<std::uint64_t> flush(Sink&, const DumpTarget&) { return Status::not_supported; }

 protected:
  ~TensorReduction() = default;
};

/// The reduction of a lean build, where the recorder makes the file.
class FileReduction {
 public:
  /// What follows the record's name in the sink.
  static constexpr std::string_view kSuffix = ".csv";
  /// Bytes that a file usually takes, and that each tensor in it adds.
  static constexpr std::uint32_t kUsualBytes = 136;
  static constexpr std::uint32_t kUsualTensorBytes = 104;

  /// Whether it makes what `target` asks for.
  virtual bool makes(const DumpTarget& target) const = 0;

  /// Adds the whole content of the record's file to `to`. Takes time proportional to the tensors. Called on
  /// the recorder's thread; several recorders may call at once.
  [[nodiscard]] virtual Status write(const DumpTarget& target, const CapturedTensors& tensors,
                                     TextWriter& to) = 0;

 protected:
  ~FileReduction() = default;
};

/// Which rules of a config's privacy have held for a model so far; of those behind the `kMost`-th it knows nothing.
struct HeldRules {
  static constexpr std::size_t kMost = 64;

  std::uint32_t bits[kMost / 32] = {};
};

/// Writes, where the privacy of a config leaves out something of an operator's tensors, a table of what it
/// keeps of them, and says what the rules are for. A session is given a PrivacyFilter, so that firmware
/// without such configs carries no code for it. Without one a session refuses them.
class KeptTable {
 public:
  /// Bytes of one tensor in a `kept` chunk.
  virtual std::uint32_t bytes_per_tensor() const = 0;

  /// Whether there is a place for all that the privacy of `config` keeps.
  virtual bool can_tell(const DumpConfig& config) const = 0;

  /// Adds to `held` the rules of `config` that hold for `model`.
  virtual void hold(const DumpConfig& config, const ModelDesc& model, HeldRules& held) const = 0;

  /// Calls `use` for each rule of `config` that holds for `model`, in `directory`, and names none of its
  /// tensors; and once if every rule is for other models.
  virtual void for_each_unmet(const DumpConfig& config, const ModelDesc& model, std::string_view directory,
                              Callback<void(const NeverCaptured&)> use) const = 0;

  /// Calls `use` for each rule of `config` for models of which none was loaded.
  virtual void for_each_unheld(const DumpConfig& config, const HeldRules& held,
                               Callback<void(const NeverCaptured&)> use) const = 0;

  /// What follows the record's name in the sink.
  virtual std::string_view suffix() const = 0;

  /// As `TensorReduction::write`. `record` describes the tensors as they are in the device.
  virtual Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const DumpTarget& target,
                                      const RecordView& record, Bytes reduced) = 0;

 protected:
  ~KeptTable() = default;
};

/// What is still to be done to what a config's privacy keeps of a record.
struct KeptRules {
  /// Makes of a tensor, the `i`-th of the record, what its rule leaves of it, which is good until the next
  /// call. False: it cannot be cut, and nothing of it may be in the dump. Null: all are cut.
  const Callback<bool(std::size_t i, TensorView& tensor)>* cut = nullptr;
  bool only_tensors = false;  ///< the config's statistics are told elsewhere
};

/// Takes a record that may be in the dump; the second value says whether its head may come again.
using TakeKept = Callback<Status(RecordSource&, bool, const KeptRules&)>;

/// A KeptTable that also takes out of records what the privacy of a config leaves out, before the ring.
template <class Memory>
class PrivacyFilter : public KeptTable {
 public:
  /// Calls `take_kept` for what the rules of the target's privacy keep of `source`, which has all tensors of
  /// its record, unless that is nothing and not `always` wanted; and records what may be known of the rest.
  /// The tensors are of operator `owner`. `positions`: of each among its inputs or outputs, or `kNoPosition`;
  /// null: as in the record. `in_plan`: the head of `source` may come again.
  virtual Status take(RecordSender<Memory>& sender, RecordSource& source, bool in_plan, const OpDesc& owner,
                      const std::uint16_t* positions, bool always, const TakeKept& take_kept) = 0;

  /// Of what is no tensor, such as a workspace.
  static constexpr std::uint16_t kNoPosition = 0xffff;

 protected:
  ~PrivacyFilter() = default;
};

/// Looks, for the triggers of a config, at what operators make. A session is given one, so that firmware
/// without such configs carries no code for it. Without one a session refuses them.
template <class Memory>
class TriggerWatch {
 public:
  /// Whether the triggers of `config`, if it has any, are those that are followed.
  virtual bool follows(const DumpConfig& config) const = 0;

  /// Finds the operators of `model` that triggers look at, and adds `kLeaveOut` to their bits: as `plan` is
  /// loaded, with `bits` a byte per operator. `no_memory`: there are more than there is room for.
  [[nodiscard]] virtual Status load(const DumpConfig& config, ModelPlan& plan, const ModelDesc& model,
                                    std::span<std::uint8_t> bits) = 0;

  /// The same for operators from `from` on that the model of a loaded plan has got since.
  [[nodiscard]] virtual Status grow(const DumpConfig& config, ModelPlan& plan, std::span<std::uint8_t> bits,
                                    std::size_t from) = 0;

  /// Before the plan's model may go.
  virtual void unload(ModelPlan& plan) = 0;

  /// Calls `use` for each trigger that is for the model of `plan` and finds nothing of it to look at.
  virtual void for_each_unmet(const ModelPlan& plan, Callback<void(const NeverCaptured&)> use) const = 0;

  /// Looks at operator `op` of a plan with triggers, which has just run. Whether the config leaves tensors of
  /// it out. On the recorder's thread, as the next three.
  virtual bool look(RecordSender<Memory>& sender, const ModelPlan& plan, std::size_t op,
                    const CapturedTensors& tensors) = 0;

  /// A wanted step of a plan with triggers begins on this recorder, or is left by one that has begun or joined it.
  virtual void step_begins(RecordSender<Memory>& sender, const ModelPlan& plan) = 0;
  virtual void step_ends(RecordSender<Memory>& sender, const ModelPlan& plan) = 0;

  /// One has ended, whichever recorder has begun it.
  virtual void step_finished(RecordSender<Memory>& sender, const ModelPlan& plan) = 0;

  /// `op` of such a step has failed; null: one that is not known.
  virtual void op_failed(RecordSender<Memory>& sender, const ModelPlan& plan, const OpDesc* op) = 0;

  /// On the drain context: all that was captured has been drained, and journals end.
  virtual void drained() = 0;

 protected:
  ~TriggerWatch() = default;
};

using Reduction = std::conditional_t<build::kLean, FileReduction, TensorReduction>;

/// Knows which operators overflow. A session is given a pointer to one, so that firmware which never asks
/// carries no code for it. Called on the recorder's thread; several recorders may call at once.
class OutputCheck {
 public:
  /// Whether operator `op`, which has just run, overflowed; if so, fills in what is known in `report`. An
  /// error when neither the device nor the outputs can tell.
  virtual Result<bool> overflowed(const OpDesc& op, const CapturedTensors& tensors,
                                  OverflowReport& report) = 0;

 protected:
  ~OutputCheck() = default;
};

/// An OutputCheck that also searches inputs, to find the operator that began an overflow.
class TensorCheck : public OutputCheck {
 public:
  /// Whether any of `tensors` holds an infinity or a NaN.
  virtual Result<bool> bad(std::span<const TensorView> tensors) = 0;

 protected:
  ~TensorCheck() = default;
};

using OverflowCheck = std::conditional_t<build::kLean, OutputCheck, TensorCheck>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
