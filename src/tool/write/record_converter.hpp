#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/npy_array.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/write/array_writer.hpp"

namespace opdump::tool {

/// How a safetensors file holds a tensor.
struct StoredArray {
  DType dtype = DType::undefined;  ///< of what is stored
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;            ///< of what is stored
  std::uint32_t element_bits = 0;     ///< of the tensor
  std::uint32_t item_bytes = 0;       ///< of what is stored, if it is converted
  ConvertElements convert = nullptr;  ///< null: the tensor's bytes unchanged
  std::optional<Relayout> relayout{};
};

/// What becomes of `tensor`: a dtype that safetensors has not is converted as for an `.npy` file. With `format` the
/// tensor is rearranged into that format, if it is in another one. On false `reason` says why that cannot be.
bool plan_stored(const DumpTensor& tensor, const std::optional<Format>& format, StoredArray& stored,
                 std::string& reason);

/// Reads tensors in pieces, so that memory does not grow with them.
class StoredElements {
 public:
  /// False: `reason` says why.
  bool open(const DumpSide& side, const DumpTensor& tensor, const StoredArray& stored, std::string& reason);

  /// Calls `use(Bytes items, std::size_t read)` piece by piece, with what is stored and how many bytes of the dump it
  /// was made of. Ends early, with an empty `reason`, when `use` returns false. On false `reason` says why.
  template <class Use>
  bool for_each(Use use, std::string& reason) {
    reason.clear();
    for (std::uint64_t done = 0; done < stored_->elements;) {
      Bytes items;
      std::size_t count = 0, read = 0;
      if (!next(done, items, read, count, reason)) return false;
      if (!use(items, read)) return false;
      done += count;
    }
    if (!source_.failed()) return true;
    reason = source_.error();
    return false;
  }

 private:
  bool next(std::uint64_t done, Bytes& items, std::size_t& bytes, std::size_t& count, std::string& reason);

  const StoredArray* stored_ = nullptr;
  CompareElements source_;
  std::vector<std::byte> source_bytes_;
  std::vector<std::byte> items_;
};

/// What `opdump convert` was asked for.
struct ConvertSettings {
  std::string output;  ///< directory
  ArrayType type = ArrayType::npy;
  bool keep_bfloat16 = false;
  std::optional<Format> format{};
  std::vector<Dim> shape{};  ///< the result's, in the order of `format`; empty: the record's original shape

  struct Selection {
    bool is_output = true;
    std::uint64_t index = 0;
  };
  std::optional<Selection> only{};
};

/// What became of one file, to be reported in the order of the files.
struct Converted {
  std::uint64_t records = 0;
  std::uint64_t files = 0;  ///< written
  std::uint64_t failures = 0;
  std::vector<std::string> messages{};  ///< failures and notes

  /// Rows for the `mapping.csv` of a directory, for names too long for files.
  std::string mapping_directory{};
  std::string mapping_rows{};

  void fail(std::string message) {
    ++failures;
    messages.push_back(std::move(message));
  }
};

/// Turns the tensors of records into files, one record at a time. Several converters may work at the same time.
class RecordConverter {
 public:
  RecordConverter(const ConvertSettings& settings, std::size_t memory_bytes, Progress& progress)
      : settings_(settings), progress_(progress), writer_(memory_bytes, progress) {}

  /// `namesake`: the path of another file that is written under the same names, which a record must not
  /// replace; empty: there is none.
  Converted convert(const FoundFile& found, const std::string& namesake);

 private:
  bool use_directory(const FoundFile& found);
  void convert_tensors(const FoundFile& found);
  void convert_tensor(const FoundFile& found, const RecordTensor& tensor);
  bool write_array(const FoundFile& found, const RecordTensor& tensor, std::string& reason);
  bool write_restored(const FoundFile& found, const RecordTensor& tensor, NpyArray array,
                      std::string& reason);
  bool write_in_order(const FoundFile& found, const RecordTensor& tensor, const NpyArray& array,
                      std::string& reason);
  bool write_op_debug(const FoundFile& found, const RecordTensor& tensor, std::string& reason);
  void write_blob(const FoundFile& found, const RecordBlob& blob);

  ArrayName wanted_name(Format format) const;
  std::string header(const NpyArray& array) const;
  bool create(OutputFile& out, const std::string& long_name, std::string_view suffix, std::string& reason);
  bool commit(OutputFile& out, bool written, std::string& reason);

  const ConvertSettings& settings_;
  Progress& progress_;
  ArrayWriter writer_;
  RecordFile file_;
  std::string directory_;    ///< the last one made
  std::string mapping_row_;  ///< of the current file
  Converted result_;
};

}  // namespace opdump::tool
