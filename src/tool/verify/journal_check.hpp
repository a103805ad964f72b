#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/read/dump/clock_steps.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

/// What a journal was found to tell, line by line.
class JournalListener {
 public:
  /// The record at `path` of `bytes` bytes was written.
  virtual void on_written(std::uint32_t recorder, std::uint32_t sequence, const JournalPath& path,
                          std::string_view path_text, std::uint64_t bytes) = 0;

  /// The record at `path`, which has no file, was written as `bytes` bytes of the table beside it.
  virtual void on_row(const JournalPath& path, std::string_view path_text, std::uint64_t bytes) = 0;

  /// As many records as `count` were written as `bytes` bytes of the journal's file of digests.
  virtual void on_digests(std::uint32_t count, std::uint64_t bytes) = 0;

  /// A record was lost; `path` is null when nothing tells which operator's. `causes` in the journal's words.
  virtual void on_lost(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                       const JournalPath* path) = 0;

  /// Of record `sequence` only a reduced form of `bytes` bytes was written, to `path`.
  virtual void on_reduced(std::uint32_t recorder, std::uint32_t sequence, std::string_view causes,
                          const JournalPath& path, std::string_view path_text, std::uint64_t bytes) = 0;

  /// Records `first` to `last` were lost, and nothing else is known of them.
  virtual void on_gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last,
                      std::string_view causes) = 0;

  /// What was counted of one operator is in `line`.
  virtual void on_op(const JournalLine& line) = 0;

  /// Something that was asked for was never captured.
  virtual void on_never(const NeverCaptured& what) = 0;

  /// What the dump comes from; each line of it.
  virtual void on_provenance(const Provenance& provenance) = 0;

  /// The records lie in a history: no line names one, and those that no trigger wanted are gone.
  virtual void on_history(std::uint32_t history_steps, std::uint32_t after_steps) = 0;

  /// A trigger has fired; or `forgotten` times, of which no more is told.
  virtual void on_fired(const ToldFiring& firing, std::uint32_t forgotten) = 0;

  /// What has become of all firings of one so far.
  virtual void on_trigger(std::uint64_t number, const ToldFiring& trigger, const FiringCounts& counts) = 0;

  /// The history has written as many records as `records`, and `lost` of what it kept were refused.
  virtual void on_wrote(std::uint32_t records, std::uint32_t lost) = 0;

  /// The clock was set, at a step that goes with those before; the first time that one is told.
  virtual void on_clock(const ClockStep& step) = 0;

  /// Something about a runtime's chunks is in `line`.
  virtual void on_chunk(const JournalLine& line) = 0;
  /// The latest call of the device's driver that failed, and what it returned.
  virtual void on_driver(std::string_view call, std::int32_t code) = 0;

  /// Besides, as many were lost as `untold`, and no line tells of them.
  virtual void on_untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts) = 0;

  /// Besides, of as many as `untold` at least only a reduced form was written, and no line tells of them.
  virtual void on_untold_reduced(std::uint64_t number, std::uint32_t untold) = 0;

  /// Of records `first` to `last` a shortened journal tells no more than `what`; it `names_files` or not.
  virtual void on_forgotten(const JournalLine& what, bool names_files) = 0;

  /// As many files as `count`, whose names a shortened journal has forgotten, were removed to make room.
  virtual void on_files_removed(std::uint64_t count, bool names_files) = 0;

  /// As many dumps as `count`, from that of `first` to that of `last`, were removed to make room.
  virtual void on_dumps_removed(std::uint64_t count, std::uint64_t first, std::uint64_t last) = 0;

  /// Newer records have overwritten the lines of `recorder` before those of `next`.
  virtual void on_cut(std::uint32_t recorder, std::uint32_t next) = 0;

  /// Such lines told of as many records as `written`, and of as many lost ones as `lost` at most.
  virtual void on_cut_counts(std::uint32_t written, std::uint32_t lost) = 0;

  /// Frames `first` to `last` of the wire over which the dump came never arrived.
  virtual void on_unreceived(std::uint64_t first, std::uint64_t last) = 0;

  /// What was written by then could not be made durable, as errno `code` says.
  virtual void on_unsynced(std::int32_t code) = 0;

  /// Something that no writer writes stands in line `number`.
  virtual void on_problem(std::uint64_t number, const std::string& what) = 0;

 protected:
  ~JournalListener() = default;
};

/// Follows the lines of one journal and checks that they leave nothing out: the sequence numbers of each
/// recorder go on without a hole, what was begun ends, and the counts are those of the lines. Needs the same
/// memory whatever the journal's length.
///
/// The beginning of a journal may be gone, where a log has overwritten its oldest blocks. Then what was
/// written and lost is as the counts of `closed` say.
class JournalCheck {
 public:
  static constexpr std::size_t kMostRecorders = 255;

  JournalCheck(std::uint64_t device, JournalListener& listener) : device_(device), listener_(listener) {}

  /// Before the first line: the beginning may be overwritten, of a journal of such detail.
  void expect_cut(bool records) {
    may_be_cut_ = true;
    records_ = records;
  }

  void take(const JournalLine& line, std::uint64_t number);

  /// Line `number` cannot be read; it may have been any.
  void take_damaged(std::uint64_t number, const std::string& reason);

  bool has_lines() const { return number_ != 0; }
  bool closed() const { return closed_; }
  bool records() const { return records_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t reduced() const { return reduced_; }  ///< of `written`
  std::uint64_t lost() const { return lost_; }        ///< also those that no line tells of

  /// What is known of recorder `recorder`: false when it is in no line, else its records up to before `next`.
  bool reached(std::uint32_t recorder, std::uint32_t& next) const;

 private:
  struct Stream {
    bool known = false;
    bool open = false;
    bool has_begun = false;
    std::uint32_t next = 0;
    std::string begun;
  };

  void problem(const std::string& what);
  void take_header(const JournalLine& line);
  void take_from(const JournalLine& line);
  void take_record(const JournalLine& line);
  void take_to(const JournalLine& line);
  void take_op(const JournalLine& line);
  void take_closed(const JournalLine& line);
  void take_headless(const JournalLine& line);
  void end_begun(const JournalLine& line, Stream& stream);
  bool reach(std::uint32_t recorder, Stream& stream, std::uint32_t sequence);
  void tell(const JournalLine& line, std::string_view path_text);

  void take_clock(const ClockStep& step);

  const std::uint64_t device_;
  JournalListener& listener_;
  ClockSteps clock_;
  std::array<Stream, kMostRecorders> streams_;
  std::uint64_t number_ = 0;
  bool has_header_ = false;
  bool may_be_cut_ = false;
  bool cut_ = false;  ///< and it is, before the next `closed`
  bool records_ = true;
  bool closed_ = false;
  bool sound_ = true;  ///< since the last `closed`
  std::uint64_t written_ = 0;
  std::uint64_t reduced_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t closed_written_ = 0;  ///< of `written_`, before the last `closed`
  std::uint64_t closed_lost_ = 0;
  std::uint64_t closed_reduced_ = 0;
};

}  // namespace opdump::tool
