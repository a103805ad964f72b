#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/read/nano_reader.hpp"
#include "opdump/read/proto_reader.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

/// Gives a tensor of a nano record the dtype and shape that it has, where the record has it as so many bytes
/// of uint8, because the vendor's reader refuses a file of other dtypes: those of the original, or undefined
/// where the record does not tell them. `dtype_code` stays.
void take_true_dtype(RecordTensor& tensor);

/// The tensors of one dump record of any format.
class RecordTensors {
 public:
  explicit RecordTensors(const NanoReader& reader) : reader_(reader) {}
  explicit RecordTensors(const ProtoReader& reader) : reader_(reader) {}
  explicit RecordTensors(const RecordTensor& only) : reader_(std::optional(only)) {}

  /// Gives the next tensor, inputs first; false after the last one.
  bool next(RecordTensor& tensor) {
    if (NanoReader* const nano = std::get_if<NanoReader>(&reader_)) {
      if (!nano->next(tensor)) return false;
      take_true_dtype(tensor);
      return true;
    }
    if (ProtoReader* const proto = std::get_if<ProtoReader>(&reader_)) return proto->next(tensor);
    std::optional<RecordTensor>& only = std::get<2>(reader_);
    if (!only) return false;
    tensor = *only;
    only.reset();
    return true;
  }

  /// Gives the next buffer or workspace, after the last tensor; only a protobuf record has any.
  bool next(RecordBlob& blob) {
    ProtoReader* const proto = std::get_if<ProtoReader>(&reader_);
    return proto != nullptr && proto->next(blob);
  }

 private:
  std::variant<NanoReader, ProtoReader, std::optional<RecordTensor>> reader_;
};

/// What the vendor's reader calls it.
inline std::string blob_word(const RecordBlob& blob) {
  if (blob.kind == RecordBlob::Kind::workspace) return "space";
  return blob.type == 0 ? "l1buffer" : "buffer" + std::to_string(blob.type);
}

/// One untrusted dump record: a nano, protobuf or NumPy file. Large files are read in blocks, not through a
/// map: kernels map as much as the page cache holds in one piece, so memory would grow with the file. One
/// object serves many files, one after another.
class RecordFile {
 public:
  enum class Opened { ok, not_a_record, failed };
  enum class Kind { nano, proto, array };

  /// Opens `path` and checks its head to the end. Unless `ok`, `error()` says what is wrong.
  Opened open(const std::string& path);

  /// The same for a NumPy file of one tensor; `named` has what the file's name says about the tensor.
  Opened open_array(const std::string& path, const RecordTensor& named);

  /// The same for a file that holds the bytes of the tensor `named` alone. `padded`: it may have more of them
  /// than the shape tells, and then counts as one without a shape.
  Opened open_bytes(const std::string& path, const RecordTensor& named, bool padded);

  /// Gives the tensors from the first one on; they were checked by `open`.
  RecordTensors tensors() const;

  Kind kind() const { return kind_; }
  std::uint64_t bytes() const { return held().size(); }
  std::uint32_t version() const { return version_; }

  /// The operator's name in a protobuf record, empty for nano records, which have none.
  std::string_view op_name() const { return op_name_; }

  /// Copies bytes of a tensor or blob; false, with `error()`, when they cannot be read.
  bool read(std::uint64_t offset, MutableBytes to);

  /// Calls `use(Bytes)` with the `count` bytes of the file from `offset` on, in order, in blocks whose size
  /// is a multiple of 16, except the last one. Ends early when `use` returns false. False, with `error()`,
  /// when the bytes cannot be read.
  template <class Use>
  bool for_each_block(std::uint64_t offset, std::uint64_t count, Use use) {
    while (count != 0) {
      const Bytes block = next_block(offset, count);
      if (block.empty()) return false;
      if (!use(block)) return true;
      offset += block.size();
      count -= block.size();
    }
    return true;
  }

  /// "FILE: at byte N: reason".
  const std::string& error() const { return error_; }
  std::string error_at(std::uint64_t offset, const std::string& reason) const;

 private:
  static constexpr std::size_t kBlockBytes = 256 * 1024;
  static constexpr std::uint64_t kMaxHeadBytes = 64 * 1024 * 1024;

  Opened fail(Opened what, std::uint64_t offset, const std::string& reason);
  Opened read_head();
  /// The file, or what had to be rearranged of it.
  Bytes held() const { return plain_.empty() ? file_.bytes() : Bytes(plain_); }
  Bytes next_block(std::uint64_t offset, std::uint64_t count);
  Opened open_file(const std::string& path);
  Opened open_nano();
  Opened open_proto();

  std::string path_;
  std::string error_;
  MappedFile file_;
  std::vector<std::byte>
      start_;  ///< the first bytes of a file that is not copied as a whole, at least its head
  std::vector<std::byte> block_;
  std::vector<std::byte> plain_;  ///< elements that are not as they lie in the file
  Bytes head_{};                  ///< the first bytes, in `start_` or in the copied file
  Kind kind_ = Kind::nano;
  std::uint32_t version_ = 0;
  std::string_view op_name_{};
  RecordTensor array_;
};

}  // namespace opdump::tool
