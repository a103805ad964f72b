// Cortex-M55; the DDR, which the emulator keeps in a file, stands for a flash part.

#include "../board.hpp"
#include "../flash/memory_nor.hpp"

namespace board {

opdump::flashlog::Device flash() {
  static firmware::MemoryNor nor(reinterpret_cast<std::byte*>(0x60000000));
  return nor.device(64 * 1024, 256);
}

}  // namespace board
