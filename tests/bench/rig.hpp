#pragma once
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "opdump/impl/capture/sent_heads.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/drain_thread.hpp"
#include "timing.hpp"

namespace opdump::bench {

inline void expect_ok(Status status, const char* what) {
  if (status == Status::ok) return;
  std::fprintf(stderr, "%s: %s\n", what, std::string(to_string(status)).c_str());
  std::abort();
}

/// Memory of a ring or a tensor, on its own cache lines and touched once.
class RingMemory {
 public:
  explicit RingMemory(std::size_t bytes)
      : bytes_(new (std::align_val_t(64)) std::byte[bytes]{}), count_(bytes) {}
  MutableBytes bytes() const { return {bytes_.get(), count_}; }

 private:
  struct Delete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(64)); }
  };
  std::unique_ptr<std::byte[], Delete> bytes_;
  std::size_t count_;
};

struct RigOptions {
  std::size_t ring_bytes = std::size_t{1} << 20;
  std::size_t recorders = 1;
  std::size_t ops = 16;
  std::size_t known_heads = 16;
  std::string root = "/dump";
  JournalDetail journal = JournalDetail::records;
  bool drain_thread = true;  ///< no: the recording thread drains when a ring is full
};

/// A session that captures every operator of one model, drained by a thread on processor 1 or by the
/// recording thread. Nothing is lost: recorders wait for room.
template <class Memory = HostMemory>
class Rig {
 public:
  using Session = BasicSession<Memory>;
  using Recorder = BasicRecorder<Memory>;

  explicit Rig(Sink& sink, const RigOptions& options = {})
      : root_(options.root),
        session_({.memory = memory_,
                  .sink = sink,
                  .clock = clock_,
                  .scratch = scratch_,
                  .when_full = options.drain_thread ? WhenFull::block : WhenFull::inline_drain,
                  .block_limit_ms = 60'000,
                  .journal = options.journal}),
        bits_(options.ops) {
    for (std::size_t i = 0; i < options.ops; ++i) names_.push_back("network/block/conv_" + std::to_string(i));
    for (const std::string& name : names_) ops_.push_back({.name = name, .type = "Conv2D", .task_id = 7});
    model_ = {.name = "network", .id = 1, .ops = ops_};
    config_ = {.active = true, .dump_path = root_, .models = {&rule_, 1}};
    for (std::size_t i = 0; i < options.recorders; ++i) {
      rings_.emplace_back(options.ring_bytes);
      heads_.emplace_back(head_memory_bytes(options.known_heads));
      const Result<Recorder*> recorder = session_.add_recorder(rings_.back().bytes(), heads_.back().bytes());
      expect_ok(recorder.status(), "add_recorder");
      recorders_.push_back(recorder.value());
    }
    expect_ok(session_.init(), "init");
    expect_ok(session_.set_config(config_), "set_config");
    expect_ok(session_.load_model(plan_, model_, bits_), "load_model");
    pin_to(1);
    if (options.drain_thread) expect_ok(drain_.start(session_), "drain thread");
    pin_to(0);
    for (Recorder* recorder : recorders_) expect_ok(recorder->begin_step(plan_), "begin_step");
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig() { finish(); }

  Recorder& recorder(std::size_t i = 0) { return *recorders_[i]; }
  const ModelPlan& plan() const { return plan_; }

  /// Drains all in the calling thread, which has no drain thread beside it.
  void drain() { session_.drain_some(SIZE_MAX); }

  /// Returns when all that was captured is in the sink.
  void finish() {
    if (!session_.initialised()) return;
    for (Recorder* recorder : recorders_) expect_ok(recorder->end_step(), "end_step");
    drain_.stop();
    expect_ok(session_.finalize(), "finalize");
    if (session_.counts().lost() != 0) expect_ok(session_.last_sink_failure(), "records were lost");
    if (session_.counts().lost() != 0) std::abort();
  }

 private:
  Memory memory_;
  posix::CounterClock clock_;
  std::byte scratch_[4096];
  std::string root_;
  std::vector<RingMemory> rings_;
  std::vector<RingMemory> heads_;
  Session session_;
  std::vector<Recorder*> recorders_;
  std::vector<std::string> names_;
  std::vector<OpDesc> ops_;
  std::vector<std::uint8_t> bits_;
  ModelRule rule_ = {.any_model = true};
  ModelDesc model_;
  DumpConfig config_;
  ModelPlan plan_;
  posix::DrainThread<Session> drain_;
};

/// The description of a tensor of `bytes` bytes, as an operator hands it over.
struct ByteTensor {
  explicit ByteTensor(Address address, std::uint64_t bytes) : dims{1, 1, bytes, 1} {
    view = {.address = address, .bytes = bytes, .dtype = DType::uint8, .shape = dims};
  }
  ByteTensor(const ByteTensor&) = delete;
  ByteTensor& operator=(const ByteTensor&) = delete;

  Dim dims[4];
  TensorView view;
};

}  // namespace opdump::bench
