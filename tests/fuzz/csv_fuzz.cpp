// Rows of a mapping.csv: a real name never leaves its directory.
#include <sys/mman.h>
#include <unistd.h>

#include "record_use.hpp"
#include "src/tool/read/dump/csv_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const int file = memfd_create("mapping", MFD_CLOEXEC);
  opdump::fuzz::require(file >= 0 && ftruncate(file, 0) == 0);
  opdump::fuzz::require(pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  opdump::tool::MappingFile mapping;
  mapping.read("/proc/self/fd/" + std::to_string(file));
  for (const auto& [name, real] : mapping.rows()) {
    opdump::fuzz::require(!name.empty() && !real.empty() && real.find('/') == std::string::npos &&
                          real.find('\0') == std::string::npos);
  }
  return 0;
}
