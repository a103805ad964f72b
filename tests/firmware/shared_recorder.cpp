// On a Cortex-M0: an interrupt and the main loop capture with one recorder, kept apart by an InterruptLock.
// Every record has to arrive whole. Exit status 0 if they do.

#include <cstdio>
#include <cstring>

#include "opdump/session.hpp"
#include "platform/baremetal/interrupt_lock.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;

namespace {

constexpr std::uint32_t kRounds = 2000;
constexpr std::size_t kWords = 16;

/// Checks that the tensor of a record, which stands at its end, holds one value throughout.
struct CheckingSink final : Sink {
  Result<ObjectId> begin(const ObjectName&) override {
    used = 0;
    return ObjectId{0};
  }
  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) {
      if (part.size() > sizeof object - used) return Status::no_space;
      if (!part.empty()) std::memcpy(object + used, part.data(), part.size());
      used += part.size();
    }
    return Status::ok;
  }
  Status commit(ObjectId, ObjectId) override {
    std::uint32_t words[kWords];
    if (used < sizeof words) return Status::malformed;
    std::memcpy(words, object + used - sizeof words, sizeof words);
    for (const std::uint32_t word : words) wrong += word != words[0] ? 1 : 0;
    ++committed;
    return Status::ok;
  }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }

  std::byte object[512];
  std::size_t used = 0;
  std::uint32_t committed = 0;
  std::uint32_t wrong = 0;
};

HostMemory memory;
CheckingSink sink;
baremetal::TickClock tick_clock(1000);
std::byte scratch[768];
alignas(8) std::byte ring[2048];
BasicSession<HostMemory> session({.memory = memory,
                                  .sink = sink,
                                  .clock = tick_clock,
                                  .scratch = scratch,
                                  .when_full = WhenFull::drop,
                                  .journal = JournalDetail::gaps});
BasicRecorder<HostMemory>* recorder = nullptr;
volatile bool capturing = false;
volatile std::uint32_t interrupts = 0;
volatile std::uint32_t intruded = 0;

void capture(const OpDesc& op, std::uint32_t value) {
  std::uint32_t words[kWords];
  for (std::uint32_t& word : words) word = value;
  static constexpr Dim kDims[] = {kWords};
  const TensorView tensor = {
      .address = address_of(words), .bytes = sizeof words, .dtype = DType::uint32, .shape = kDims};
  const baremetal::InterruptLock lock;
  capturing = true;
  static_cast<void>(recorder->capture_single_op(op, {}, {&tensor, 1}));
  capturing = false;
}

/// Asks for the interrupt, which comes at once unless it is kept out.
void request_interrupt() {
  volatile std::uint32_t& control_and_state = *reinterpret_cast<volatile std::uint32_t*>(0xe000ed04);
  control_and_state = 1u << 28;
  asm volatile("isb");
}

}  // namespace

extern "C" void PendSV_Handler();

extern "C" void PendSV_Handler() {
  if (capturing) intruded = intruded + 1;
  interrupts = interrupts + 1;
  tick_clock.tick();
  capture({.name = "interrupt", .type = "Reading"}, interrupts);
}

int main() {
  recorder = session.add_recorder(ring).value();
  if (session.init() != Status::ok ||
      session.set_config({.active = true, .dump_path = "/", .single_ops = true}) != Status::ok) {
    return 2;
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    request_interrupt();
    {
      const baremetal::InterruptLock lock;
      request_interrupt();  // stays out until all locks are gone
      capture({.name = "main", .type = "Reading"}, ~round);
    }
    while (session.drain_some(SIZE_MAX) != 0) {
    }
  }
  const DumpCounts counts = session.counts();
  std::printf("%lu records, %lu interrupts, %lu wrong words, %lu intruded, %lu lost\n",
              static_cast<unsigned long>(sink.committed), static_cast<unsigned long>(interrupts),
              static_cast<unsigned long>(sink.wrong), static_cast<unsigned long>(intruded),
              static_cast<unsigned long>(counts.lost()));
  const bool good = interrupts == 2 * kRounds && sink.committed == 3 * kRounds && sink.wrong == 0 &&
                    intruded == 0 && counts.lost() == 0;
  return good ? 0 : 1;
}
