#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/format/relayout.hpp"
#include "opdump/read/record_tensor.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/npy_array.hpp"
#include "src/tool/read/dump/record_file.hpp"

namespace opdump::tool {

/// The 32 hexadecimal digits of the version 3 UUID of `name` in the DNS namespace (RFC 4122), without dashes.
std::string uuid3_dns(std::string_view name);

/// The kinds of file that tensors become.
enum class ArrayType { npy, bin, msnpy };

struct ArrayName {
  ArrayType type = ArrayType::npy;
  bool restored = false;       ///< a format was asked for, so the name holds the dims
  Format format = Format::nd;  ///< of the array
  std::string_view op_name;    ///< the record's own; empty: it has none
  bool is_nano = true;
};

/// The file name for a tensor of the record `file_name`, as msaccucmp makes it; empty, with `reason`, when
/// the name needs a format that has no name.
std::string array_name(const std::string& file_name, const RecordTensor& tensor, const NpyArray& array,
                       const ArrayName& wanted, std::string& reason);

/// "input.0", "output.3".
std::string role_text(const RecordTensor& tensor);

/// Writes tensors as arrays. Holds a fixed amount of memory, for arrays of any size.
class ArrayWriter {
 public:
  /// Takes up to twice `memory_bytes`, which are at least 64 KiB. `progress` counts bytes of the source.
  ArrayWriter(std::size_t memory_bytes, Progress& progress)
      : memory_bytes_(memory_bytes), progress_(progress) {}

  /// Each writes `header` and one array to `out`, in elements of the array. On false `reason` says why,
  /// unless the call was interrupted.

  /// In the order of the tensor in memory.
  bool write(RecordFile& file, const RecordTensor& tensor, const NpyArray& array, const std::string& header,
             OutputFile& out, std::string& reason);

  /// Rearranged.
  bool write(RecordFile& file, const RecordTensor& tensor, const NpyArray& array, const Relayout& relayout,
             const std::string& header, OutputFile& out, std::string& reason);

  /// Writes bytes of the file unchanged.
  bool write(RecordFile& file, std::uint64_t offset, std::uint64_t count, OutputFile& out,
             std::string& reason);

 private:
  bool fetch(RecordFile& file, const RecordTensor& tensor, std::uint64_t offset, std::uint64_t count,
             std::byte* to);
  bool fetch_items(RecordFile& file, const RecordTensor& tensor, const NpyArray& array, std::uint64_t first,
                   std::uint64_t count, std::byte* to);

  const std::size_t memory_bytes_;
  Progress& progress_;
  std::vector<std::byte> items_;       ///< converted items, or items of the result
  std::vector<std::byte> box_;         ///< of the source
  std::vector<std::byte> whole_;       ///< a whole tensor, if it is small
  std::size_t whole_bytes_ = 0;        ///< size of `whole_`; 0: the tensor is read in pieces
  std::vector<std::byte> source_;      ///< items before they are converted
  std::vector<std::byte> items_lead_;  ///< converted items, with some bytes before the first
};

}  // namespace opdump::tool
