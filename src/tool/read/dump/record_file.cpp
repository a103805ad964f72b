#include "src/tool/read/dump/record_file.hpp"

#include "src/tool/read/dump/npy_array.hpp"

namespace opdump::tool {
namespace {

/// Whether a tensor of which its record tells no code is of uint4, for which none is given out; float8 of the
/// fnuz kinds has none either, and as many bytes as uint8, as whatever comes from a writer that tells none.
bool is_uint4(std::uint64_t elements, std::uint64_t bytes) {
  return elements > 1 && bytes == (elements + 1) / 2;
}

}  // namespace

void take_true_dtype(RecordTensor& tensor) {
  const bool may_be_bytes = tensor.dtype == DType::uint8 && tensor.has_shape && tensor.has_original_shape &&
                            tensor.rank == 1 && tensor.dims[0] == tensor.bytes;
  const Result<std::uint64_t> count = element_count(tensor.original_shape());
  if (!may_be_bytes || !count.ok() || count.value() == 0) return;
  const bool has_no_code = tensor.is_output && tensor.original_dtype_code == -1;
  const bool is_small = tensor.bytes < count.value();
  DType dtype = tensor.original_dtype;
  if (has_no_code) {
    if (!is_uint4(count.value(), tensor.bytes)) return;
    dtype = DType::uint4;
  } else if (!tensor.is_output) {
    if (!is_small) return;  // it may well be uint8
  } else if (info(dtype).bits == 0 || dtype == DType::undefined ||
             (info(dtype).nano_readable && dtype != DType::uint1)) {
    return;
  }
  const Result<std::uint64_t> packed = packed_bytes(dtype, tensor.original_shape());
  if (dtype != DType::undefined && (!packed.ok() || packed.value() > tensor.bytes)) return;
  tensor.dtype = dtype;
  tensor.rank = tensor.original_rank;
  std::copy_n(tensor.original_dims, tensor.rank, tensor.dims);
}

RecordFile::Opened RecordFile::fail(Opened what, std::uint64_t offset, const std::string& reason) {
  error_ = error_at(offset, reason);
  return what;
}

std::string RecordFile::error_at(std::uint64_t offset, const std::string& reason) const {
  return path_ + ": at byte " + std::to_string(offset) + ": " + reason;
}

RecordFile::Opened RecordFile::open_file(const std::string& path) {
  path_ = path;
  error_.clear();
  version_ = 0;
  op_name_ = {};
  plain_.clear();
  if (file_.open(path)) return Opened::ok;
  error_ = file_.error();
  return Opened::failed;
}

RecordFile::Opened RecordFile::open(const std::string& path) {
  if (const Opened file = open_file(path); file != Opened::ok) return file;
  if (const Opened head = read_head(); head != Opened::ok) return head;
  return kind_ == Kind::nano ? open_nano() : open_proto();
}

bool RecordFile::read(std::uint64_t offset, MutableBytes to) {
  if (bytes() <= MappedFile::kCopiedBytes || !plain_.empty()) {
    copy_bytes(to.data(), held().subspan(static_cast<std::size_t>(offset), to.size()));
    return true;
  }
  if (file_.read_at(offset, to)) return true;
  error_ = file_.error();
  return false;
}

Bytes RecordFile::next_block(std::uint64_t offset, std::uint64_t count) {
  const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(count, kBlockBytes));
  if (bytes() <= MappedFile::kCopiedBytes || !plain_.empty())
    return held().subspan(static_cast<std::size_t>(offset), now);
  if (block_.empty()) block_.resize(kBlockBytes);
  const MutableBytes block = MutableBytes(block_).first(now);
  return read(offset, block) ? Bytes(block) : Bytes();
}

/// Finds out the kind, and makes `head_` long enough for what the file itself says of its head.
RecordFile::Opened RecordFile::read_head() {
  head_ = file_.bytes();
  if (bytes() > MappedFile::kCopiedBytes) {
    if (start_.empty()) start_.resize(kBlockBytes);
    const MutableBytes start = MutableBytes(start_).first(kBlockBytes);
    if (!read(0, start)) return Opened::failed;
    head_ = start;
  }
  kind_ = is_nano(head_) ? Kind::nano : Kind::proto;
  if (head_.size() == bytes()) return Opened::ok;
  const std::uint64_t length = load_little_endian<std::uint64_t>(head_.data());
  if (length > bytes() - sizeof length) return Opened::ok;  // the reader says so
  const std::uint64_t needed = sizeof length + length;
  if (needed > kMaxHeadBytes) {
    return kind_ == Kind::nano
               ? fail(Opened::failed, 0, "the head claims to have more than 64 MiB")
               : fail(Opened::not_a_record, 0, "not a dump record: a head of more than 64 MiB");
  }
  if (needed <= head_.size()) return Opened::ok;
  if (start_.size() < needed) start_.resize(static_cast<std::size_t>(needed));
  const MutableBytes start = MutableBytes(start_).first(static_cast<std::size_t>(needed));
  if (!read(0, start)) return Opened::failed;
  head_ = start;
  return Opened::ok;
}

RecordFile::Opened RecordFile::open_array(const std::string& path, const RecordTensor& named) {
  kind_ = Kind::array;
  if (const Opened file = open_file(path); file != Opened::ok) return file;
  NpyFile npy;
  std::string reason;
  const std::size_t head_bytes = std::min(file_.bytes().size(), kMostNpyHeadBytes);
  if (!parse_npy(file_.bytes().first(head_bytes), npy, reason)) return fail(Opened::failed, 0, reason);
  if (bytes() - npy.data_offset != npy.data_bytes)
    return fail(Opened::failed, npy.data_offset,
                std::to_string(bytes() - npy.data_offset) + " bytes, but shape and dtype make " +
                    std::to_string(npy.data_bytes));
  if (npy.shape.size() > kMaxRank)
    return fail(Opened::failed, 0, "more than " + std::to_string(kMaxRank) + " dims");
  if (!npy.form.is_plain() && !plain_elements(held(), npy.data_offset, npy.form, npy.shape, plain_, reason))
    return fail(Opened::failed, npy.data_offset, reason);
  array_ = named;
  array_.dtype = npy.dtype;
  // What numpy has no dtype for is in its files as bytes.
  if (npy.dtype == DType::uint8 && !info(named.original_dtype).nano_readable &&
      info(named.original_dtype).bits == 8)
    array_.dtype = named.original_dtype;
  if (npy.dtype == DType::undefined && info(named.original_dtype).bits == npy.form.item_bytes * 8U)
    array_.dtype = named.original_dtype;
  array_.dtype_known = array_.dtype != DType::undefined;
  array_.bytes = npy.data_bytes;
  array_.data_offset = plain_.empty() ? npy.data_offset : 0;
  array_.has_shape = true;
  array_.rank = static_cast<std::uint8_t>(npy.shape.size());
  std::copy(npy.shape.begin(), npy.shape.end(), array_.dims);
  return Opened::ok;
}

RecordFile::Opened RecordFile::open_bytes(const std::string& path, const RecordTensor& named, bool padded) {
  kind_ = Kind::array;
  if (const Opened file = open_file(path); file != Opened::ok) return file;
  array_ = named;
  array_.bytes = bytes();
  array_.data_offset = 0;
  const std::uint64_t bits = info(named.dtype).bits;
  const Result<std::uint64_t> count = element_count(named.shape());
  if (named.dtype == DType::undefined || bits == 0) {
    if (bytes() != 0 || (count.ok() && count.value() == 0)) return Opened::ok;
    return fail(Opened::failed, 0, "no bytes, but the shape in its name has elements");
  }
  if (!count.ok() || count.value() > UINT64_MAX / bits)
    return fail(Opened::failed, 0, "the shape in its name has too many elements");
  const std::uint64_t needed = count.value() / 8 * bits + (count.value() % 8 * bits + 7) / 8;
  if (bytes() == needed) return Opened::ok;
  if (!padded || bytes() < needed)
    return fail(
        Opened::failed, 0,
        std::to_string(bytes()) + " bytes, but shape and dtype in its name make " + std::to_string(needed));
  array_.has_shape = false;
  return Opened::ok;
}

RecordFile::Opened RecordFile::open_nano() {
  NanoReader reader;
  const Status opened = reader.open(head_, bytes());
  if (opened != Status::ok) return fail(Opened::failed, 0, std::string(to_string(opened)) + ", in the head");
  version_ = reader.version();
  for (RecordTensor tensor; reader.next(tensor);) {
  }
  if (reader.status() != Status::ok)
    return fail(Opened::failed, reader.error_offset(), std::string(to_string(reader.status())));
  return Opened::ok;
}

RecordFile::Opened RecordFile::open_proto() {
  ProtoReader reader;
  const Status opened = reader.open(head_, bytes());
  if (opened != Status::ok) {
    // Any bytes may look like the start of such a record, so its errors count only when it has a whole head.
    return fail(Opened::not_a_record, std::min<std::uint64_t>(bytes(), 8),
                "not a dump record: neither nano's magic number nor the message of a protobuf record");
  }
  op_name_ = reader.op_name();
  for (RecordTensor tensor; reader.next(tensor);) {
  }
  for (RecordBlob blob; reader.next(blob);) {
  }
  if (reader.status() != Status::ok)
    return fail(Opened::failed, reader.error_offset(), std::string(to_string(reader.status())));
  return Opened::ok;
}

RecordTensors RecordFile::tensors() const {
  // Both went well in `open`, with the same bytes.
  if (kind_ == Kind::array) return RecordTensors(array_);
  if (kind_ == Kind::nano) {
    NanoReader reader;
    static_cast<void>(reader.open(head_, bytes()));
    return RecordTensors(reader);
  }
  ProtoReader reader;
  static_cast<void>(reader.open(head_, bytes()));
  return RecordTensors(reader);
}

}  // namespace opdump::tool
