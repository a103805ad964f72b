#include "src/acl/routed_sink.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace opdump::acl {
inline namespace OPDUMP_NAMESPACE {

Status ChunkWriter::take(const SinkPiece& piece) {
  File* file = piece.kind == SinkPiece::Kind::journal ? find_journal(piece.path) : find(piece.path);
  if (file == nullptr) return Status::no_memory;
  switch (piece.kind) {
    case SinkPiece::Kind::data:
      return add(*file, piece.bytes);
    case SinkPiece::Kind::journal: {
      // Every line goes at once: a crash must not cost it.
      Status status = add(*file, piece.bytes);
      if (status == Status::ok) status = send(*file, false, 0);
      file->chunk.reset();
      return status;
    }
    case SinkPiece::Kind::committed: {
      const Status status = send(*file, true, 0);
      if (status == Status::ok) file->chunk.reset();
      return status;
    }
    case SinkPiece::Kind::aborted:
      file->head()->bufLen = 0;
      static_cast<void>(send(*file, true, OPDUMP_ACL_ABORTED));
      file->chunk.reset();
      break;
  }
  return Status::ok;
}

ChunkWriter::File* ChunkWriter::find(std::string_view path) {
  for (File& file : files_) {
    if (file.chunk != nullptr && file.head()->fileName == path) return &file;
  }
  if (path.size() >= ACL_DUMP_MAX_FILE_PATH_LENGTH) return nullptr;
  for (File& file : files_) {
    if (file.chunk != nullptr) continue;
    file.chunk.reset(new (std::nothrow) std::byte[sizeof(acldumpChunk) + kDataBytes]);
    if (file.chunk == nullptr) return nullptr;
    acldumpChunk& head = *new (file.chunk.get()) acldumpChunk;
    std::memcpy(head.fileName, path.data(), path.size());
    head.fileName[path.size()] = '\0';
    head.bufLen = 0;
    head.offset = -1;
    file.callback = latest_.load(std::memory_order_acquire);
    return &file;
  }
  return nullptr;
}

/// The callback of a journal's first line gets all of them.
ChunkWriter::File* ChunkWriter::find_journal(std::string_view path) {
  File* const file = find(path);
  if (file == nullptr) return nullptr;
  for (const Journal& journal : journals_) {
    if (journal.path != path) continue;
    file->callback = journal.callback;
    return file;
  }
  journals_.push_back({std::string(path), file->callback});
  return file;
}

Status ChunkWriter::end_journals() {
  Status status = Status::ok;
  for (const Journal& journal : journals_) {
    File* const file = find(journal.path);
    if (file == nullptr) return Status::no_memory;
    file->callback = journal.callback;
    if (const Status sent = send(*file, true, 0); sent != Status::ok) status = sent;
    file->chunk.reset();
  }
  journals_.clear();
  return status;
}

Status ChunkWriter::add(File& file, Bytes bytes) {
  acldumpChunk& head = *file.head();
  while (!bytes.empty()) {
    if (head.bufLen == kDataBytes) {
      if (const Status status = send(file, false, 0); status != Status::ok) return status;
    }
    const std::size_t now = std::min<std::size_t>(bytes.size(), kDataBytes - head.bufLen);
    std::memcpy(head.dataBuf + head.bufLen, bytes.data(), now);
    head.bufLen += static_cast<std::uint32_t>(now);
    bytes = bytes.subspan(now);
  }
  return Status::ok;
}

Status ChunkWriter::send(File& file, bool last, std::int32_t flag) {
  acldumpChunk& head = *file.head();
  head.isLastChunk = last ? 1 : 0;
  head.flag = flag;
  const std::int32_t answer =
      file.callback(&head, static_cast<std::int32_t>(sizeof(acldumpChunk) + head.bufLen));
  head.bufLen = 0;
  return answer == 0 ? Status::ok : Status::io_error;
}

Sink& RoutedSink::current() {
  if (writer_.callback() != nullptr) return callback_sink_;
  return tree_;
}

Result<ObjectId> RoutedSink::begin(const ObjectName& name) {
  for (std::size_t slot = 0; slot < CallbackSink::kMaxOpenObjects; ++slot) {
    if (routes_[slot].sink != nullptr) continue;
    Sink& sink = current();
    const Result<ObjectId> object = sink.begin(name);
    if (!object.ok()) return object.status();
    routes_[slot] = {&sink, object.value()};
    return static_cast<ObjectId>(slot);
  }
  return Status::too_many_objects;
}

Status RoutedSink::append(ObjectId object, std::span<const Bytes> parts) {
  const Route& route = routes_[static_cast<std::size_t>(object)];
  return route.sink->append(route.object, parts);
}

Status RoutedSink::commit(ObjectId object, ObjectId with) {
  if (with != kNoObject) return commit_pair(object, with);
  Route& route = routes_[static_cast<std::size_t>(object)];
  const Status status = route.sink->commit(route.object);
  route.sink = nullptr;
  return status;
}

Status RoutedSink::commit_pair(ObjectId first, ObjectId second) {
  Route& one = routes_[static_cast<std::size_t>(first)];
  Route& other = routes_[static_cast<std::size_t>(second)];
  Status status = Status::not_supported;
  if (one.sink == other.sink) {
    status = one.sink->commit(one.object, other.object);
  } else {
    // A callback came or went between the two.
    one.sink->abort(one.object);
    other.sink->abort(other.object);
  }
  one.sink = other.sink = nullptr;
  return status;
}

void RoutedSink::abort(ObjectId object) {
  Route& route = routes_[static_cast<std::size_t>(object)];
  route.sink->abort(route.object);
  route.sink = nullptr;
}

Status RoutedSink::append_lines(const ObjectName& name, std::span<const Bytes> parts) {
  return route_of_journal(name).append_lines(name, parts);
}

Status RoutedSink::claim_journal(const ObjectName& name) {
  const Status status = route_of_journal(name).claim_journal(name);
  if (status == Status::already_exists) journals_.pop_back();
  return status;
}

Sink& RoutedSink::route_of_journal(const ObjectName& name) {
  for (const JournalRoute& route : journals_) {
    if (route.file == name.file && route.directory == name.directory && route.root == name.root)
      return *route.sink;
  }
  Sink& sink = current();
  journals_.push_back({std::string(name.root), std::string(name.directory), std::string(name.file), &sink});
  return sink;
}

Status RoutedSink::end_journals() {
  journals_.clear();
  return writer_.end_journals();
}

Status RoutedSink::sync() {
  return tree_.sync();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::acl
