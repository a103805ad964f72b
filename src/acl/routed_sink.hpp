#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opdump/acl.h"
#include "opdump/parts/callback_sink.hpp"
#include "platform/posix/tree_sink.hpp"

namespace opdump::acl {
inline namespace OPDUMP_NAMESPACE {

using ChunkCallback = std::int32_t (*)(const acldumpChunk*, std::int32_t);

/// Turns the pieces of a CallbackSink into CANN's chunks. Holds back one chunk of each file, so that the last
/// one can say that it is. For the drainer.
class ChunkWriter {
 public:
  static Status take(void* writer, const SinkPiece& piece) {
    return static_cast<ChunkWriter*>(writer)->take(piece);
  }

  /// Null: files that begin from now on do not come here. Any thread.
  void set_callback(ChunkCallback callback) {
    if (callback != nullptr) latest_.store(callback, std::memory_order_release);
    callback_.store(callback, std::memory_order_release);
  }
  ChunkCallback callback() const { return callback_.load(std::memory_order_acquire); }

  /// Tells the callbacks that no line follows in the journals that came here. While nothing is drained.
  [[nodiscard]] Status end_journals();

 private:
  static constexpr std::uint32_t kDataBytes = 64 * 1024;
  static constexpr std::size_t kFiles = CallbackSink::kMaxOpenObjects + 1;

  struct Journal {
    std::string path;
    ChunkCallback callback;
  };

  struct File {
    std::unique_ptr<std::byte[]> chunk;  ///< null: the place is free
    ChunkCallback callback = nullptr;    ///< stays the file's when another one is registered
    acldumpChunk* head() const { return reinterpret_cast<acldumpChunk*>(chunk.get()); }
  };

  Status take(const SinkPiece& piece);
  File* find(std::string_view path);
  File* find_journal(std::string_view path);
  Status add(File& file, Bytes bytes);
  Status send(File& file, bool last, std::int32_t flag);

  std::atomic<ChunkCallback> callback_{nullptr};
  std::atomic<ChunkCallback> latest_{nullptr};  ///< for files that came here before the callback went away
  File files_[kFiles];
  std::vector<Journal> journals_;
};

/// The disk, or the callback while there is one: each file, and each journal, goes where it began.
class RoutedSink final : public Sink {
 public:
  RoutedSink() : callback_sink_(ChunkWriter::take, &writer_, std::as_writable_bytes(std::span(paths_))) {}

  Result<ObjectId> begin(const ObjectName& name) override;
  [[nodiscard]] Status append(ObjectId object, std::span<const Bytes> parts) override;
  [[nodiscard]] Status commit(ObjectId object, ObjectId with = kNoObject) override;
  void abort(ObjectId object) override;
  [[nodiscard]] Status put_object(const ObjectName& name,
                                  std::span<const Bytes> parts) OPDUMP_OVERRIDE_IF_WIDE {
    return current().put_object(name, parts);
  }
  [[nodiscard]] Status claim_journal(const ObjectName& name) override;
  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override;
  [[nodiscard]] Status sync() override;

  ChunkWriter& writer() { return writer_; }

  /// After the last line of all journals: what comes under their names later begins anew. While nothing is drained.
  [[nodiscard]] Status end_journals();

  /// As ConfigurableSink, for files on the disk.
  [[nodiscard]] Status follow(const DumpOptions& options, JournalDetail journal) {
    return tree_.follow(options, journal);
  }

 private:
  struct Route {
    Sink* sink = nullptr;  ///< null: free
    ObjectId object{};
  };

  struct JournalRoute {
    std::string root, directory, file;
    Sink* sink;
  };

  Sink& current();
  Status commit_pair(ObjectId first, ObjectId second);
  Sink& route_of_journal(const ObjectName& name);

  ChunkWriter writer_;
  char paths_[(CallbackSink::kMaxOpenObjects + 1) * ACL_DUMP_MAX_FILE_PATH_LENGTH] = {};
  CallbackSink callback_sink_;
  posix::TreeSink tree_;
  Route routes_[CallbackSink::kMaxOpenObjects];
  std::vector<JournalRoute> journals_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::acl
