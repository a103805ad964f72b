// Firmware that sends its dump over a serial line: the core alone.

#include "firmware.hpp"

namespace firmware {

/// Sends what it is given, each piece behind its length.
class SerialSink final : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName& name) override {
    const Bytes parts[] = {as_bytes(name.directory), as_bytes(name.file)};
    return append({}, parts) == Status::ok ? Result(ObjectId{}) : Status::io_error;
  }
  Status append(ObjectId, std::span<const Bytes> parts) override {
    for (const Bytes& part : parts) {
      send(static_cast<std::byte>(part.size()));
      for (const std::byte byte : part) send(byte);
    }
    return Status::ok;
  }
  Status commit(ObjectId, ObjectId) override { return Status::ok; }
  void abort(ObjectId) override {}
  Status append_lines(const ObjectName&, std::span<const Bytes>) override { return Status::not_supported; }
  Status sync() override { return Status::ok; }

 private:
  static void send(std::byte byte) { *reinterpret_cast<volatile std::byte*>(0x40004000) = byte; }
};

SerialSink sink;
Session session(
    {.memory = memory, .sink = sink, .clock = ticks, .scratch = scratch, .when_full = WhenFull::drop});

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot() {
  using namespace firmware;
  recorder = session.add_recorder(ring).value();
  Status status = session.init();
  return status == Status::ok ? session.set_config(kConfig) : status;
}

opdump::Status firmware_idle() {
  return opdump::Status::ok;
}
}
