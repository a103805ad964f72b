#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "opdump/boot.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/session.hpp"
#include "platform/ascend/nano/dbg_walk.hpp"
#include "platform/ascend/nano/dump_directory.hpp"
#include "platform/ascend/nano/dump_log.hpp"
#include "platform/ascend/nano/event.hpp"
#include "platform/ascend/nano/load_table.hpp"
#include "platform/ascend/nano/mailbox.hpp"
#include "platform/ascend/nano/op_memory.hpp"
#include "platform/ascend/nano/path_clock.hpp"
#include "platform/ascend/nano/verbatim_format.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// What a DataDump is made of. It refers to all of it, so all of it must outlive the DataDump.
template <class Memory>
struct DataDumpParts {
  Memory& memory;
  Sink& sink;
  Clock& clock;
  Reduction* reduction = nullptr;  ///< over `memory`; null: a model whose statistics are wanted is refused
  MutableBytes scratch;            ///< see `drain_scratch_bytes`
  MutableBytes ring;               ///< 8-byte aligned, as `BasicSession::add_recorder` says
  MutableBytes more_configs{};     ///< see `more_config_bytes`
  LoadMemory loads{};
  std::span<TensorView> tensors{};  ///< as many as an operator has inputs and outputs, and three
  std::span<Dim> dims{};            ///< of all these tensors together; for statistics only
  std::span<char> roots{};          ///< the texts of all dump paths, which are seldom more than one
  LogHook say = nullptr;            ///< hears what is refused and why
  void* context = nullptr;
};

/// Memory for a DataDump, by the largest that it meets.
template <std::size_t kModels, std::size_t kOps, std::size_t kTensors, std::size_t kRingBytes>
struct DataDumpMemory {
  LoadedModel models[kModels];
  OpDesc ops[kOps];
  OpPlace places[kOps];
  std::uint8_t bits[kOps];
  TensorView tensors[kTensors + 3];
  Dim dims[kTensors * 8];
  char roots[1024];
  std::byte scratch[4096];
  alignas(8) std::byte more_configs[more_config_bytes(kModels)];
  alignas(8) std::byte ring[kRingBytes];

  template <class Memory>
  DataDumpParts<Memory> parts(Memory& memory, Sink& sink, Clock& clock) {
    return {.memory = memory,
            .sink = sink,
            .clock = clock,
            .scratch = scratch,
            .ring = ring,
            .more_configs = more_configs,
            .loads = {.models = models, .ops = ops, .places = places, .bits = bits},
            .tensors = tensors,
            .dims = dims,
            .roots = roots};
  }
};

/// What became of the events.
struct DataDumpCounts {
  std::uint32_t loads = 0;
  std::uint32_t unloads = 0;
  std::uint32_t stray_unloads = 0;  ///< of these: no model of that id was loaded
  std::uint32_t refused = 0;        ///< messages, for a reason that the log names
  std::uint32_t mailboxes = 0;      ///< whatever became of them
  std::uint32_t captured = 0;       ///< of these: whole in the ring, or already in the sink
  std::uint32_t lost = 0;           ///< of these: wanted; the journal counts them by cause
  std::uint32_t not_loaded = 0;     ///< of these: no model of that id is loaded
  std::uint32_t no_such_task = 0;   ///< of these: the model has no operator of that task
  std::uint32_t off = 0;            ///< of these: before `start`, after `stop`, or while the session is off
  std::uint32_t unknown = 0;        ///< events that are neither message nor mailbox
};

/// The device part of the dump of CANN's nano products: takes the messages of `libge_dbg` and the events of the dump
/// mailbox, and captures each operator before its event is acknowledged. As far as is known, the files are those of
/// the vendor's `libdatadump`: directory and names as the load message says, the head as the `.dbg` file describes
/// the tensors, byte by byte, then the tensors. With `dump_data` `stats` they are its CSV files.
///
/// Refers to each load message until the unload message of that model has been taken: the sender keeps it
/// until then. All models of one DataDump are on one device, that of the first load message.
///
/// `start`, `take` and `stop` come from one context; `session().drain_some` may come from another, as
/// BasicSession says. Not with OPDUMP_SMALL_CODE. No heap, no exceptions.
template <class Memory>
class DataDump {
  static_assert(!build::kLean, "a lean build has no file formats of its own");

 public:
  using Session = BasicSession<OpMemory<Memory>>;

  explicit DataDump(const DataDumpParts<Memory>& parts)
      : memory_(parts.memory),
        clock_(parts.clock),
        log_(parts.say, parts.context),
        table_(parts.loads),
        tensors_(parts.tensors),
        dims_(parts.dims),
        roots_memory_(parts.roots),
        session_({.memory = memory_,
                  .sink = parts.sink,
                  .clock = clock_,
                  .scratch = parts.scratch,
                  .reduction = parts.reduction,
                  .formats = {.protobuf = &format_},
                  .more_configs = parts.more_configs}) {
    const Result<Recorder*> recorder = session_.add_recorder(parts.ring);
    if (recorder.ok()) recorder_ = recorder.value();
  }
  DataDump(const DataDump&) = delete;
  DataDump& operator=(const DataDump&) = delete;

  /// From now on events are captured. Of `config` only its "opdump" object counts, for the session and for
  /// `sink`, which is the session's own; what to dump is up to the load messages. `invalid_argument` for an
  /// unusable ring, `already_initialised` until `stop`; `not_supported` for a file format or layout other
  /// than CANN's nano records, for WhenFull::degrade, and when the sink cannot do what the config asks of it:
  /// then every event is still taken, and nothing captured.
  template <class To>
  [[nodiscard]] Status start(const DumpConfig& config, To& sink) {
    if (recorder_ == nullptr) return Status::invalid_argument;
    if (on_) return Status::already_initialised;
    if (const std::string_view reason = not_done(config); !reason.empty()) {
      log_.say("no dump: ", reason);
      return Status::not_supported;
    }
    options_ = config.options;
    Status status = session_.configure(options_);
    if (status == Status::ok) status = follow_options(sink, options_, session_.journal());
    if (status != Status::ok) log_.say("no dump: the \"opdump\" object: ", to_string(status));
    on_ = status == Status::ok;
    return status;
  }

  /// Does what `event` asks for, whatever it is. When this returns it may be acknowledged: all bytes of the operator
  /// are in the ring or beyond, or the record is lost and counted; of a message nothing is left to do.
  void take(const Event& event) {
    switch (kind_of(event)) {
      case EventKind::message:
        return take_message(event);
      case EventKind::mailbox:
        return take_mailbox(read_mailbox(event.at));
      case EventKind::unknown:
        break;
    }
    if (++counts_.unknown <= kMostTold)
      log_.say("an event of unknown type ", event.type, " with ", event.bytes,
               " bytes was only acknowledged");
  }

  /// Unloads all models and ends the session, as `BasicSession::finalize`; no drain thread may be attached.
  /// From now on events are taken and not captured; `start` begins again.
  [[nodiscard]] Status stop() {
    for (LoadedModel& model : table_.models()) {
      if (model.loaded) unload(model);
    }
    on_ = false;
    in_force_ = {};
    root_count_ = root_bytes_ = 0;
    return session_.initialised() ? session_.finalize() : Status::ok;
  }

  Session& session() { return session_; }
  const DataDumpCounts& counts() const { return counts_; }

 private:
  using Recorder = typename Session::Recorder;

  static constexpr std::size_t kMaxRoots = 8;
  static constexpr std::uint32_t kMostTold = 16;  ///< lines of the log about one kind of event

  /// What a session's config was made of; other messages with the same need no other config.
  struct InForce {
    DumpDirectory directory{};
    std::uint32_t mode = UINT32_MAX;
    std::uint64_t data = 0;
  };

  static std::string_view not_done(const DumpConfig& config) {
    if (config.form.file_format != FileFormat::nano) return "opdump.file_format: only \"nano\" is there";
    if (digest_bytes(config.form) != 0)
      return "opdump.digest: the executor asks for tensors or statistics only";
    if (!seal_key(config.options).empty())
      return "opdump.seal: dumps that the executor asks for are not sealed";
    if (config.options.dump_on_crash) return "opdump.on_crash: no signal is handled here";
    if (config.form.layout != Layout::cann) return "opdump.layout: only \"cann\" is there";
    if (!privacy_rules(config).empty())
      return "opdump.privacy: the executor does not tell operators by their names";
    if (config.options.when_full == WhenFull::degrade)
      return "opdump.when_full: \"degrade\" is not there; \"dump_data\": \"stats\" has statistics";
    return {};
  }

  void take_message(const Event& event) {
    const Result<LoadMessage> read = receive_load_message(event.at, event.bytes);
    if (!read.ok()) return refuse("a message", {}, read.status());
    const LoadMessage& message = read.value();
    LoadedModel* const known = table_.find(message.model_id);
    if (!message.load) {
      ++counts_.unloads;
      if (known != nullptr) return unload(*known);
      if (++counts_.stray_unloads <= kMostTold && on_)
        log_.say("model ", message.model_id, " was not loaded, and is unloaded");
      return;
    }
    ++counts_.loads;
    if (known != nullptr) {
      log_.say("model ", Quoted{known->model.name}, " (", known->model.id, ") is loaded again");
      unload(*known);
    }
    if (on_) load(message);
  }

  void load(const LoadMessage& message) {
    const Result<LoadedModel*> added = table_.add(message);
    if (!added.ok()) return refuse("model ", message, added.status());
    LoadedModel& model = *added.value();
    Status status = apply(message);
    if (status == Status::ok) status = session_.load_model(model.plan, model.model, table_.bits(model));
    // Which of the operators have a dump flag is not said: none is missed when it never comes.
    for (std::uint8_t& bits : table_.bits(model)) bits = static_cast<std::uint8_t>(bits & ~kNotSeen);
    if (status == Status::ok) return;
    refuse("model ", message, status);
    unload(model);
  }

  void refuse(std::string_view what, const LoadMessage& message, Status status) {
    if (++counts_.refused > kMostTold) return;
    const Result<DbgWalk> walk = DbgWalk::open(message.description);
    if (walk.ok()) {
      log_.say(what, Quoted{walk.value().model()}, " (", message.model_id, ") in ", Quoted{message.directory},
               " is not dumped: ", to_string(status));
    } else {
      log_.say(what, " is not understood: ", to_string(status));
    }
  }

  void unload(LoadedModel& model) {
    if (recorder_->open_plan() == &model.plan) end_step();
    static_cast<void>(session_.unload_model(model.plan));
    table_.remove(model);
  }

  /// Makes a config count that dumps what the message says, where it says.
  Status apply(const LoadMessage& message) {
    if (message.mode > kModeAll || message.data > kDataTensors) return Status::not_supported;
    InForce wanted = {parse_directory(message.directory), message.mode, message.data};
    if (wanted.directory.time == 0)
      log_.say(Quoted{message.directory}, " does not end with time and device: both are added below it");
    if (!session_.initialised()) {
      Status status = session_.set_device(wanted.directory.device_id);
      if (status == Status::ok) status = session_.init();
      if (status != Status::ok) return status;
      device_id_ = wanted.directory.device_id;
    }
    if (wanted.directory.time == 0) wanted.directory.device_id = device_id_;
    if (wanted.directory.device_id != device_id_) return Status::wrong_device;
    if (is_same(wanted, in_force_)) return Status::ok;
    const Result<std::string_view> root = keep_root(wanted.directory.root);
    if (!root.ok()) return root.status();
    wanted.directory.root = root.value();
    end_step();
    clock_.hold(wanted.directory.time);
    const Status status = session_.set_config(config_of(wanted));
    clock_.hold(0);
    if (status == Status::ok) in_force_ = wanted;
    return status;
  }

  static bool is_same(const InForce& one, const InForce& other) {
    return one.mode == other.mode && one.data == other.data && one.directory.time == other.directory.time &&
           one.directory.root == other.directory.root;
  }

  DumpConfig config_of(const InForce& wanted) const {
    static constexpr ModelRule kEverything[] = {{.any_model = true}};
    DumpConfig config;
    config.asked = config.active = true;
    config.dump_path = wanted.directory.root;
    config.mode = static_cast<DumpMode>(wanted.mode);
    config.models = kEverything;
    config.options = options_;
    config.form.fixed_point = true;
    const bool tensors = wanted.data == kDataTensors;
    config.form.data = tensors ? DumpData::tensor : DumpData::statistics;
    // The session's only format besides its own is `format_`.
    if (tensors) config.form.file_format = FileFormat::protobuf;
    return config;
  }

  /// A copy of `root` that stays until `stop`.
  Result<std::string_view> keep_root(std::string_view root) {
    for (std::size_t i = 0; i < root_count_; ++i) {
      if (roots_[i] == root) return roots_[i];
    }
    if (root_count_ == kMaxRoots || root.size() > roots_memory_.size() - root_bytes_)
      return Status::no_memory;
    char* const to = roots_memory_.data() + root_bytes_;
    std::memcpy(to, root.data(), root.size());
    root_bytes_ += root.size();
    return roots_[root_count_++] = std::string_view(to, root.size());
  }

  void take_mailbox(const Mailbox& mailbox) {
    ++counts_.mailboxes;
    if (!on_) {
      ++counts_.off;
      return;
    }
    LoadedModel* const model = table_.find(mailbox.model_id);
    if (model == nullptr) {
      // Between an unload and the next load of a model its tasks keep their flags.
      ++counts_.not_loaded;
      return;
    }
    const std::size_t op = table_.find_op(*model, mailbox.task_id);
    if (op == LoadTable::kNoOp) {
      if (++counts_.no_such_task <= kMostTold)
        log_.say("model ", Quoted{model->model.name}, " (", model->model.id, ") has no operator of task ",
                 mailbox.task_id, ": its event was only acknowledged");
      return;
    }
    open_step(*model);
    if (!recorder_->wants(op)) {
      ++counts_.off;
      return;
    }
    const Status status = capture(*model, op, mailbox);
    if (status == Status::ok) {
      ++counts_.captured;
    } else if (++counts_.lost <= kMostTold) {
      log_.say("operator ", Quoted{model->model.ops[op].name}, " of model ", Quoted{model->model.name},
               " at step ", open_number_, " is lost: ", to_string(status));
    }
  }

  /// Makes the model's step the open one. Models may take turns.
  void open_step(LoadedModel& model) {
    const std::uint64_t step = model.step();
    if (recorder_->open_plan() == &model.plan && open_number_ == step) return;
    end_step();
    open_number_ = step;
    static_cast<void>(recorder_->begin_step(model.plan, step));
  }

  void end_step() {
    if (recorder_->open_plan() != nullptr) static_cast<void>(recorder_->end_step());
  }

  Status capture(const LoadedModel& model, std::size_t op, const Mailbox& mailbox) {
    const OpPlace& place = table_.place(model, op);
    const bool inputs = model.message.mode != kModeOutputs;
    const bool outputs = model.message.mode != kModeInputs;
    Views views{tensors_, dims_};
    Status status = Status::ok;
    if (model.message.data == kDataTensors && !add_head(place, inputs, outputs, views))
      status = Status::too_many_tensors;
    if (status == Status::ok && inputs) status = add_list(place.inputs, false, model, mailbox, views);
    const std::size_t split = inputs ? views.count : 0;
    if (status == Status::ok && outputs) status = add_list(place.outputs, true, model, mailbox, views);
    if (status != Status::ok) {
      static_cast<void>(recorder_->refuse(op, status));
      return status;
    }
    const std::span<const TensorView> all = tensors_.first(views.count);
    return recorder_->capture(op, all.first(split), all.subspan(split));
  }

  /// What an operator's capture has taken of the memory for it.
  struct Views {
    std::span<TensorView> tensors;
    std::span<Dim> dims;
    std::size_t count = 0;
    std::size_t dims_used = 0;

    bool add(const TensorView& tensor) {
      if (count == tensors.size()) return false;
      tensors[count++] = tensor;
      return true;
    }

    bool add_bytes(Address address, std::uint64_t bytes) {
      if (count == tensors.size()) return false;
      TensorView& tensor = tensors[count++];
      tensor = {.address = address, .bytes = bytes, .dtype = DType::uint8};
      tensor.shape = {&tensor.bytes, 1};
      return true;
    }
  };

  /// Adds the head of the file: its length, and the lists as the description has them. False without room.
  bool add_head(const OpPlace& place, bool inputs, bool outputs, Views& views) {
    static constexpr std::size_t kNoneBytes = kNanoListHeadBytes;
    const auto put_none = [](std::byte* to, std::uint32_t tag) {
      FieldWriter(to).add(tag).add(std::uint32_t{4}).add(std::uint32_t{0});
    };
    put_none(none_ + 0, kNanoTagInputs);
    put_none(none_ + kNoneBytes, kNanoTagOutputs);
    const bool has_inputs = inputs && !place.inputs.empty();
    const bool has_outputs = outputs && !place.outputs.empty();
    const Bytes lists[] = {has_inputs ? place.inputs : Bytes(none_, kNoneBytes),
                           has_outputs ? place.outputs : Bytes(none_ + kNoneBytes, kNoneBytes)};
    FieldWriter(start_)
        .add(std::uint64_t{8} + lists[0].size() + lists[1].size())
        .add(kNanoMagic)
        .add(kNanoVersion);
    const std::array<Bytes, OpMemory<Memory>::kHeadParts> head = {Bytes(start_), lists[0], lists[1]};
    memory_.set_head(head);
    for (std::size_t i = 0; i < head.size(); ++i) {
      if (!views.add_bytes(OpMemory<Memory>::head_address(i), head[i].size())) return false;
    }
    return true;
  }

  Status add_list(Bytes list, bool is_outputs, const LoadedModel& model, const Mailbox& mailbox,
                  Views& views) {
    TensorWalk walk(list, is_outputs);
    for (TensorDescription tensor; walk.next(tensor);) {
      const Result<Address> address =
          tensor.bytes == 0 ? Result<Address>(Address{0}) : resolve(tensor, mailbox);
      if (!address.ok()) return address.status();
      const bool room = model.message.data == kDataTensors ? views.add_bytes(address.value(), tensor.bytes)
                                                           : add_view(tensor, address.value(), views);
      if (!room) return Status::too_many_tensors;
    }
    return Status::ok;
  }

  static bool add_view(const TensorDescription& tensor, Address address, Views& views) {
    const std::size_t rank = tensor.dims.size() / sizeof(Dim);
    if (rank > views.dims.size() - views.dims_used) return false;
    Dim* const dims = views.dims.data() + views.dims_used;
    for (std::size_t i = 0; i < rank; ++i)
      dims[i] = load_little_endian<Dim>(tensor.dims.data() + i * sizeof(Dim));
    views.dims_used += rank;
    const Result<DType> dtype = dtype_from_ge_code(tensor.dtype_code);
    return views.add({.address = address,
                      .bytes = tensor.bytes,
                      .dtype = dtype.ok() ? dtype.value() : DType::undefined,
                      .format = tensor.format,
                      .shape = {dims, rank},
                      .address_kind = tensor.kind});
  }

  /// Where the tensor is. An input or output of the model lies where a table says, because that changes from
  /// one execution to the next; the kinds that a nano device does not have are as on CANN's servers.
  Result<Address> resolve(const TensorDescription& tensor, const Mailbox& mailbox) {
    const auto behind = [&tensor](Address base) {
      return base == 0 ? Result<Address>(Status::invalid_argument) : Result<Address>(base + tensor.address);
    };
    switch (tensor.kind) {
      case AddressKind::nano_io:
        return mailbox.io_table == 0 ? Result<Address>(Status::invalid_argument)
                                     : load_address(mailbox.io_table + tensor.address);
      case AddressKind::nano_weight:
        return behind(mailbox.weights);
      case AddressKind::nano_workspace:
        return behind(mailbox.workspace);
      case AddressKind::raw:
        return tensor.address;
      case AddressKind::traditional:
        return load_address(tensor.address);
      case AddressKind::no_tiling: {
        const Result<Address> first = load_address(tensor.address);
        return first.ok() ? load_address(first.value()) : first;
      }
      default:
        return Status::not_supported;
    }
  }

  /// The address at `from`; `invalid_argument` when it is null.
  Result<Address> load_address(Address from) {
    std::byte bytes[sizeof(Address)];
    if (from == 0) return Status::invalid_argument;
    if (const Status status = memory_.copy(bytes, from, sizeof bytes); status != Status::ok) return status;
    const Address address = load_little_endian<Address>(bytes);
    if (address == 0) return Status::invalid_argument;
    return address;
  }

  OpMemory<Memory> memory_;
  PathClock clock_;
  DumpLog log_;
  LoadTable table_;
  VerbatimFormat format_;
  std::span<TensorView> tensors_;
  std::span<Dim> dims_;
  std::span<char> roots_memory_;
  std::string_view roots_[kMaxRoots];
  std::size_t root_count_ = 0;
  std::size_t root_bytes_ = 0;
  std::byte start_[kNanoHeadLengthBytes + 8];
  std::byte none_[2 * kNanoListHeadBytes];
  DumpOptions options_;
  InForce in_force_;
  DataDumpCounts counts_;
  std::uint32_t device_id_ = 0;
  std::uint64_t open_number_ = 0;  ///< of the open step
  bool on_ = false;
  Recorder* recorder_ = nullptr;
  Session session_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
