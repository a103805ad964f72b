#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/port/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a CallbackSink hands on.
struct SinkPiece {
  enum class Kind : std::uint8_t {
    data,       ///< more bytes of the object
    committed,  ///< the object is whole; no bytes
    aborted,    ///< all pieces of the object are void; no bytes. Also after `committed`, when an object that
                ///< belongs to it was refused
    journal,    ///< more bytes of the journal
  };

  Kind kind = Kind::data;
  std::string_view path{};  ///< "root/directory/file", the object's name; valid during the call
  Bytes bytes{};            ///< valid during the call
};

/// Takes one piece; pieces come in the order of their bytes. Any status but `ok` fails the object, which is
/// then aborted with a last piece, whose status is ignored. Called by the drainer.
using TakePiece = Status (*)(void* context, const SinkPiece& piece);

/// A dump that goes wherever a function sends it: a network, a debug probe, another processor. Pieces of
/// several objects may alternate; the path says which object a piece belongs to. Holds no bytes back, and
/// keeps only the paths of open objects. Does not compare names with those of earlier objects: the function
/// that stores the pieces has to. Not thread-safe.
class CallbackSink final : public Sink {
 public:
  static constexpr std::size_t kMaxOpenObjects = opdump::kMaxOpenObjects;

  /// `paths` belongs to the sink as long as the sink lives: an equal part of it holds the path of each open
  /// object, and one part that of the journal. A path that does not fit its part is `name_too_long`.
  CallbackSink(TakePiece take, void* context, MutableBytes paths)
      : take_(take), context_(context), paths_(paths), path_bytes_(paths.size() / (kMaxOpenObjects + 1)) {}
  CallbackSink(const CallbackSink&) = delete;
  CallbackSink& operator=(const CallbackSink&) = delete;

  /// `too_many_objects` when kMaxOpenObjects are open.
  Result<ObjectId> begin(const ObjectName& name) override {
    for (std::size_t slot = 0; slot < kMaxOpenObjects; ++slot) {
      if (used_[slot] != 0) continue;
      const std::size_t bytes = join(slot, name);
      if (bytes == 0) return Status::name_too_long;
      used_[slot] = bytes;
      return static_cast<ObjectId>(slot);
    }
    return Status::too_many_objects;
  }

  [[nodiscard]] Status append(ObjectId object, std::span<const Bytes> parts) override {
    const std::size_t slot = static_cast<std::size_t>(object);
    if (!is_open(slot)) return Status::invalid_argument;
    return give(SinkPiece::Kind::data, path(slot, used_[slot]), parts);
  }

  [[nodiscard]] Status commit(ObjectId object, ObjectId with = kNoObject) override {
    if (build::kFaults && with != kNoObject) return commit_pair(object, with);
    const std::size_t slot = static_cast<std::size_t>(object);
    if (!is_open(slot)) return Status::invalid_argument;
    const Status status = end(slot, SinkPiece::Kind::committed);
    if (status != Status::ok) static_cast<void>(end(slot, SinkPiece::Kind::aborted));
    used_[slot] = 0;
    return status;
  }

  void abort(ObjectId object) override {
    const std::size_t slot = static_cast<std::size_t>(object);
    if (!is_open(slot)) return;
    static_cast<void>(end(slot, SinkPiece::Kind::aborted));
    used_[slot] = 0;
  }

  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    const std::size_t bytes = join(kMaxOpenObjects, name);
    if (bytes == 0) return Status::name_too_long;
    return give(SinkPiece::Kind::journal, path(kMaxOpenObjects, bytes), parts);
  }

  /// Returns `ok`: the sink holds nothing back.
  [[nodiscard]] Status sync() override { return Status::ok; }

 private:
  Status commit_pair(ObjectId first, ObjectId second) {
    const std::size_t first_slot = static_cast<std::size_t>(first);
    if (!is_open(first_slot) || !is_open(static_cast<std::size_t>(second))) {
      abort(first);
      abort(second);
      return Status::invalid_argument;
    }
    const std::size_t first_bytes = used_[first_slot];
    Status status = commit(first);
    if (status != Status::ok) {
      abort(second);
      return status;
    }
    status = commit(second);
    if (status != Status::ok)
      static_cast<void>(take_(context_, {SinkPiece::Kind::aborted, path(first_slot, first_bytes), {}}));
    return status;
  }

  bool is_open(std::size_t slot) const { return slot < kMaxOpenObjects && used_[slot] != 0; }

  char* path_memory(std::size_t slot) { return reinterpret_cast<char*>(paths_.data()) + slot * path_bytes_; }
  std::string_view path(std::size_t slot, std::size_t bytes) { return {path_memory(slot), bytes}; }

  /// Length of the joined path, 0 when it does not fit.
  std::size_t join(std::size_t slot, const ObjectName& name) {
    std::size_t bytes = 0;
    for (const std::string_view part : {name.root, name.directory, name.file}) {
      if (part.empty()) continue;
      const bool slash = bytes != 0 && path_memory(slot)[bytes - 1] != '/';
      if (bytes + (slash ? 1 : 0) + part.size() > path_bytes_) return 0;
      if (slash) path_memory(slot)[bytes++] = '/';
      std::memcpy(path_memory(slot) + bytes, part.data(), part.size());
      bytes += part.size();
    }
    return bytes;
  }

  Status give(SinkPiece::Kind kind, std::string_view path, std::span<const Bytes> parts) {
    for (const Bytes part : parts) {
      if (part.empty()) continue;
      const Status status = take_(context_, {kind, path, part});
      if (status != Status::ok) return status;
    }
    return Status::ok;
  }

  Status end(std::size_t slot, SinkPiece::Kind kind) {
    return take_(context_, {kind, path(slot, used_[slot]), {}});
  }

  TakePiece take_;
  void* context_;
  MutableBytes paths_;
  std::size_t path_bytes_;
  std::size_t used_[kMaxOpenObjects] = {};  // bytes of the path; 0: free
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
