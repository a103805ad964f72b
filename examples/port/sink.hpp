#pragma once
// Where the dump goes: the part of the flash that it may use.

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "platform/flashlog/device.hpp"

// FILL IN 2: the geometry of the flash, and how it is read, programmed, erased and synced. Any status but
// Status::ok is a failure. This flash is the file flash.img.
inline constexpr opdump::flashlog::Geometry kFlashGeometry = {
    .block_bytes = 4096, .block_count = 16, .program_bytes = 4};

inline std::FILE* new_flash_image() {
  std::FILE* const image = std::fopen("flash.img", "w+b");
  for (std::uint32_t i = 0; image != nullptr && i < kFlashGeometry.block_bytes * kFlashGeometry.block_count;
       ++i)
    std::fputc(0xff, image);
  return image;
}

inline std::FILE* flash_image_at(std::uint32_t block, std::uint32_t offset) {
  static std::FILE* image = std::fopen("flash.img", "r+b");
  if (image == nullptr) image = new_flash_image();
  const std::uint32_t place = block * kFlashGeometry.block_bytes + offset;
  return image != nullptr && std::fseek(image, static_cast<long>(place), SEEK_SET) == 0 ? image : nullptr;
}

inline opdump::Status flash_read(void*, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
  std::FILE* const image = flash_image_at(block, offset);
  const bool good = image != nullptr && std::fread(to.data(), 1, to.size(), image) == to.size();
  return good ? opdump::Status::ok : opdump::Status::io_error;
}

inline opdump::Status flash_program(void*, std::uint32_t block, std::uint32_t offset, opdump::Bytes from) {
  std::FILE* const image = flash_image_at(block, offset);
  const bool good = image != nullptr && std::fwrite(from.data(), 1, from.size(), image) == from.size();
  return good ? opdump::Status::ok : opdump::Status::io_error;
}

inline opdump::Status flash_erase(void*, std::uint32_t block) {
  std::FILE* const image = flash_image_at(block, 0);
  if (image == nullptr) return opdump::Status::io_error;
  for (std::uint32_t i = 0; i < kFlashGeometry.block_bytes; ++i) std::fputc(0xff, image);
  return std::ferror(image) == 0 ? opdump::Status::ok : opdump::Status::io_error;
}

inline opdump::Status flash_sync(void*) {
  std::FILE* const image = flash_image_at(0, 0);
  return image != nullptr && std::fflush(image) == 0 ? opdump::Status::ok : opdump::Status::io_error;
}
// End of 2.

inline constexpr opdump::flashlog::Device kFlash = {.geometry = kFlashGeometry,
                                                    .read = flash_read,
                                                    .program = flash_program,
                                                    .erase = flash_erase,
                                                    .sync = flash_sync};
