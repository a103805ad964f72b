#include "platform/ascend/nano/hal_scheduler.hpp"

#include <cstring>

#include "platform/ascend/nano/mailbox.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

Status HalScheduler::wait(Event& event, std::int32_t limit_ms) {
  std::memset(out_, static_cast<int>(kUntouched), sizeof out_);
  event = {.bytes = sizeof out_};
  code_ = calls_.wait(thread_, out_, &event.type, &event.control, &event.bytes, limit_ms);
  if (code_ == kTimeout) return Status::timeout;
  if (code_ != 0) return Status::driver_failed;
  const auto is_touched = [this](std::size_t from, std::size_t end) {
    for (; from < end; ++from) {
      if (out_[from] != kUntouched) return true;
    }
    return false;
  };
  if (is_touched(sizeof event.at, kMailboxBytes)) {
    event.at = out_;
  } else if (is_touched(0, sizeof event.at)) {
    std::memcpy(&event.at, out_, sizeof event.at);
  }
  return Status::ok;
}

Status HalScheduler::acknowledge(const Event& event) {
  code_ = calls_.acknowledge(event.type, event.control);
  return code_ == 0 ? Status::ok : Status::driver_failed;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
