#pragma once
#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/support/flash_emulator.hpp"

namespace opdump::tests {

/// Times of a serial NOR flash, typical of data sheets.
struct NorTimes {
  double read_us = 1;            ///< each read
  double read_byte_us = 0.02;    ///< 50 MB/s
  double program_us = 10;        ///< each program
  double program_byte_us = 2.7;  ///< 0.7 ms per 256 bytes
  double erase_us = 150'000;     ///< 64 KiB, in proportion
};

struct FlashCosts {
  double write_amplification = 0;  ///< programmed bytes by bytes of the objects
  double erase_amplification =
      0;              ///< bytes of the blocks that were filled, as often as erased, by programmed bytes
  double of_raw = 0;  ///< throughput by that of programming the objects' bytes alone, page by page
  double mount_ms = 0;
};

inline double modelled_us(const FlashEmulator& flash, const NorTimes& times) {
  const double erase_us = times.erase_us * flash.geometry().block_bytes / 65536;
  return static_cast<double>(flash.reads) * times.read_us +
         static_cast<double>(flash.read_bytes) * times.read_byte_us +
         static_cast<double>(flash.programs) * times.program_us +
         static_cast<double>(flash.programmed_bytes) * times.program_byte_us +
         static_cast<double>(flash.erases) * erase_us;
}

/// Writes records of `bytes` bytes over the part twice, as a model's run would name them, and mounts it again.
inline FlashCosts measure_flash_costs(const flashlog::Geometry& part, std::uint32_t page_bytes,
                                      std::uint32_t bytes, bool sync_each) {
  using flashlog::FlashLog;
  constexpr NorTimes kTimes;
  FlashEmulator flash(part, page_bytes);
  const flashlog::Device device = flash.device();
  std::vector<std::byte> memory(FlashLog::kPrefixBytes + page_bytes);
  const std::string body(bytes, 'x');
  const Bytes data = as_bytes(body);
  const std::uint64_t records = 2ull * part.block_bytes * part.block_count / (bytes + 100);
  FlashCosts costs;
  {
    FlashLog log(device, memory, {});
    if (log.mount() != Status::ok) return costs;
    for (std::uint64_t i = 0; i < records; ++i) {
      // Ten operators per step.
      const std::string directory = "20240102030405/0/digits/1/" + std::to_string(i / 10);
      const std::string file =
          "Conv2D.conv" + std::to_string(i % 10) + ".0.0." + std::to_string(1704164645000000 + i);
      const Result<ObjectId> object = log.begin({{}, directory, file});
      if (!object.ok() || log.append(object.value(), {&data, 1}) != Status::ok ||
          log.commit(object.value()) != Status::ok) {
        return costs;
      }
      if (sync_each && log.sync() != Status::ok) return costs;
      while (log.prepare().value()) {
      }
    }
    if (log.sync() != Status::ok) return costs;
  }
  const double payload = static_cast<double>(records) * bytes;
  const double programmed = static_cast<double>(flash.programmed_bytes);
  costs.write_amplification = programmed / payload;
  // Not yet filled are the block in use and the one prepared.
  costs.erase_amplification = static_cast<double>(flash.erases - 2) * part.block_bytes / programmed;
  const double raw_us = payload * kTimes.program_byte_us + payload / page_bytes * kTimes.program_us +
                        payload / 65536 * kTimes.erase_us;
  costs.of_raw = raw_us / modelled_us(flash, kTimes);

  const double before_us = modelled_us(flash, kTimes);
  FlashLog log(device, memory, {});
  if (log.mount() != Status::ok) return costs;
  costs.mount_ms = (modelled_us(flash, kTimes) - before_us) / 1000;
  return costs;
}

}  // namespace opdump::tests
