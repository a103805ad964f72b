#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

namespace opdump::tool {

/// What `opdump show` says about a tensor's elements.
struct TensorDigest {
  static constexpr std::size_t kBins = 24;

  bool are_numbers = false;  ///< false: nothing below is known
  std::uint64_t elements = 0;
  Statistics statistics{};

  /// From a second pass, if the spread was asked for.
  bool has_spread = false;
  double deviation = 0;  ///< standard deviation of the finite elements
  std::uint64_t zeros = 0;
  std::array<std::uint64_t, kBins>
      bins{};  ///< finite elements from the smallest to the largest, in equal steps

  std::vector<double> head{};  ///< the first elements

  // Of a quantised tensor: what its elements stand for.
  bool has_real = false;
  Statistics real{};
  bool has_limits = false;
  std::uint64_t at_least = 0;  ///< elements that are the least, or the greatest, of their dtype
  std::uint64_t at_most = 0;
};

/// Reads the tensor's bytes. `quant`: how it is quantised, or null; where that does not fit its shape,
/// nothing real is known. False, with `error`, when they cannot be read or are fewer than its shape needs.
bool digest_tensor(RecordFile& file, const RecordTensor& tensor, bool spread, std::size_t head,
                   const Quantisation* quant, TensorDigest& digest, std::string& error);

/// The bins as a line of blocks, as high as the fullest bin allows.
std::string histogram_text(const std::array<std::uint64_t, TensorDigest::kBins>& bins);

/// One tensor of an operator that a file of digests tells.
struct DigestedTensor {
  bool is_output = false;
  std::uint32_t index = 0;
  DType dtype = DType::undefined;
  std::uint32_t format = 0;
  std::uint64_t bytes = 0;
  std::vector<Dim> shape;
};

/// An operator of such a file.
struct DigestedOp {
  bool in_model = false;
  std::uint64_t model_id = 0;
  std::uint64_t task = 0;
  std::uint64_t stream = 0;
  std::string model;
  std::string type;
  std::string name;
  std::vector<DigestedTensor> tensors;
};

/// The operators of one file or of several, each once, in the order in which they are told first.
class DigestedOps {
 public:
  const DigestedOp& operator[](std::size_t op) const { return ops_[op]; }
  std::size_t size() const { return ops_.size(); }

 private:
  friend class DigestReader;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<DigestedOp> ops_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> known_;  ///< by their bytes
};

/// The digests of one operator in one of its runs.
struct DigestedRecord {
  std::size_t op = 0;  ///< index in the DigestedOps
  std::uint64_t load = 0;
  std::uint64_t step = 0;
  std::uint64_t ms = 0;  ///< since the moment that the file's name tells
  Bytes digests;         ///< of each tensor, without gaps
};

/// Whether a file of that name holds digests.
bool is_digest_name(std::string_view name);

/// Reads an untrusted file of digests, see opdump/format/digest_table.hpp. Refers to its bytes.
class DigestReader {
 public:
  /// Adds the file's operators to `ops`.
  DigestReader(Bytes file, DigestedOps& ops) : file_(file), ops_(ops) {}

  /// Gives the next record; false after the last one, or where the file is damaged; `error()` then says how.
  bool next(DigestedRecord& record);

  /// Of the record that was given last: "crc32c", "xxh3" or "md5", and its bytes.
  std::string_view algorithm() const;
  std::size_t digest_bytes() const { return digest_bytes_; }

  /// Bytes of records whose operator was not told: a log that went round has overwritten its name.
  std::uint64_t nameless_bytes() const { return nameless_bytes_; }
  std::uint64_t cut_bytes() const { return cut_bytes_; }  ///< at the end, of a piece that is not whole
  const std::string& error() const { return error_; }     ///< empty: nothing is wrong

 private:
  bool next_piece();
  bool read_op();
  bool read_op(DigestedOp& op);
  bool pass_op();
  bool pass_tensors(std::uint64_t count);
  bool read_tensor(DigestedTensor& tensor);
  bool fail(const std::string& reason);
  bool number(std::uint64_t& value);
  bool text(std::string_view& value);
  bool small(std::uint64_t most, std::uint64_t& value) { return number(value) && value <= most; }

  Bytes file_;
  DigestedOps& ops_;
  std::size_t at_ = 0;   ///< of what is read next
  std::size_t end_ = 0;  ///< of the piece
  bool has_step_ = false;
  std::uint8_t kind_ = 0;
  std::size_t digest_bytes_ = 0;
  DigestedRecord now_;
  std::vector<std::size_t> called_;  ///< by number: 1 more than the index of the operator; 0: none
  std::uint64_t nameless_bytes_ = 0;
  std::uint64_t cut_bytes_ = 0;
  std::string error_;
};

}  // namespace opdump::tool
