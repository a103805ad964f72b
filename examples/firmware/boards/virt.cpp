// Cortex-A15: the second bank of parallel NOR flash, 64 MiB with the Intel command set.

#include "../board.hpp"
#include "../flash/cfi_nor.hpp"

namespace board {

opdump::flashlog::Device flash() {
  static firmware::CfiNor nor(0x04000000);
  return nor.device(256);
}

}  // namespace board
