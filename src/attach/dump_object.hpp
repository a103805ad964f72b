#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/attach.h"
#include "platform/posix/basic_file_dump.hpp"
#include "src/attach/card_file.hpp"
#include "src/attach/strided_source.hpp"
#include "src/attach/tensor_list.hpp"
#include "src/attach/thread_table.hpp"

/// A dump as attach.h has it. Order of locks: control, slots from the first on, model, loading, recorders.
struct opdump_attach {
 public:
  using FileDump = opdump::posix::BasicFileDump<opdump::attaching::AttachMemory>;
  using Recorder = FileDump::Recorder;

  /// What a thread captures with. Whoever has the lock may capture, and end a dump who has them all.
  struct Slot {
    std::mutex mutex;
    Recorder* recorder = nullptr;  ///< null: it has not captured yet, or captures with the first one
    std::unique_ptr<std::uint64_t[]> ring;
    std::unique_ptr<std::uint64_t[]> heads;
    opdump::attaching::TensorList tensors;
  };

  explicit opdump_attach(const opdump_attach_options& options);
  opdump_attach(const opdump_attach&) = delete;
  opdump_attach& operator=(const opdump_attach&) = delete;
  ~opdump_attach();

  opdump::Status set_provenance(const opdump_provenance* provenance);
  opdump::Status start(const char* config);
  opdump::Status stop();
  opdump::Status describe(const char* path);
  bool on() const { return on_.load(std::memory_order_acquire); }
  const char* error() const { return error_.c_str(); }
  opdump_attach_counts counts() const;
  opdump::DumpCounts records() const;

  // For its models.

  void add(opdump_attach_model& model);
  /// Ends the model's use of the dump.
  void remove(opdump_attach_model& model);

  std::mutex& control() { return control_; }

  /// Whoever loads, grows or unloads a model has it: a described one is loaded under `control`, a dynamic one as
  /// its operators run under the slot of their thread, and both change what the session knows of all.
  std::mutex& loading() { return loading_; }

  /// Between `lock_slot` and the end of the lock: the dump cannot end, and the slot is the caller's. The
  /// slot has a recorder while the dump is on.
  Slot& lock_slot(std::unique_lock<std::mutex>& lock);

  /// The session's, while the dump is on.
  FileDump& files() { return *files_; }

  /// Where the card of a model goes, while the dump is on.
  opdump::attaching::CardPlace card_place(std::uint32_t model_id) const {
    return {.config = files_->kit().config(),
            .time = files_->kit().session().dump_time(),
            .device_id = options_.device_id,
            .model_id = model_id};
  }

  /// As `opdump_attach_fire`.
  opdump::Status fire(std::string_view name);

  /// A log line; nothing while no dump has ever started.
  void say(std::string_view line) const;

  /// Counts a call that failed, and says `what()`, followed by the reason, when the reason is new.
  template <class What>
  opdump::Status fail(opdump::Status status, const What& what) {
    if (count_failure(status))
      say(std::string("refused: ").append(what()).append(": ").append(to_string(status)));
    return status;
  }

  void count_repeated(std::uint32_t names) { repeated_.fetch_add(names, std::memory_order_relaxed); }

 private:
  /// Whether the reason is new.
  bool count_failure(opdump::Status status);
  static void pass_line(void* self, std::string_view line);
  static unsigned slots_of(const opdump_attach_options& options);
  void make_files();
  Recorder* add_recorder(Slot& slot);
  std::vector<std::unique_lock<std::mutex>> lock_all();
  opdump::Status end();
  void tell_callers() const;

  const opdump_attach_options options_;
  std::mutex control_;
  std::mutex loading_;
  std::mutex recorders_;
  std::shared_ptr<opdump::attaching::ThreadTable> threads_;
  opdump::attaching::AttachMemory memory_;
  Slot slots_[opdump::attaching::ThreadTable::kMost];
  std::unique_ptr<FileDump> files_;  ///< null before the first config was named
  std::vector<opdump_attach_model*> models_;
  std::string error_;
  std::atomic<bool> on_{false};
  std::atomic<bool> one_context_{false};  ///< all threads share the first recorder
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint32_t> first_failure_{0};
  std::atomic<std::uint32_t> repeated_{0};
  std::atomic<bool> told_[256] = {};  ///< by status
  std::atomic<bool> told_shared_{false};
};
