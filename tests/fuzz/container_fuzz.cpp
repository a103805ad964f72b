// Arrays of other programs: each lies within its file, with as many bytes as dtype and shape ask for.
#include "record_use.hpp"
#include "src/tool/read/dump/array_container.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const opdump::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  for (const char* const name : {"x.npz", "x.safetensors", "x.pb"}) {
    std::vector<opdump::tool::ContainedArray> arrays;
    std::string reason;
    const bool good = opdump::tool::read_container(name, file, arrays, reason);
    opdump::fuzz::require(good || !reason.empty());
    for (const opdump::tool::ContainedArray& array : arrays)
      opdump::fuzz::require(array.offset <= size && array.bytes <= size - array.offset);
  }
  return 0;
}
