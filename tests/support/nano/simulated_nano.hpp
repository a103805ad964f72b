#pragma once
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "opdump/port/device_memory.hpp"
#include "platform/ascend/nano/event.hpp"
#include "platform/ascend/nano/load_message.hpp"
#include "platform/ascend/nano/mailbox.hpp"
#include "tests/support/nano/dbg_maker.hpp"
#include "tests/support/random.hpp"
#include "tests/support/waiting.hpp"

namespace opdump::tests {

/// Memory of a nano device, at addresses of 40 bits.
class NanoMemory final : public DeviceMemory {
 public:
  enum class Kind {
    device,  ///< only `copy` and `at` reach it
    shared,  ///< its addresses are the CPU's too
  };

  explicit NanoMemory(std::size_t bytes, Kind kind = Kind::device) : size_(bytes) {
    if (kind == Kind::device) {
      own_.resize(bytes);
      bytes_ = own_.data();
      return;
    }
#ifdef MAP_32BIT
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT;
#else
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    mapped_ = mmap(reinterpret_cast<void*>(std::uintptr_t{0x10000000}), bytes, PROT_READ | PROT_WRITE, kFlags,
                   -1, 0);
    base_ = address_of(mapped_);
    bytes_ = static_cast<std::byte*>(mapped_);
    if (mapped_ == MAP_FAILED || base_ >> 40 != 0) throw std::runtime_error("no memory below 2^40");
  }
  NanoMemory(const NanoMemory&) = delete;
  NanoMemory& operator=(const NanoMemory&) = delete;
  ~NanoMemory() {
    if (mapped_ != nullptr) munmap(mapped_, size_);
  }

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (from < base_ || from - base_ > size_ || bytes > size_ - (from - base_))
      return Status::device_copy_failed;
    std::memcpy(to, at(from), bytes);
    return Status::ok;
  }

  Address base() const {
    return base_;
  }
  std::byte* at(Address address) {
    return bytes_ + (address - base_);
  }

 private:
  Address base_ = 0x4000001000;
  std::size_t size_;
  std::vector<std::byte> own_;
  void* mapped_ = nullptr;
  std::byte* bytes_ = nullptr;
};

/// A model in the memory of a device, and its messages.
class NanoModel {
 public:
  static constexpr std::size_t kAreaBytes = 64 * 1024;  ///< in the memory, for one model
  static constexpr std::size_t kTensorBytes = 512;      ///< most of one tensor

  NanoModel(NanoMemory& memory, std::uint8_t id, std::string model_name, std::vector<MadeOp> made,
            std::string dump_directory)
      : id(id),
        name(std::move(model_name)),
        ops(std::move(made)),
        directory(std::move(dump_directory)),
        memory_(memory),
        area_(memory.base() + Address{id} * kAreaBytes),
        dbg_(DbgMaker::file(name, ops)) {
    for (std::uint32_t i = 0; i < kInOuts; ++i) store_little_endian(memory_.at(table() + 8 * i), in_out(i));
  }

  /// An event of that operator, as the hardware puts it.
  nano::Mailbox mailbox(const MadeOp& op) const {
    return {.task_id = static_cast<std::uint16_t>(op.task_id),
            .model_id = id,
            .io_table = table(),
            .weights = weights(),
            .workspace = workspace()};
  }

  Address address_of(const MadeTensor& tensor) const {
    if (tensor.address_kind == 3) return in_out(static_cast<std::uint32_t>(tensor.address / 8));
    return (tensor.address_kind == 4 ? weights() : workspace()) + tensor.address;
  }

  /// The bytes of a load or unload message, with more behind it that is none of it.
  std::vector<std::byte> message(bool load, std::uint32_t mode, std::uint64_t data) const {
    const nano::LoadMessage message = {.description = dbg_,
                                       .load = load,
                                       .model_id = id,
                                       .step = &step,
                                       .mode = mode,
                                       .data = data,
                                       .directory = directory};
    std::vector<std::byte> bytes(nano::load_message_bytes(message) + 16, std::byte{0xdb});
    nano::write_load_message(bytes.data(), message);
    return bytes;
  }

  /// What `rtMsgSend` is told of its length.
  std::uint32_t message_bytes() const { return static_cast<std::uint32_t>(dbg_.size()); }

  /// Fills the tensors of `op` at random.
  void run(const MadeOp& op, Random& random) {
    for_each_tensor(op, [&](const MadeTensor& tensor) {
      std::byte* const at = memory_.at(address_of(tensor));
      for (std::uint64_t i = 0; i < tensor.bytes; ++i) at[i] = static_cast<std::byte>(random.below(256));
    });
  }

  /// What the NPU may do once the event is acknowledged.
  void overwrite(const MadeOp& op) {
    for_each_tensor(op, [&](const MadeTensor& tensor) {
      std::memset(memory_.at(address_of(tensor)), 0xee, tensor.bytes);
    });
  }

  /// The file that the vendor writes of `op` now: its lists as the `.dbg` file has them, then the bytes.
  std::string file(const MadeOp& op, std::uint32_t mode) const {
    const bool inputs = mode != nano::kModeOutputs;
    const bool outputs = mode != nano::kModeInputs;
    const std::string lists = list(4, op.inputs, inputs) + list(5, op.outputs, outputs);
    std::string file = number<std::uint64_t>(8 + lists.size()) + number<std::uint32_t>(0x5a5a5a5a) +
                       number<std::uint32_t>(0) + lists;
    for (const MadeTensor& tensor : inputs ? op.inputs : std::vector<MadeTensor>()) file += content(tensor);
    for (const MadeTensor& tensor : outputs ? op.outputs : std::vector<MadeTensor>()) file += content(tensor);
    return file;
  }

  /// The path of that file, up to the time in its name.
  std::string path(const MadeOp& op) const {
    return directory + sanitised(name) + "/" + std::to_string(id) + "/" + std::to_string(step) + "/" +
           sanitised(op.type) + "." + sanitised(op.name) + "." + std::to_string(op.task_id) + "." +
           std::to_string(op.stream_id) + ".";
  }

  const std::uint8_t id;
  const std::string name;
  const std::vector<MadeOp> ops;
  const std::string directory;
  std::uint64_t step = 0;

 private:
  static constexpr std::uint32_t kInOuts = 16;

  Address table() const { return area_ + 64; }
  Address in_out(std::uint32_t i) const { return area_ + 0x1000 + i * kTensorBytes; }
  Address weights() const { return area_ + 0x4000; }
  Address workspace() const { return area_ + 0x8000; }

  template <class Use>
  static void for_each_tensor(const MadeOp& op, Use use) {
    for (const MadeTensor& tensor : op.inputs) use(tensor);
    for (const MadeTensor& tensor : op.outputs) use(tensor);
  }

  std::string content(const MadeTensor& tensor) const {
    return {reinterpret_cast<const char*>(memory_.at(address_of(tensor))), tensor.bytes};
  }

  template <class T>
  static std::string number(T value) {
    std::string text(sizeof value, '\0');
    for (std::size_t i = 0; i < sizeof value; ++i)
      text[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    return text;
  }

  static std::string tlv(std::uint32_t tag, const std::string& value) {
    return number(tag) + number(static_cast<std::uint32_t>(value.size())) + value;
  }

  static std::string dims(std::uint32_t tag, const std::vector<std::uint64_t>& list) {
    std::string value;
    for (const std::uint64_t dim : list) value += number(dim);
    return tlv(tag, value);
  }

  static std::string list(std::uint32_t tag, const std::vector<MadeTensor>& tensors, bool wanted) {
    if (!wanted) return tlv(tag, number<std::uint32_t>(0));
    std::string value = number(static_cast<std::uint32_t>(tensors.size()));
    for (const MadeTensor& tensor : tensors) {
      std::string tlvs = dims(0, tensor.dims);
      tlvs += dims(1, tensor.original_dims.empty() ? tensor.dims : tensor.original_dims);
      if (tag == 5 && !tensor.original_name.empty()) tlvs += tlv(2, tensor.original_name);
      value += number(tensor.dtype) + number(tensor.format) + number(tensor.address_kind);
      if (tag == 5) value += number<std::int32_t>(0) + number(tensor.dtype) + number(tensor.format);
      value += number(tensor.address) + number(tensor.offset) + number(tensor.bytes);
      value += number(static_cast<std::uint32_t>(tlvs.size())) + tlvs;
    }
    return tlv(tag, value);
  }

  static std::string sanitised(std::string text) {
    for (char& c : text) {
      if (c == ' ' || c == '.' || c == '/' || c == '\\') c = '_';
    }
    return text;
  }

  NanoMemory& memory_;
  const Address area_;
  const std::vector<std::byte> dbg_;
};

/// Operators of all kinds of tensors: none, empty, padded, of dtypes that nobody knows.
inline std::vector<MadeOp> random_ops(std::size_t count, Random& random) {
  std::vector<MadeOp> ops;
  std::uint32_t task = 0;
  for (std::size_t i = 0; i < count; ++i) {
    MadeOp op = {.name = "layer." + std::to_string(i) + "/op",
                 .type = i % 3 == 0 ? "Conv2D" : "Mat Mul",
                 .task_id = task += 1 + static_cast<std::uint32_t>(random.below(3)),
                 .stream_id = static_cast<std::uint32_t>(random.below(4))};
    std::uint64_t offsets[2] = {0, 0};
    std::uint64_t slot = 0;
    const auto make = [&] {
      MadeTensor tensor = {.dtype = static_cast<std::int32_t>(random.below(40)),
                           .bytes = random.below(8) == 0 ? 0 : random.below(120),
                           .format = static_cast<std::int32_t>(random.below(50)),
                           .address_kind = static_cast<std::int32_t>(3 + random.below(3)),
                           .offset = random.below(2) * 16};
      for (std::size_t rank = random.below(5); rank != 0; --rank) tensor.dims.push_back(random.below(9));
      if (random.below(2) == 0) tensor.original_dims = {random.below(9), 1};
      if (random.below(2) == 0) tensor.original_name = "fused" + std::to_string(i);
      std::uint64_t& offset = offsets[tensor.address_kind == 4 ? 0 : 1];
      tensor.address = tensor.address_kind == 3 ? 8 * slot++ : offset;
      if (tensor.address_kind != 3) offset += 128;
      return tensor;
    };
    for (std::size_t inputs = random.below(4); inputs != 0; --inputs) op.inputs.push_back(make());
    for (std::size_t outputs = random.below(4); outputs != 0; --outputs) op.outputs.push_back(make());
    ops.push_back(std::move(op));
  }
  return ops;
}

/// Operators as a model has them: each tensor has the bytes that its shape needs, or a few more.
inline std::vector<MadeOp> sound_ops(std::size_t count, Random& random) {
  constexpr std::pair<std::int32_t, std::uint64_t> kDTypes[] = {{0, 4}, {1, 2}, {2, 1},
                                                                {3, 4}, {4, 1}, {12, 1}};
  std::vector<MadeOp> ops = random_ops(count, random);
  for (MadeOp& op : ops) {
    const auto mend = [&](MadeTensor& tensor) {
      const auto [dtype, size] = kDTypes[random.below(std::size(kDTypes))];
      tensor.dtype = dtype;
      tensor.format = 2;
      tensor.dims = {1 + random.below(4), 1 + random.below(6)};
      tensor.original_dims = {};
      tensor.bytes = tensor.dims[0] * tensor.dims[1] * size + random.below(2) * 8;
    };
    for (MadeTensor& tensor : op.inputs) mend(tensor);
    for (MadeTensor& tensor : op.outputs) mend(tensor);
  }
  return ops;
}

/// The event scheduler between senders on any thread and the part of the device on its own.
class SimulatedScheduler final : public nano::EventScheduler {
 public:
  /// Sends what lies at `at` and returns true when it has been acknowledged, as a sender or the NPU does.
  bool send(std::uint32_t type, const void* at, std::uint32_t bytes) {
    std::unique_lock lock(mutex_);
    const std::uint32_t number = static_cast<std::uint32_t>(acknowledged_.size());
    acknowledged_.push_back(0);
    events_.push_back({type, number, static_cast<const std::byte*>(at), bytes});
    came_.notify_one();
    if (!done_.wait_for(lock, kWaitLimit, [&] { return acknowledged_[number] != 0; })) {
      give_up_waiting("the acknowledgement of event " + std::to_string(number),
                      std::to_string(events_.size()) + " of " + std::to_string(acknowledged_.size()) +
                          " events not taken");
    }
    return true;
  }

  bool send(const nano::Mailbox& mailbox) {
    std::byte bytes[nano::kMailboxBytes];
    nano::write_mailbox(bytes, mailbox);
    return send(1, bytes, sizeof bytes);
  }

  Status wait(nano::Event& event, std::int32_t limit_ms) override {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::milliseconds(limit_ms), [&] { return !events_.empty(); }))
      return Status::timeout;
    event = events_.front();
    events_.pop_front();
    return Status::ok;
  }

  Status acknowledge(const nano::Event& event) override {
    const std::lock_guard lock(mutex_);
    ++acknowledged_[event.control];
    done_.notify_all();
    return Status::ok;
  }

  /// How many events have been sent so far.
  std::size_t sent() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size();
  }

  /// How often each event was acknowledged, in the order in which they were sent.
  const std::vector<int>& acknowledged() const { return acknowledged_; }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::condition_variable done_;
  std::deque<nano::Event> events_;
  std::vector<int> acknowledged_;
};

}  // namespace opdump::tests
