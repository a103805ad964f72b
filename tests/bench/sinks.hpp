#pragma once
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "opdump/sink.hpp"
#include "platform/posix/write_all.hpp"

namespace opdump::bench {

/// Takes everything and keeps nothing but the number of bytes.
class NullSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }
  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) bytes_ += part.size();
    return Status::ok;
  }
  Status commit(ObjectId) override { return Status::ok; }
  Status commit_both(ObjectId, ObjectId) override { return Status::ok; }
  void abort(ObjectId) override {}
  Status append_journal(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }

  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Writes the bytes of all objects to one file, one object after the other.
class LogSink final : public Sink {
 public:
  explicit LogSink(int file) : file_(file), buffer_(kBufferBytes) {}

  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }

  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) {
      bytes_ += part.size();
      if (part.size() < kDirectBytes) {
        if (buffer_.size() - used_ < part.size() && !flush({})) return Status::io_error;
        copy_bytes(buffer_.data() + used_, part);
        used_ += part.size();
      } else if (!flush(part)) {
        return Status::io_error;
      }
    }
    return Status::ok;
  }

  Status commit(ObjectId) override { return Status::ok; }
  Status commit_both(ObjectId, ObjectId) override { return Status::ok; }
  void abort(ObjectId) override {}
  Status append_journal(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return flush({}) ? Status::ok : Status::io_error; }

  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;
  static constexpr std::size_t kDirectBytes = 8 * 1024;  // from here on a copy costs more than a call

  bool flush(Bytes more) {
    const Bytes parts[] = {Bytes(buffer_).first(used_), more};
    used_ = 0;
    return posix::write_all(file_, parts) == 0;
  }

  int file_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace opdump::bench
