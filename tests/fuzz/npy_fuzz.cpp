// Headers of .npy files.
#include "record_use.hpp"
#include "src/tool/read/dump/npy_array.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const opdump::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  opdump::tool::NpyFile npy;
  std::string reason;
  if (!opdump::tool::parse_npy(file, npy, reason)) {
    opdump::fuzz::require(!reason.empty());
    return 0;
  }
  opdump::fuzz::require(npy.data_offset <= size && npy.form.item_bytes != 0 &&
                        npy.shape.size() <= opdump::kMaxRank);
  return 0;
}
