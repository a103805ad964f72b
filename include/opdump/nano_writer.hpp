#pragma once
#include <cstdint>

#include "opdump/dump_name.hpp"
#include "opdump/nano_encode.hpp"
#include "opdump/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Turns one record at a time into a nano record in a sink. One per recorder; the drainer calls it.
/// After any error nothing is open and the record is lost.
class NanoWriter {
 public:
  /// Opens the record's object and writes its head and `data`, the first of its tensors' bytes. `scratch` is
  /// used during the call only and must exceed `dump_name_bytes` of the record's texts. `already_exists` when
  /// the sink has an object of that name.
  [[nodiscard]] Status begin(Sink& sink, const RecordView& record, std::uint64_t unix_us, Bytes data,
                             MutableBytes scratch) {
    MutableBytes rest;
    const Result<ObjectName> name = dump_object_name(record, unix_us, {}, scratch, rest);
    if (!name.ok()) return name.status();
    if (rest.empty()) return Status::name_too_long;
    const Result<ObjectId> object = sink.begin(name.value());
    if (!object.ok()) return object.status();
    sink_ = &sink;
    object_ = object.value();

    Status status = Status::ok;
    ByteBatcher head(rest, [&](Bytes bytes) {
      if (status == Status::ok) status = sink_->append(object_, {&bytes, 1});
    });
    encode_nano_head([&record](auto use) { record.for_each_tensor(use); }, head);
    if (status == Status::ok) {
      const Bytes parts[] = {head.pending(), data};
      status = sink_->append(object_, parts);
    }
    if (status != Status::ok) sink_->abort(object_);
    return status;
  }

  /// Adds more of the tensors' bytes.
  [[nodiscard]] Status append(Bytes data) {
    const Status status = sink_->append(object_, {&data, 1});
    if (status != Status::ok) sink_->abort(object_);
    return status;
  }

  [[nodiscard]] Status commit() { return sink_->commit(object_); }
  void abort() { sink_->abort(object_); }

 private:
  Sink* sink_ = nullptr;
  ObjectId object_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
