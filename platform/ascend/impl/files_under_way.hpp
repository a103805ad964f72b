#pragma once
#include <array>
#include <cstdint>

#include "platform/ascend/impl/chunk_message.hpp"
#include "platform/ascend/impl/file_progress.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// A place for a file of which chunks come.
struct FileUnderWay {
  enum class State : std::uint8_t {
    free,
    open,
    ending,  ///< the drainer has not been told yet
  };

  State state = State::free;
  bool ended = false;  ///< its last chunk has come; a table may go on
  std::uint64_t id = 0;
  std::uint64_t used = 0;  ///< when, as FilesUnderWay counts
  FileProgress progress{};
  ChunkMessage end{};
};

/// The files of which chunks come, and which of them makes room for one more.
class FilesUnderWay {
 public:
  using State = FileUnderWay::State;

  /// Null where there is none.
  struct Room {
    FileUnderWay* free = nullptr;
    FileUnderWay* table = nullptr;   ///< that has ended, and has been silent longest
    FileUnderWay* oldest = nullptr;  ///< open file that has been silent longest
    std::uint32_t tables = 0;        ///< that have ended
  };

  FileUnderWay* find(std::uint64_t id) {
    for (FileUnderWay& file : files_) {
      if (file.state == State::open && file.id == id) return &file;
    }
    return nullptr;
  }

  std::uint8_t slot_of(const FileUnderWay& file) const {
    return static_cast<std::uint8_t>(&file - files_.data());
  }

  /// A chunk of the file has come.
  void note_use(FileUnderWay& file) { file.used = ++uses_; }

  Room room() {
    Room room;
    for (FileUnderWay& file : files_) {
      if (file.state == State::free && room.free == nullptr) room.free = &file;
      if (file.state != State::open) continue;
      room.tables += file.ended ? 1 : 0;
      if (file.ended && (room.table == nullptr || file.used < room.table->used)) room.table = &file;
      if (room.oldest == nullptr || file.used < room.oldest->used) room.oldest = &file;
    }
    return room;
  }

  // All places, also those that are free.
  auto begin() { return files_.begin(); }
  auto end() { return files_.end(); }

 private:
  std::array<FileUnderWay, kMaxChunkFiles> files_{};
  std::uint64_t uses_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
