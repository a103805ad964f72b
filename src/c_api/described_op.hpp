#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/opdump.h"
#include "opdump/types/model.hpp"
#include "src/c_api/c_port.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// Attributes are for records that a lean build does not write.
inline constexpr bool kKeepsAttributes = !build::kLean;

/// Counts the bytes of lists instead of keeping them.
struct CountedRoom {
  std::size_t bytes = 0;

  template <class T>
  T* take(std::size_t count) {
    bytes += count * sizeof(T);
    return nullptr;
  }
};

/// Makes at `to` what `from` says, with its lists in `room`; null: only looks at it. False for what is no operator.
template <class Room>
OPDUMP_APART_IF_LEAN bool take_op(const opdump_op& from, Room& room, OpDesc* to) {
  OpDesc op;
  if (!take_text(from.name, op.name) || !take_text(from.type, op.type) || from.level > OPDUMP_LEVEL_KERNEL ||
      (from.original_name_count != 0 && from.original_names == nullptr))
    return false;
  std::string_view* const names = room.template take<std::string_view>(from.original_name_count);
  for (std::uint32_t i = 0; i < from.original_name_count; ++i) {
    std::string_view name;
    if (!take_text(from.original_names[i], name)) return false;
    if (names != nullptr) ::new (&names[i]) std::string_view(name);
  }
  if constexpr (kKeepsAttributes) {
    if (from.attribute_count != 0 && from.attributes == nullptr) return false;
    OpAttribute* const attributes = room.template take<OpAttribute>(from.attribute_count);
    for (std::uint32_t i = 0; i < from.attribute_count; ++i) {
      OpAttribute attribute;
      if (!take_text(from.attributes[i].name, attribute.name) ||
          !take_text(from.attributes[i].value, attribute.value))
        return false;
      if (attributes != nullptr) ::new (&attributes[i]) OpAttribute(attribute);
    }
    op.attributes = {attributes, from.attribute_count};
  }
  op.task_id = from.task_id;
  op.stream_id = from.stream_id;
  op.original_names = {names, from.original_name_count};
  op.level = static_cast<OpLevel>(from.level);
  op.marked = from.marked != 0;
  if (to != nullptr) copy_object(*to, op);
  return true;
}

/// Whether nothing is missing that the operator says it has.
inline bool is_described(const opdump_op& op) {
  CountedRoom lists;
  return take_op(op, lists, nullptr);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
