#include "opdump/parts/sealed_sink.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

class PortSealer final : public Sealer {
 public:
  explicit PortSealer(const opdump_sealer& port) { copy_object(port_, port); }

  [[nodiscard]] Status begin(SealKey recipient, std::span<std::byte, kSealKeyBytes> ephemeral) override {
    return c_api::from_c(port_.begin(port_.context, reinterpret_cast<const std::uint8_t*>(recipient.data()),
                                     reinterpret_cast<std::uint8_t*>(ephemeral.data())),
                         Status::driver_failed);
  }

  [[nodiscard]] Status seal(SealNonce nonce, Bytes associated, MutableBytes chunk) override {
    return c_api::from_c(port_.seal(port_.context, reinterpret_cast<const std::uint8_t*>(nonce.data()),
                                    associated.data(), associated.size(), chunk.data(), chunk.size()),
                         Status::driver_failed);
  }

  void end() {
    if (port_.end != nullptr) port_.end(port_.context);
  }

 private:
  opdump_sealer port_;
};

struct SealingParts {
  PortSealer sealer;
  opdump_sink& to;
  SealedSink<> sealing;
  std::array<char, kSealKeyBytes> key{};  ///< that is sealed for

  SealingParts(const opdump_sealer& port, opdump_sink& sink, MutableBytes chunks)
      : sealer(port), to(sink), sealing(sink.sink, sealer, chunks) {}
};

/// A base of its own, so that there is a sink before there is its handle.
struct PortSealedSink : SealingParts, opdump_sink {
  PortSealedSink(const opdump_sealer& port, opdump_sink& inner, MutableBytes chunks)
      : SealingParts(port, inner, chunks),
        opdump_sink{.sink = sealing,
                    .destroy = &PortSealedSink::end,
                    .crash_sink = inner.crash_sink,
                    .follow = &PortSealedSink::follow_config,
                    .make_place = inner.make_place,
                    .check = &PortSealedSink::check_config,
                    .history = inner.history} {}

  Status seal(std::string_view recipient) {
    const Status status = sealing.seal(recipient);
    if (status == Status::ok) std::memcpy(key.data(), recipient.data(), key.size());
    return status;
  }

  static void end(opdump_sink* handle) {
    auto& self = *static_cast<PortSealedSink*>(handle);
    self.sealer.end();
    self.destroy = nullptr;
  }

  /// As `SealedSink::follow`.
  static Status follow_config(opdump_sink* handle, const DumpOptions& options, JournalDetail journal) {
    auto& self = *static_cast<PortSealedSink*>(handle);
    DumpOptions others = options;
    others.seal = {};
    const Status status = c_api::follow_options(self.to, others, journal);
    const std::string_view asked = seal_key(options);
    return status == Status::ok && !asked.empty() ? self.seal(asked) : status;
  }

  static Status check_config(const opdump_sink& handle, const DumpConfig& config) {
    const auto& self = static_cast<const PortSealedSink&>(handle);
    const std::string_view asked = seal_key(config.options);
    const std::string_view sealed_for =
        self.sealing.seals() ? std::string_view(self.key.data(), self.key.size()) : std::string_view();
    if (!asked.empty() && asked != sealed_for) return Status::not_supported;
    if (!sealed_for.empty() && !seal_conflict(config).empty()) return Status::not_supported;
    DumpConfig others = config;
    others.options.seal = {};
    return c_api::check_sink(self.to, others);
  }
};

/// Null for a sink of another kind.
PortSealedSink* sealed_of(opdump_sink* sink) {
  return sink != nullptr && sink->destroy == &PortSealedSink::end ? static_cast<PortSealedSink*>(sink)
                                                                  : nullptr;
}

}  // namespace

extern "C" {

std::size_t opdump_sealed_sink_size(std::uint32_t chunk_bytes) {
  return c_api::room_for<PortSealedSink>() + SealedSink<>::bytes_for(chunk_bytes);
}

opdump_status opdump_sealed_sink_create(void* memory, std::size_t bytes, std::uint32_t chunk_bytes,
                                        opdump_sink* to, const opdump_sealer* from, opdump_sink** sink) {
  if (sink == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *sink = nullptr;
  opdump_sealer sealer;
  if (const Status status = c_api::take_struct(from, sealer); status != Status::ok)
    return c_api::to_c(status);
  if (to == nullptr || sealer.begin == nullptr || sealer.seal == nullptr ||
      chunk_bytes < SealedSink<>::kMinChunkBytes || chunk_bytes > sealed::kMaxChunkBytes)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  PortSealedSink* const place = room.take<PortSealedSink>();
  const std::size_t chunks_bytes = SealedSink<>::bytes_for(chunk_bytes);
  std::byte* const chunks = room.bytes(chunks_bytes);
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  *sink = ::new (place) PortSealedSink(sealer, *to, {chunks, chunks_bytes});
  return OPDUMP_OK;
}

opdump_status opdump_sealed_sink_seal(opdump_sink* sink, const std::uint8_t recipient[32]) {
  PortSealedSink* const sealed = sealed_of(sink);
  if (sealed == nullptr || recipient == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return c_api::to_c(sealed->seal({reinterpret_cast<const char*>(recipient), kSealKeyBytes}));
}

int opdump_sealed_sink_seals(opdump_sink* sink) {
  const PortSealedSink* const sealed = sealed_of(sink);
  return sealed != nullptr && sealed->sealing.seals() ? 1 : 0;
}

}  // extern "C"
