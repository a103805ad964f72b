#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "opdump/opdump.h"

namespace opdump::tests {

/// A NOR flash part of 16 blocks for the C API.
struct Nor {
  std::vector<unsigned char> cells = std::vector<unsigned char>(16 * 4096, 0xff);
  opdump_status answer = OPDUMP_OK;
  int protections = 0;
  int erases = 0;

  unsigned char* at(std::uint32_t block, std::uint32_t offset) {
    return cells.data() + std::size_t{block} * 4096 + offset;
  }

  opdump_flash flash() {
    opdump_flash flash = {};
    flash.struct_bytes = sizeof flash;
    flash.context = this;
    flash.block_bytes = 4096;
    flash.block_count = 16;
    flash.program_bytes = 4;
    flash.erased = 0xff;
    flash.bits_only_clear = 1;
    flash.prepared_blocks = 2;
    flash.read = [](void* self, std::uint32_t block, std::uint32_t offset, void* to, std::size_t bytes) {
      std::memcpy(to, static_cast<Nor*>(self)->at(block, offset), bytes);
      return opdump_status{OPDUMP_OK};
    };
    flash.program = [](void* self, std::uint32_t block, std::uint32_t offset, const void* from,
                       std::size_t bytes) {
      Nor& nor = *static_cast<Nor*>(self);
      for (std::size_t i = 0; i < bytes; ++i)
        nor.at(block, offset)[i] &= static_cast<const unsigned char*>(from)[i];
      return nor.answer;
    };
    flash.erase = [](void* self, std::uint32_t block) {
      std::memset(static_cast<Nor*>(self)->at(block, 0), 0xff, 4096);
      ++static_cast<Nor*>(self)->erases;
      return static_cast<Nor*>(self)->answer;
    };
    flash.sync = [](void*) { return opdump_status{OPDUMP_OK}; };
    flash.protect = [](void* self, int on) { static_cast<Nor*>(self)->protections += on != 0 ? -1 : 1; };
    return flash;
  }
};

}  // namespace opdump::tests
