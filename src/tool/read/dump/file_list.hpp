#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/spilled_sort.hpp"

namespace opdump::tool {

/// By which a FileList sorts: first by `high`.
struct FileKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// Any number of found files in bounded memory, sorted by their keys; files of one key keep the order in
/// which they were added, or are in that of their real names.
class FileList {
 public:
  enum class SameKey { as_added, by_real_name };

  explicit FileList(SameKey same_key = SameKey::as_added);

  void add(const FoundFile& file, const FileKey& key = {});

  /// To be called once after all `add`, before any Reader.
  void finish() { static_cast<void>(sort_.finish()); }

  std::uint64_t size() const { return sort_.size(); }

  /// Why files are missing: the temporary file did not take them or could not be read. Else empty.
  const std::string& error() const { return sort_.error(); }

  /// Gives the files in their order.
  class Reader {
   public:
    explicit Reader(const FileList& files) : reader_(files.sort_) {}

    /// False after the last one.
    bool next(FoundFile& file);

   private:
    SpilledSort::Reader reader_;
  };

  /// For a loop over all files.
  class Iterator {
   public:
    explicit Iterator(const FileList& files) : reader_(files) { ++*this; }
    const FoundFile& operator*() const { return file_; }
    Iterator& operator++() {
      more_ = reader_.next(file_);
      return *this;
    }
    bool operator!=(std::default_sentinel_t) const { return more_; }

   private:
    Reader reader_;
    FoundFile file_;
    bool more_ = false;
  };

  Iterator begin() const { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  SpilledSort sort_;
  std::string text_;
};

/// How many bytes all of them have, as far as that can be asked. Shows its progress on a terminal.
std::uint64_t total_bytes(const FileList& files);

}  // namespace opdump::tool
