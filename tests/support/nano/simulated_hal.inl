// The driver's two calls, for the one file of a program that includes this.

extern "C" {

[[gnu::visibility("default")]] int halEschedWaitEvent(std::uint32_t, void* out, std::uint32_t* type,
                                                      std::uint32_t* control, std::uint32_t* bytes,
                                                      std::int32_t limit_ms) {
  using opdump::tests::hal;
  opdump::nano::Event event;
  if (hal->scheduler.wait(event, limit_ms) != opdump::Status::ok) return hal->error != 0 ? hal->error : 16;
  *type = event.type;
  *control = event.control;
  *bytes = event.bytes;
  if (hal->copies_mailboxes && event.type != 0) {
    std::memcpy(out, event.at, opdump::nano::kMailboxBytes);
  } else {
    std::memcpy(out, &event.at, sizeof event.at);
  }
  return 0;
}

[[gnu::visibility("default")]] int halEschedAckEvent(std::uint32_t type, std::uint32_t control) {
  return opdump::tests::hal->scheduler.acknowledge({.type = type, .control = control}) == opdump::Status::ok
             ? 0
             : 1;
}
}
