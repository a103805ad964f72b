// A host: the flash is the file flash.img of the working directory, 16 MiB.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../board.hpp"
#include "../flash/memory_nor.hpp"

namespace board {

opdump::flashlog::Device flash() {
  constexpr std::uint32_t kBlockBytes = 64 * 1024;
  constexpr std::uint32_t kBlockCount = 256;
  constexpr std::size_t kBytes = std::size_t{kBlockBytes} * kBlockCount;
  const int file = open("flash.img", O_RDWR);
  void* const memory =
      file < 0 ? MAP_FAILED : mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    std::perror("flash.img");
    std::exit(1);
  }
  static firmware::MemoryNor nor(static_cast<std::byte*>(memory));
  return nor.device(kBlockBytes, kBlockCount);
}

}  // namespace board
