#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/read/dump/temporary_file.hpp"

namespace opdump::tool {

/// Sorts any number of texts in bounded memory: what passes `memory` bytes goes to a temporary file, as
/// sorted runs that are merged when they are read. Texts of which none is less keep the order in which they
/// were added.
class SpilledSort {
 public:
  using Less = bool (*)(std::string_view a, std::string_view b);

  static constexpr std::size_t kMemoryBytes = std::size_t{1} << 20;

  explicit SpilledSort(Less less, std::size_t memory = kMemoryBytes) : less_(less), memory_(memory) {}
  SpilledSort(const SpilledSort&) = delete;
  SpilledSort& operator=(const SpilledSort&) = delete;

  /// False, with `error()`, when the temporary file does not take more. A text is shorter than 2^31 bytes.
  bool add(std::string_view text);

  /// To be called once after all `add`, before any Reader. False as for `add`.
  bool finish();

  std::uint64_t size() const { return size_; }

  /// What is wrong with the temporary file, also once a Reader has ended early for it; else empty.
  const std::string& error() const { return file_.error(); }

  /// Gives the texts in their order. Refers to the sort, which several of them may read.
  class Reader {
   public:
    explicit Reader(const SpilledSort& sort);

    /// False after the last one, and when the temporary file cannot be read, with the sort's `error()`.
    /// `text` stays until the next call.
    bool next(std::string_view& text);

   private:
    /// The texts of one run, from a window into the temporary file.
    struct Run {
      std::uint64_t at = 0;  ///< in the file, behind the window
      std::uint64_t end = 0;
      std::string window{};
      std::size_t used = 0;  ///< of the window
      std::string_view text{};
    };

    bool fill(Run& run, std::size_t bytes);
    bool advance(Run& run);
    bool comes_later(std::size_t a, std::size_t b) const;
    void sink_first();

    const SpilledSort& sort_;
    std::vector<Run> runs_;
    std::vector<std::size_t> heap_;  ///< runs with texts left, the one whose text is next in front
    std::size_t next_ = 0;           ///< of the texts in memory, where there are no runs
    bool started_ = false;
    bool failed_ = false;
  };

 private:
  struct Place {
    std::uint32_t at;
    std::uint32_t bytes;
  };
  struct Range {
    std::uint64_t first;
    std::uint64_t end;
  };

  static constexpr std::size_t kMostRuns = 1024;
  static constexpr std::size_t kWindowBytes = std::size_t{4} << 10;
  static constexpr std::size_t kWriteBytes = std::size_t{64} << 10;

  std::string_view text_of(const Place& place) const { return {text_.data() + place.at, place.bytes}; }
  void sort_places();
  bool spill();
  bool merge_runs();
  static void put(std::string& to, std::string_view text);
  static bool flush(std::string& block, TemporaryFile& to);

  const Less less_;
  const std::size_t memory_;
  std::string text_;
  std::vector<Place> places_;
  TemporaryFile file_;
  std::vector<Range> runs_;
  std::uint64_t size_ = 0;
};

}  // namespace opdump::tool
