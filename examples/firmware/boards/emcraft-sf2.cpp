// Cortex-M3, SmartFusion2: serial NOR flash of 16 MiB.

#include "../board.hpp"
#include "../flash/spi_nor.hpp"

namespace board {

opdump::flashlog::Device flash() {
  static firmware::SpiNor nor(0x40001000);
  return nor.device(256);
}

}  // namespace board
