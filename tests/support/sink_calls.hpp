#pragma once
#include <string_view>

#include "opdump/port/sink.hpp"

namespace opdump::tests {

inline Status append_text(Sink& sink, ObjectId object, std::string_view text) {
  const Bytes part = as_bytes(text);
  return sink.append(object, std::span(&part, 1));
}

/// Stores a whole object; the status of the first call that failed.
inline Status store(Sink& sink, const ObjectName& name, std::string_view text) {
  const Result<ObjectId> object = sink.begin(name);
  if (!object.ok()) return object.status();
  if (const Status status = append_text(sink, object.value(), text); status != Status::ok) {
    sink.abort(object.value());
    return status;
  }
  return sink.commit(object.value());
}

}  // namespace opdump::tests
