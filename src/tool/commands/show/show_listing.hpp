#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/cli/json.hpp"
#include "src/tool/read/dump/digest_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/dump/statistics_file.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

/// What `opdump show` says about each tensor.
struct ShowDetail {
  bool spread = false;
  std::size_t head = 0;  ///< elements
};

/// One record to be listed.
struct ShownRecord {
  const FoundFile& found;
  std::optional<RecordName> name;
  std::optional<RecordPlace> place;
  std::optional<std::string_view>
      format{};                     ///< of its tensor, as the file's name spells it; empty: not known
  const CardedOps* card = nullptr;  ///< of its model; null: not known
  std::uint64_t unix_us = 0;        ///< of `name`, moved as the journal says that the clock was set
  const RunOp* failed = nullptr;    ///< the card's operator of a record that tells its task and stream alone

  std::string_view type() const { return failed != nullptr ? failed->desc.type : name->type; }
  std::string_view op() const { return failed != nullptr ? failed->desc.name : name->name; }
};

/// How the tensor is quantised; null where that is not known.
inline const Quantisation* quant_of(const ShownRecord& record, const RecordTensor& tensor) {
  if (record.card == nullptr || !record.name) return nullptr;
  return record.card->quant(identity_of(*record.name), tensor.is_output, tensor.index);
}

/// Whether several operators of the card may be the record's, so that nothing is known of its scales.
inline bool is_ambiguous(const ShownRecord& record) {
  return record.card != nullptr && record.name && record.card->is_ambiguous(identity_of(*record.name));
}

struct ShownSums {
  std::uint64_t records = 0;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

/// The dtype, and in brackets the dtype that an output had before it was written as another.
std::string dtype_text(const RecordTensor& tensor);

/// A line for each record and tensor, for people.
class TextListing {
 public:
  /// Columns are made wide enough for the names of `files`.
  TextListing(const std::vector<FoundFile>& files, const ShowDetail& detail);

  /// False, with `error`, when not all of the record could be shown.
  bool show(const ShownRecord& record, RecordFile& file, std::string& error);

  /// The same for statistics without a tensor.
  void show(const ShownRecord& record, const StatisticsRecord& statistics);

  void finish(const DumpProvenance& provenance) const;
  const ShownSums& sums() const { return sums_; }

 private:
  void print_head(const ShownRecord& record);
  void print_head(const std::string& type, const std::string& name, const std::string& task,
                  const std::string& stream, const std::string& time, const std::string& step,
                  const std::string& model) const;

  ShowDetail detail_;
  std::size_t type_width_ = 4;
  std::size_t name_width_ = 4;
  std::optional<std::uint32_t> boot_;  ///< of the records under the last heading
  bool fit_ = false;                   ///< names are shortened to the terminal
  ShownSums sums_;
};

/// The same as JSON, for programs.
class JsonListing {
 public:
  explicit JsonListing(const ShowDetail& detail);

  bool show(const ShownRecord& record, RecordFile& file, std::string& error);
  void show(const ShownRecord& record, const StatisticsRecord& statistics);
  void finish(const DumpProvenance& provenance);
  const ShownSums& sums() const { return sums_; }

 private:
  void write_head(const ShownRecord& record);
  void print();

  ShowDetail detail_;
  ShownSums sums_;
  JsonWriter json_;
};

/// A line for each tensor, the greatest of one number first, or by step, name or type.
class SortedListing {
 public:
  /// `top`: how many, at most. `key` is one of `kKeys`.
  SortedListing(std::string_view key, std::size_t top) : key_(key), top_(top) {}
  static constexpr std::string_view kKeys[] = {"step",   "bytes", "min", "max",  "mean", "l2",
                                               "absmax", "nan",   "inf", "name", "type"};

  bool show(const ShownRecord& record, RecordFile& file, std::string& error);
  void show(const ShownRecord& record, const StatisticsRecord& statistics);
  void finish(const DumpProvenance& provenance);
  const ShownSums& sums() const { return sums_; }

 private:
  using Numbers = std::array<std::optional<double>, 9>;  ///< as `kKeys` names them
  struct Row {
    Numbers numbers;
    std::vector<std::string> cells;
  };

  void add(const ShownRecord& record, Numbers numbers, std::vector<std::string> of_tensor);
  void drop_rest();

  std::string_view key_;
  std::size_t top_;
  std::vector<Row> rows_;
  ShownSums sums_;
};

}  // namespace opdump::tool
