#pragma once
#include <cstdint>

#include "opdump/nano_encode.hpp"
#include "opdump/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Turns one record at a time into a nano record in a sink. One per recorder; the drainer calls it. After any
/// error nothing is open and the record is lost.
class NanoWriter {
 public:
  /// Opens the record's object and writes its head and `data`, the first of its tensors' bytes. `scratch`
  /// (not empty) is used during the call only. `already_exists` when the sink has an object of that name.
  [[nodiscard]] Status begin(Sink& sink, const ObjectName& name, const RecordView& record, Bytes data,
                             MutableBytes scratch) {
    const Result<ObjectId> object = sink.begin(name);
    if (!object.ok()) return object.status();
    sink_ = &sink;
    object_ = object.value();
    bytes_ = 0;

    const auto for_each_tensor = [&record](auto use) { record.for_each_tensor(use); };
    const NanoHeadSizes sizes = nano_head_sizes(for_each_tensor);
    const std::uint64_t head_bytes = kNanoHeadLengthBytes + sizes.head_bytes();
    Status status = Status::ok;
    if (head_bytes <= scratch.size()) {
      ByteCursor head(scratch.data());
      encode_nano_head(for_each_tensor, sizes, head);
      const Bytes parts[] = {scratch.first(static_cast<std::size_t>(head_bytes)), data};
      status = put(parts);
    } else {
      ByteBatcher head(scratch, [&](Bytes bytes) {
        if (status == Status::ok) status = put({&bytes, 1});
      });
      encode_nano_head(for_each_tensor, sizes, head);
      if (status == Status::ok) {
        const Bytes parts[] = {head.pending(), data};
        status = put(parts);
      }
    }
    if (status != Status::ok) sink_->abort(object_);
    return status;
  }

  /// Adds more of the tensors' bytes.
  [[nodiscard]] Status append(Bytes data) {
    const Status status = put({&data, 1});
    if (status != Status::ok) sink_->abort(object_);
    return status;
  }

  [[nodiscard]] Status commit() { return sink_->commit(object_); }
  void abort() { sink_->abort(object_); }

  /// Bytes written of the record so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  Status put(std::span<const Bytes> parts) {
    for (const Bytes part : parts) bytes_ += part.size();
    return sink_->append(object_, parts);
  }

  Sink* sink_ = nullptr;
  ObjectId object_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
