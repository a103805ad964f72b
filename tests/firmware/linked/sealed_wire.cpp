// Firmware with a journal whose dump is sealed and goes over a serial line to `opdump receive`.

#include "firmware.hpp"
#include "line.hpp"
#include "opdump/parts/sealed_sink.hpp"

namespace firmware {

/// In the place of the port's cryptography, which is not counted here: no cipher.
class PortSealer final : public Sealer {
 public:
  Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) override {
    for (std::size_t i = 0; i < kSealKeyBytes; ++i) ephemeral[i] = recipient[i] ^ std::byte{0x5a};
    return Status::ok;
  }
  Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    for (std::byte& byte : chunk) byte ^= nonce[4] ^ associated[12];
    ++chunks;
    return Status::ok;
  }

  std::uint32_t chunks = 0;
};

/// Small code takes no "seal" from a config.
constexpr std::string_view kRecipient = "the public key of the recipient!";

using Sealed = SealedSink<wire::WireSink<Uart>>;
PortSealer sealer;
std::byte chunks[Sealed::bytes_for(256)];
Sealed sealed_sink(line_sink, sealer, chunks);
Session session({.memory = memory, .sink = sealed_sink, .clock = ticks, .scratch = scratch});

}  // namespace firmware

extern "C" {
opdump::Status firmware_boot() {
  using namespace firmware;
  recorder = session.add_recorder(ring).value();
  const Status status = sealed_sink.seal(kRecipient);
  return status == Status::ok ? boot(session, sealed_sink, kConfig) : status;
}

opdump::Status firmware_idle() {
  using namespace firmware;
  line_sink.serve();
  // Nothing may go by it.
  return sealed_sink.seals() && sealer.chunks != 0 ? Status::ok : Status::driver_failed;
}
}
