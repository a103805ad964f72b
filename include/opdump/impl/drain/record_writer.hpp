#pragma once
#include <cstdint>

#include "opdump/base/byte_output.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/overflow.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_SMALL_CODE
/// Files are ready as they come.
using RecordWriter = OpenObject;
#else
/// Turns one record at a time into an object of a sink. One per recorder; the drainer calls it. After any
/// error nothing is open and the record is lost.
class RecordWriter {
 public:
  /// Opens the record's object and writes its head and `data`, the first of its tensors' bytes, in `format`;
  /// null: as a nano record. `scratch` (not empty) is used during the call only. `already_exists` when the
  /// sink has an object of that name.
  [[nodiscard]] Status begin(Sink& sink, const ObjectName& name, const RecordView& record, Bytes data,
                             MutableBytes scratch, RecordFormat* format) {
    if (format == nullptr && !record.nano_head().empty()) return begin_ready(sink, name, record, data);
    if (const Status status = object_.begin(sink, name); status != Status::ok) return status;
    format_ = format;
    if (format != nullptr) return format->begin(object_, state_, record, data, scratch);

    const auto for_each_tensor = [&record](auto use) { record.for_each_tensor(use); };
    const NanoLists sizes = nano_head_sizes(for_each_tensor, record.name());
    const std::uint64_t head_bytes = kNanoHeadLengthBytes + sizes.head_bytes();
    if (head_bytes <= scratch.size()) {
      ByteCursor head(scratch.data());
      encode_nano_head(for_each_tensor, record.name(), sizes, head);
      const Bytes parts[] = {scratch.first(static_cast<std::size_t>(head_bytes)), data};
      return object_.put(parts);
    }
    Status status = Status::ok;
    ByteBatcher head(scratch, [&](Bytes bytes) {
      if (status == Status::ok) status = object_.put(bytes);
    });
    encode_nano_head(for_each_tensor, record.name(), sizes, head);
    if (status != Status::ok) return status;
    const Bytes parts[] = {head.pending(), data};
    return object_.put(parts);
  }

  /// As `begin`, of a nano record whose head is ready.
  [[nodiscard]] Status begin_ready(Sink& sink, const ObjectName& name, const RecordView& record, Bytes data) {
    format_ = nullptr;
    if (const Status status = object_.begin(sink, name); status != Status::ok) return status;
    const Bytes parts[] = {record.nano_head(), data};
    return object_.put(parts);
  }

  /// Opens an object and writes all of `report` to it. Errors as `begin`.
  [[nodiscard]] Status begin_report(Sink& sink, const ObjectName& name, const OverflowReport& report,
                                    RecordFormat& format) {
    const Status status = object_.begin(sink, name);
    return status == Status::ok ? format.put_report(object_, report) : status;
  }

  /// Adds more of the tensors' bytes.
  [[nodiscard]] Status put(Bytes data) {
    return format_ == nullptr ? object_.put(data) : format_->append(object_, state_, data);
  }

  [[nodiscard]] Status commit() { return object_.commit(); }
  /// As `Sink::commit`, of this record and `with`.
  [[nodiscard]] Status commit(const RecordWriter& with) { return object_.commit(with.object_); }
  void abort() { object_.abort(); }

  /// Bytes written of the record so far.
  std::uint64_t bytes() const { return object_.bytes(); }

 private:
  OpenObject object_;
  RecordFormat* format_ = nullptr;
  FormatState state_;
};
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
