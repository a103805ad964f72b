#include "src/tool/read/dump/array_form.hpp"

#include <algorithm>
#include <limits>

#if OPDUMP_TOOL_ZLIB
#include <zlib.h>
#endif

#include "src/tool/read/card/onnx_tensor.hpp"

namespace opdump::tool {
namespace {

bool refuse(std::string& reason, const char* text) {
  reason = text;
  return false;
}

/// From the order in which the first dim varies fastest.
std::vector<std::byte> in_c_order(const std::vector<std::byte>& from, std::size_t item_bytes, Shape shape) {
  std::vector<std::byte> to(from.size());
  std::vector<Dim> place(shape.size());
  std::size_t source = 0;
  for (std::size_t at = 0; at + item_bytes <= to.size(); at += item_bytes) {
    std::copy_n(from.data() + source * item_bytes, item_bytes, to.data() + at);
    std::size_t stride = from.size() / item_bytes;
    for (std::size_t dim = shape.size(); dim-- != 0;) {
      stride /= static_cast<std::size_t>(shape[dim]);
      source += stride;
      if (++place[dim] != shape[dim]) break;
      source -= stride * static_cast<std::size_t>(shape[dim]);
      place[dim] = 0;
    }
  }
  return to;
}

}  // namespace

#if OPDUMP_TOOL_ZLIB
bool inflate_bytes(Bytes stream, std::uint64_t count, std::vector<std::byte>& to, std::string& reason) {
  constexpr std::uint64_t kMostRatio = 1032, kSlack = 1024;  // no stream holds more
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  constexpr int kRaw = -15;
  to.resize(static_cast<std::size_t>(std::min(count, stream.size() * kMostRatio + kSlack)));
  z_stream state = {};
  if (inflateInit2(&state, kRaw) != Z_OK) return refuse(reason, "zlib has no memory");
  int status = Z_OK;
  std::size_t taken = 0, done = 0;
  while (status == Z_OK && done < to.size()) {
    const std::size_t in = std::min(kMost, stream.size() - taken), out = std::min(kMost, to.size() - done);
    // zlib does not write there.
    state.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stream.data() + taken));
    state.avail_in = static_cast<uInt>(in);
    state.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    state.avail_out = static_cast<uInt>(out);
    status = inflate(&state, Z_NO_FLUSH);
    taken += in - state.avail_in;
    done += out - state.avail_out;
  }
  inflateEnd(&state);
  to.resize(done);
  return status == Z_OK || status == Z_STREAM_END || refuse(reason, "its compressed bytes are damaged");
}
#else
bool inflate_bytes(Bytes, std::uint64_t, std::vector<std::byte>&, std::string& reason) {
  return refuse(reason,
                "it is compressed, and this opdump was built without zlib: install zlib and build opdump "
                "anew, or write the file by numpy.savez");
}
#endif

bool plain_elements(Bytes file, std::uint64_t offset, const ArrayForm& form, Shape shape,
                    std::vector<std::byte>& to, std::string& reason) {
  if (form.is_proto) {
    OnnxTensor tensor;
    if (!read_onnx_tensor(file, tensor)) return refuse(reason, "is no ONNX TensorProto any more");
    return onnx_elements(tensor, to, reason);
  }
  constexpr const char* kShorter = "it ends before its last element";
  const Result<std::uint64_t> count = element_count(shape);
  const std::uint64_t bytes = count.ok() ? count.value() * form.item_bytes : 0;
  const std::uint64_t stored = form.deflated != 0 ? form.deflated : bytes;
  if (offset > file.size() || stored > file.size() - offset) return refuse(reason, kShorter);
  const Bytes from = file.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(stored));
  if (form.deflated == 0) {
    to.assign(from.begin(), from.end());
  } else {
    if (!inflate_bytes(from, form.skipped + bytes, to, reason)) return false;
    if (to.size() != form.skipped + bytes) return refuse(reason, kShorter);
    to.erase(to.begin(), to.end() - static_cast<std::ptrdiff_t>(bytes));
  }
  if (form.swapped_bytes != 0) {
    for (std::size_t at = 0; at != to.size(); at += form.swapped_bytes)
      std::reverse(to.data() + at, to.data() + at + form.swapped_bytes);
  }
  if (form.fortran_order && bytes != 0) to = in_c_order(to, form.item_bytes, shape);
  return true;
}

}  // namespace opdump::tool
