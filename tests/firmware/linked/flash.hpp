#pragma once
// A flash part that memory stands for, and the log in it.

#include <cstddef>
#include <cstring>

#include "platform/flashlog/flash_log.hpp"

namespace firmware {

using opdump::Bytes;
using opdump::MutableBytes;
using opdump::Status;

constexpr std::uint32_t kBlockBytes = 4096, kBlocks = 8, kPageBytes = 256;

inline std::byte* part(std::uint32_t block, std::uint32_t offset) {
  return reinterpret_cast<std::byte*>(0x21000000 + block * kBlockBytes + offset);
}

Status read_flash(void*, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
  std::memcpy(to.data(), part(block, offset), to.size());
  return Status::ok;
}

Status program_flash(void*, std::uint32_t block, std::uint32_t offset, Bytes from) {
  std::memcpy(part(block, offset), from.data(), from.size());
  return Status::ok;
}

Status erase_flash(void*, std::uint32_t block) {
  std::memset(part(block, 0), 0xff, kBlockBytes);
  return Status::ok;
}

Status sync_flash(void*) {
  return Status::ok;
}

constexpr opdump::flashlog::Device kFlash = {
    .geometry = {.block_bytes = kBlockBytes, .block_count = kBlocks, .bits_only_clear = true},
    .read = read_flash,
    .program = program_flash,
    .erase = erase_flash,
    .sync = sync_flash};
std::byte page[opdump::flashlog::FlashLog::kPrefixBytes + kPageBytes];
opdump::flashlog::FlashLog flash_log(kFlash, page, {.policy = opdump::flashlog::Policy::overwrite_oldest});

}  // namespace firmware
