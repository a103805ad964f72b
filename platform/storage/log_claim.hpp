#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "platform/flashlog/device.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// What the bytes at the beginning of a storage look like: "a SquashFS file system", "UBI", "an ELF program";
/// of what is not known, the first bytes that are not erased, in hexadecimal.
std::string content_text(Bytes beginning);

/// Says which blocks of a storage a flash log may erase, so that what somebody else keeps there stays. They
/// are those
///   - with a header of a log of the same geometry,
///   - whose bytes are all 0xff or all 0x00,
///   - without either that a loss of power can have left in a log: kTornBlocks behind its newest block, unless
///     they begin as something known does, those that it has retired, and in a storage without any header the
///     first one, if it begins as a header does.
/// The device must stay.
class LogClaim {
 public:
  /// A log erases one block at a time, and lets all that it programmed before become durable first.
  static constexpr std::uint32_t kTornBlocks = 2;

  /// Looks at the beginning of each block, up to 4096 bytes, and writes nothing. `already_exists` where
  /// somebody else's bytes lie, `not_supported` where a log of another geometry or version does;
  /// `reason()` then says at which byte, and what.
  [[nodiscard]] Status inspect(const flashlog::Device& device);

  /// Before `block` is erased: reads the rest of it, unless it is one of the log's. `already_exists` as
  /// above; then, and ever after, nothing may be erased.
  [[nodiscard]] Status may_erase(std::uint32_t block);

  /// "at byte N: what lies there, and what to do"; empty if nothing was refused.
  const std::string& reason() const { return reason_; }

  std::uint32_t blocks_of_log() const { return of_log_; }

 private:
  enum class Use : std::uint8_t {
    unknown,  ///< to be read before it is erased
    ours,     ///< a header, or what a loss of power left
    foreign,
    unreadable,
  };

  void find_torn(std::uint32_t newest, Bytes retired);
  bool read_erased(std::uint32_t block, std::uint32_t from, std::uint32_t bytes, std::byte& value);
  bool read_head(std::uint32_t block);
  bool begins_as_header(std::uint32_t block);
  Status refuse(std::uint32_t block);

  flashlog::Device device_;
  std::vector<Use> uses_;
  std::vector<std::byte> memory_;
  std::string reason_;
  std::uint32_t of_log_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
