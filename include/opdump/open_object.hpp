#pragma once
#include <cstdint>
#include <span>

#include "opdump/sink.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// An object that is being written to a sink, and how long it is so far. After any error nothing is open.
class OpenObject {
 public:
  [[nodiscard]] Status begin(Sink& sink, const ObjectName& name) {
    const Result<ObjectId> object = sink.begin(name);
    if (!object.ok()) return object.status();
    sink_ = &sink;
    object_ = object.value();
    restart_count();
    return Status::ok;
  }

  [[nodiscard]] Status put(std::span<const Bytes> parts) {
    count(parts);
    const Status status = sink_->append(object_, parts);
    if (status != Status::ok) sink_->abort(object_);
    return status;
  }

  [[nodiscard]] Status put(Bytes part) { return put({&part, 1}); }

  [[nodiscard]] Status commit() { return sink_->commit(object_); }
  void abort() { sink_->abort(object_); }
#if OPDUMP_FAULTS
  /// As `Sink::commit_both`, of this object and then `second`.
  [[nodiscard]] Status commit_with(const OpenObject& second) {
    return sink_->commit_both(object_, second.object_);
  }
#endif

#if OPDUMP_JOURNAL
  std::uint64_t bytes() const {
    return bytes_;
  }
#else
  static constexpr std::uint64_t bytes() {
    return 0;
  }  // for journals
#endif

 private:
#if OPDUMP_JOURNAL
  void restart_count() {
    bytes_ = 0;
  }
  void count(std::span<const Bytes> parts) {
    for (const Bytes part : parts) bytes_ += part.size();
  }
#else
  void restart_count() {}
  void count(std::span<const Bytes>) {}
#endif

  Sink* sink_ = nullptr;
  ObjectId object_{};
#if OPDUMP_JOURNAL
  std::uint64_t bytes_ = 0;
#endif
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
