#include "src/tool/judge/diff/tensor_sums.hpp"

#include <algorithm>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/digest.hpp"
#include "opdump/base/xxh3.hpp"
#include "opdump/types/dtype.hpp"

namespace opdump::tool {
namespace {

/// Of all bytes, where the dtype does not tell how many are elements.
std::uint64_t element_bytes(const DumpTensor& tensor) {
  const std::uint64_t bits = info(tensor.dtype).bits;
  const Result<std::uint64_t> elements = element_count(tensor.shape);
  if (bits == 0 || !elements.ok() || elements.value() > UINT64_MAX / 8 / bits) return tensor.data_bytes;
  return std::min(tensor.data_bytes, (elements.value() * bits + 7) / 8);
}

template <class Sum>
void finish(Sum& sum, RunDigest& digest) {
  std::byte result[Sum::kBytes];
  sum.finish(result);
  std::copy(std::begin(result), std::end(result), digest.bytes.begin());
  digest.state = RunDigest::State::there;
}

}  // namespace

bool lacks_elements(DType dtype, Shape shape, std::uint64_t data_bytes) {
  const std::uint64_t bits = info(dtype).bits;
  const Result<std::uint64_t> elements = element_count(shape);
  if (!elements.ok()) return true;
  if (bits == 0) return data_bytes == 0 && elements.value() != 0;
  return elements.value() > UINT64_MAX / 8 / bits || (elements.value() * bits + 7) / 8 > data_bytes;
}

RunDigest sum_of_nothing(std::string_view algorithm) {
  RunDigest digest;
  Crc32c crc32c(crc32c_kernel());
  Md5 md5;
  Xxh3 xxh3;
  if (algorithm == "crc32c") {
    finish(crc32c, digest);
  } else if (algorithm == "md5") {
    finish(md5, digest);
  } else {
    finish(xxh3, digest);
  }
  return digest;
}

template <class Sum>
bool TensorSums::add(Sum sum, const DumpTensor& tensor, std::uint64_t bytes, RunDigest& digest) {
  constexpr std::uint64_t kBlock = 1024 * 1024;
  const Bytes file = file_.bytes();
  if (!tensor.form.is_plain()) {
    std::vector<std::byte> elements;
    if (!plain_elements(file, tensor.data_offset, tensor.form, tensor.shape, elements, error_)) {
      error_ = path_ + ": " + error_;
      return false;
    }
    sum.add(elements);
    finish(sum, digest);
    return true;
  }
  if (tensor.data_offset > file.size() || bytes > file.size() - tensor.data_offset) {
    error_ = path_ + ": the file ends inside a tensor";
    return false;
  }
  for (std::uint64_t at = 0; at < bytes; at += kBlock) {
    const std::uint64_t now = std::min(kBlock, bytes - at);
    sum.add(file.subspan(static_cast<std::size_t>(tensor.data_offset + at), static_cast<std::size_t>(now)));
    file_.drop(tensor.data_offset + at, now);
  }
  if (file_.cut_short()) {
    error_ = file_.error();
    return false;
  }
  finish(sum, digest);
  return true;
}

bool TensorSums::of(const DumpTensor& tensor, const std::string& path, RunDigest& digest) {
  if (path != path_) {
    path_.clear();
    if (!file_.open(path)) {
      error_ = file_.error();
      return false;
    }
    path_ = path;
  }
  const std::uint64_t bytes = element_bytes(tensor);
  if (algorithm_ == "crc32c") return add(Crc32c(crc32c_kernel()), tensor, bytes, digest);
  if (algorithm_ == "md5") return add(Md5(), tensor, bytes, digest);
  return add(Xxh3(), tensor, bytes, digest);
}

}  // namespace opdump::tool
