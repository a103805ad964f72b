#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/write/array_name.hpp"
#include "src/tool/write/array_writer.hpp"

namespace opdump::tool {

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

/// Turns the tensors of records into files, one record at a time. Several converters may work at the same
/// time.
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
