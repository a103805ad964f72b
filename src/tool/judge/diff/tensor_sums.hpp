#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/diff/run_table.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

/// Whether a dump lacks bytes of the elements that the shape of a tensor counts.
bool lacks_elements(DType dtype, Shape shape, std::uint64_t data_bytes);

/// The digest of no bytes.
RunDigest sum_of_nothing(std::string_view algorithm);

/// Computes digests of tensors whose bytes a dump has, as a device would have.
class TensorSums {
 public:
  /// `algorithm`: "crc32c", "xxh3" or "md5".
  explicit TensorSums(std::string_view algorithm) : algorithm_(algorithm) {}

  /// The digest of a tensor's elements, without padding. False, with `error()`, when they cannot be read.
  bool of(const DumpTensor& tensor, const std::string& path, RunDigest& digest);

  const std::string& error() const { return error_; }

 private:
  template <class Sum>
  bool add(Sum sum, const DumpTensor& tensor, std::uint64_t bytes, RunDigest& digest);

  std::string_view algorithm_;
  std::string path_;
  MappedFile file_;
  std::string error_;
};

}  // namespace opdump::tool
