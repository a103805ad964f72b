// Cortex-A9: parallel NOR flash, 64 MiB with the AMD command set.

#include "../board.hpp"
#include "../flash/amd_nor.hpp"

namespace board {

opdump::flashlog::Device flash() {
  static firmware::AmdNor nor(0xe2000000);
  return nor.device(512);
}

}  // namespace board
