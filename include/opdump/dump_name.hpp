#pragma once
#include <cstdint>

#include "opdump/record.hpp"
#include "opdump/sink.hpp"
#include "opdump/text.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The name of a record's object, built in `memory` and pointing into it, with `suffix` at its end:
/// directory `{time}/{device}/{model}/{model id}/{step}` (`{time}/{device}` without a model), file
/// `{type}.{name}.{task}.{stream}.{us}`, microseconds in 16 digits. `unused` becomes the part of `memory`
/// behind it. `name_too_long` when `memory` is too small. Source: the directories and names of CANN's dump.
inline Result<ObjectName> dump_object_name(const RecordView& record, std::string_view root,
                                           std::uint64_t unix_us, std::string_view suffix,
                                           MutableBytes memory, MutableBytes& unused) {
  const RecordHead& head = record.head();
  TextWriter directory({reinterpret_cast<char*>(memory.data()), memory.size()});
  directory.add_decimal(head.dump_time, 14).add("/").add_decimal(head.device_id);
  if (head.in_model != 0) {
    directory.add("/").add_sanitised(record.model_name()).add("/").add_decimal(head.model_id);
    directory.add("/").add_decimal(head.step);
  }
  TextWriter file(directory.rest());
  file.add_sanitised(record.type()).add(".").add_sanitised(record.name()).add(".").add_decimal(head.task_id);
  file.add(".").add_decimal(head.stream_id).add(".").add_decimal(unix_us, 16).add(suffix);
  if (directory.overflowed() || file.overflowed()) return Status::name_too_long;
  unused = std::as_writable_bytes(file.rest());
  return ObjectName{root, directory.text(), file.text()};
}

/// Bytes that `dump_object_name` needs at most for these texts.
constexpr std::size_t dump_name_bytes(std::size_t model_name_bytes, std::size_t type_bytes,
                                      std::size_t name_bytes) {
  constexpr std::size_t kDirectoryDigits = 20 + 1 + 10 + 1 + 1 + 10 + 1 + 20;
  constexpr std::size_t kFileDigits = 1 + 1 + 10 + 1 + 10 + 1 + 20;
  return kDirectoryDigits + kFileDigits + (model_name_bytes == 0 ? 1 : model_name_bytes) +
         (type_bytes == 0 ? 1 : type_bytes) + (name_bytes == 0 ? 1 : name_bytes);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
