#pragma once
#include <cstdint>

#include "opdump/port/sink.hpp"

namespace opdump::bench {

/// Takes everything and keeps nothing but the number of bytes.
class NullSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }
  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) bytes_ += part.size();
    return Status::ok;
  }
  Status commit(ObjectId, ObjectId) override { return Status::ok; }
  Status put_object(const ObjectName&, std::span<const Bytes> parts) OPDUMP_OVERRIDE_IF_WIDE {
    return append({}, parts);
  }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return Status::ok; }

  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Puts the bytes of all objects into one log, one object after the other.
template <class Log>
class LogSink final : public Sink {
 public:
  explicit LogSink(Log& log) : log_(log) {}

  Result<ObjectId> begin(const ObjectName&) override { return ObjectId{0}; }
  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) {
      bytes_ += part.size();
      if (!log_.put(part)) return Status::io_error;
    }
    return Status::ok;
  }
  Status commit(ObjectId, ObjectId) override { return Status::ok; }
  Status put_object(const ObjectName&, std::span<const Bytes> parts) OPDUMP_OVERRIDE_IF_WIDE {
    return append({}, parts);
  }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::ok; }
  Status sync() override { return log_.end() ? Status::ok : Status::io_error; }

  std::uint64_t bytes() const { return bytes_; }

 private:
  Log& log_;
  std::uint64_t bytes_ = 0;
};

}  // namespace opdump::bench
