#pragma once
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "opdump/parts/history_sink.hpp"
#include "opdump/port/sink.hpp"
#include "platform/posix/tree/raw_tree.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// A sink that forwards to another sink until the process crashes, and from then on makes system calls only.
/// After the crash any other thread that calls this sink is held for ever: the crashed thread has taken over
/// its work. Give this sink to a session that must survive a crash.
class CrashSink final : public Sink {
 public:
  explicit CrashSink(Sink& sink) : sink_(sink) {}

  Result<ObjectId> begin(const ObjectName& name) override { return now().begin(name); }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    return now().append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with = kNoObject) override { return now().commit(object, with); }
  void abort(ObjectId object) override { now().abort(object); }
  Status put_object(const ObjectName& name, std::span<const Bytes> parts) OPDUMP_OVERRIDE_IF_WIDE {
    return now().put_object(name, parts);
  }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    return now().append_lines(name, parts);
  }
  Status claim_journal(const ObjectName& name) override { return now().claim_journal(name); }
  Status sync() override { return now().sync(); }

  /// From the thread that crashed.
  void crash() {
    crashed_.store(thread_id(), std::memory_order_seq_cst);  // partner: `now`
  }

  /// Whether another thread is held.
  bool keeps_thread() const {
    // acquire: what that thread did comes before; partner: `now`.
    return kept_.load(std::memory_order_acquire);
  }

  /// The sink that this one forwards to before a crash.
  Sink& before_crash() { return sink_; }

  static long thread_id() { return syscall(SYS_gettid); }

 private:
  Sink& now() {
    const long crashed = crashed_.load(std::memory_order_acquire);  // partner: `crash`
    if (crashed == 0) return sink_;
    if (crashed != thread_id()) {
      kept_.store(true, std::memory_order_release);  // partner: `keeps_thread`
      for (;;) pause();
    }
    return raw_;
  }

  Sink& sink_;
  RawTree raw_;
  std::atomic<long> crashed_{0};
  std::atomic<bool> kept_{false};
};

/// When the process dies of SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT, dumps what the rings hold and, if the
/// config asks for failures, the operator that was running. Then the signal takes its course: it goes to the
/// previous handler, or ends the process. The handler allocates nothing and takes no lock. It runs on a stack
/// of its own in the thread that called `install`, and on the crashing thread's stack elsewhere. A child
/// after fork() that dies dumps nothing.
///
/// One per process and type of session. The thread that captures with `recorder` calls `install`. The session
/// was made with `sink`, and outlives this object.
template <class Session>
class CrashDump {
 public:
  using Recorder = typename Session::Recorder;

  CrashDump() = default;
  CrashDump(const CrashDump&) = delete;
  CrashDump& operator=(const CrashDump&) = delete;
  ~CrashDump() { remove(); }

  /// `history` (null: none) lies between the session and `sink`; what it keeps is written when the process
  /// dies. `already_initialised` when a CrashDump is installed already.
  [[nodiscard]] Status install(Session& session, CrashSink& sink, Recorder& recorder,
                               HistorySink* history = nullptr) {
    CrashDump* none = nullptr;
    if (!installed().compare_exchange_strong(none, this)) return Status::already_initialised;
    session_ = &session;
    sink_ = &sink;
    recorder_ = &recorder;
    history_ = history;
    process_ = getpid();
    follow_thread();
    struct sigaction action {};
    action.sa_handler = &CrashDump::handle;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &old_actions_[i]);
    return Status::ok;
  }

  /// To be called by the capturing thread, if another thread called `install`.
  void follow_thread() {
    thread_.store(CrashSink::thread_id(), std::memory_order_relaxed);
    stack_t stack{};
    stack.ss_sp = stack_;
    stack.ss_size = sizeof stack_;
    stack_t old{};
    sigaltstack(&stack, &old);
    if (old.ss_sp != stack_) old_stack_ = old;
  }

  /// Puts the previous handlers back. To be called by the capturing thread, or after that thread has ended.
  void remove() {
    CrashDump* self = this;
    if (!installed().compare_exchange_strong(self, nullptr)) return;
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_actions_[i], nullptr);
    if (thread_.load(std::memory_order_relaxed) == CrashSink::thread_id()) sigaltstack(&old_stack_, nullptr);
  }

 private:
  static constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  static constexpr std::size_t kStackBytes = 64 * 1024;

  static std::atomic<CrashDump*>& installed() {
    static std::atomic<CrashDump*> dump{nullptr};
    return dump;
  }

  static void handle(int signal) {
    if (CrashDump* const dump = installed().exchange(nullptr)) {
      for (std::size_t i = 0; i < kSignals.size(); ++i)
        sigaction(kSignals[i], &dump->old_actions_[i], nullptr);
      if (dump->process_ == getpid()) dump->save();
    }
    // The signal comes when this handler returns, and goes to the previous handler.
    raise(signal);
  }

  void save() {
    constexpr int kLooks = 500;
    constexpr timespec kPause = {0, 1'000'000};
    sink_->crash();
    session_->begin_crash();
    for (int i = 0; i < kLooks && session_->is_draining() && !sink_->keeps_thread(); ++i)
      clock_nanosleep(CLOCK_MONOTONIC, 0, &kPause, nullptr);
    const bool ours = thread_.load(std::memory_order_relaxed) == CrashSink::thread_id();
    session_->crash_flush(ours ? recorder_ : nullptr);
    if (history_ == nullptr) return;
    history_->trigger();
    static_cast<void>(history_->sync());
    if constexpr (requires { session_->crash_wrote(0u, 0u); })
      if (history_->steps() != 0) session_->crash_wrote(history_->written_records(), history_->lost());
  }

  Session* session_ = nullptr;
  CrashSink* sink_ = nullptr;
  Recorder* recorder_ = nullptr;
  HistorySink* history_ = nullptr;
  pid_t process_ = 0;
  std::atomic<long> thread_{0};
  stack_t old_stack_{};
  struct sigaction old_actions_[kSignals.size()] = {};
  alignas(16) std::byte stack_[kStackBytes];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
