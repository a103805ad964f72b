#include "platform/ascend/chunk_dump.hpp"

#include <new>
#include <utility>
#include <vector>

#include "platform/posix/config_file.hpp"
#include "platform/posix/counter_clock.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/impl/loss_text.hpp"
#include "platform/posix/impl/stderr_line.hpp"
#include "platform/posix/tree_sink.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kRingBytes = std::size_t{4} * 1024 * 1024;

void say_to_stderr(void*, std::string_view line) {
  posix::write_stderr_line("opdump: ", line);
}

}  // namespace

struct ChunkDump::Body {
  /// Made anew by each `start`.
  struct Dump {
    Dump(posix::TreeSink& sink, posix::CounterClock& clock, std::size_t ring_bytes)
        : ring(new (std::nothrow) std::uint64_t[ring_bytes / 8]),
          consumer(
              {.sink = sink,
               .clock = clock,
               .ring = {reinterpret_cast<std::byte*>(ring.get()), ring == nullptr ? 0 : ring_bytes / 8 * 8},
               .journal = journal}) {}

    std::byte journal[ChunkConsumer::kJournalBytes];
    std::unique_ptr<std::uint64_t[]> ring;
    ChunkConsumer consumer;
    posix::DrainThread<ChunkConsumer> thread;
  };

  Status fail(Status status) {
    error = to_string(status);
    return status;
  }

  void say(std::string_view line) const {
    if (hook != nullptr) hook(hook_context, line);
  }

  Status begin(const DumpConfig& config) {
    if (config.options.history_steps != 0) return Status::not_supported;
    Status status = sink.follow(config.options, config.options.journal.value_or(JournalDetail::records));
    if (status != Status::ok) return status;
    dump.reset(new (std::nothrow) Dump(sink, clock, config.options.ring_bytes.value_or(kRingBytes)));
    if (dump == nullptr) return Status::no_memory;
    status = dump->consumer.start(config);
    if (status == Status::ok && dump->consumer.when_full() != WhenFull::inline_drain) {
      status = dump->thread.start(dump->consumer);
      if (status != Status::ok) static_cast<void>(dump->consumer.stop());
    }
    return status;
  }

  LogHook hook = say_to_stderr;
  void* hook_context = nullptr;
  std::string error;
  posix::ConfigMemory config_memory;
  posix::CounterClock clock;
  posix::TreeSink sink;
  std::unique_ptr<Dump> dump;  ///< null: nothing was started
};

ChunkDump::ChunkDump() : body_(new Body) {}

ChunkDump::~ChunkDump() {
  if (body_->dump != nullptr && body_->dump->consumer.active()) static_cast<void>(stop());
}

void ChunkDump::log_to(LogHook hook, void* context) {
  body_->hook = hook;
  body_->hook_context = context;
}

Status ChunkDump::start(const char* config_path) {
  Body& body = *body_;
  if (body.dump != nullptr && body.dump->consumer.active()) return body.fail(Status::already_initialised);
  ConfigOutcome outcome;
  const Status read = posix::load_config_file(config_path, body.config_memory, outcome);
  if (read != Status::ok) {
    body.error = to_string(outcome.error, config_path);
    return read;
  }
  for (const ConfigNote& note : outcome.notes) body.say(to_string(note, config_path));
  const Status status = body.begin(outcome.config);
  return status == Status::ok ? status : body.fail(status);
}

Status ChunkDump::take(const acldumpChunk& chunk, std::int32_t bytes) {
  return body_->dump == nullptr ? Status::not_initialised : body_->dump->consumer.take(chunk, bytes);
}

ChunkCounts ChunkDump::counts() const {
  return body_->dump == nullptr ? ChunkCounts{} : body_->dump->consumer.counts();
}

Status ChunkDump::stop() {
  Body& body = *body_;
  if (body.dump == nullptr) return body.fail(Status::not_initialised);
  body.dump->thread.stop();
  const Status status = body.dump->consumer.stop();
  if (status != Status::ok) return body.fail(status);
  const ChunkCounts counts = body.dump->consumer.counts();
  if (counts.whole()) {
    body.error.clear();
    return Status::ok;
  }
  if (counts.files.lost() != 0) {
    body.error = posix::loss_text(body.dump->consumer, counts.files, {});
  } else {
    body.error = "chunks came late, torn or out of order";
  }
  for (const auto& [fault, count] : {std::pair{ChunkFault::late, counts.late},
                                     {ChunkFault::torn, counts.torn},
                                     {ChunkFault::out_of_order, counts.out_of_order}}) {
    if (count != 0)
      body.error.append("; ").append(std::to_string(count)).append(" chunks ").append(kind_of(fault).text);
  }
  body.say(body.error);
  return counts.files.lost() != 0 ? posix::cause_of_loss(body.dump->consumer, counts.files)
                                  : Status::malformed;
}

const std::string& ChunkDump::error() const {
  return body_->error;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
