#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "opdump/impl/stats/statistics.hpp"
#include "src/tool/read/dump/array_form.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/statistics_file.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

/// What the name of an `.npy` file says about its tensor. Refers to the name.
struct NpyName {
  std::string_view type{};  ///< empty: not known
  std::string_view op;
  bool is_output = true;
  std::uint32_t index = 0;
  std::uint64_t unix_us = 0;  ///< 0: not known
  std::optional<std::uint64_t> task{};
  std::string_view model{};
  std::optional<std::uint64_t> step{};
};

/// Takes the name of an `.npy` file apart. Understands the names that `opdump convert`, msaccucmp and MindSpore write
/// (`TYPE.OP.task.stream.time.output.0.npy`, with a format's name before `.npy` or without), what frameworks dump for
/// msaccucmp (`OP.0.time.npy`), `OP.output.0.npy`, and what `opdump convert --to` calls tensors in containers
/// (`MODEL/STEP/TYPE.OP/output.0`). Any other name as a whole names the operator, and the file is its output 0.
NpyName parse_array_name(std::string_view file_name);

/// What lies between the dots of a name. Refers to it.
std::vector<std::string_view> parts_of(std::string_view text);

struct DumpSide;
struct DumpTensor;

/// Whether a tensor of such dims has no elements.
inline bool is_empty(const std::vector<Dim>& dims) {
  return std::find(dims.begin(), dims.end(), 0) != dims.end();
}

/// What a dump of statistics tells of a tensor instead of its elements. Nothing where it has no such column.
struct TensorSummary {
  std::optional<double> max;
  std::optional<double> min;
  std::optional<double> mean;
  std::optional<double> l2_norm;
  std::optional<std::uint64_t> nans;
  std::optional<std::uint64_t> negative_infinities;
  std::optional<std::uint64_t> positive_infinities;
  std::string md5;
  std::string sha1;
  std::string crc32;                       ///< of msprobe
  std::vector<std::string_view> unread{};  ///< what it has a column for, and no number in it: "max", "NaNs"
  StatisticsDialect dialect = StatisticsDialect::cann;  ///< whose rules the numbers keep
};

/// Of a line of CANN's or MindSpore's file. Cells that are no numbers, as "NA", tell nothing.
TensorSummary summary_of(const StatisticsLine& line);

/// Of all elements of a tensor by the rules of `dialect`, without digests; nothing when they cannot be read.
std::optional<TensorSummary> summary_of(const DumpSide& side, const DumpTensor& tensor,
                                        StatisticsDialect dialect);

/// How far two summaries are apart.
struct SummaryDistance {
  /// The largest difference of least, greatest and mean number by the range that golden's take, and of the
  /// norms by golden's; infinite where a number or a count of NaNs or infinities is there on one side alone.
  double distance = 0;
  bool same_digest = false;  ///< both sides have a digest, and it is the same
  std::string lone;  ///< a number that one side has, where the other's column has none; no digest decides
  std::string told;  ///< what differs, as "max 3 for 2"
};

/// Nothing when they have no number, count or digest in common.
std::optional<SummaryDistance> summary_distance(const TensorSummary& mine, const TensorSummary& golden);

/// One tensor of a dump.
struct DumpTensor {
  std::size_t file = 0;  ///< number in `DumpSide::files`
  bool is_output = false;
  std::uint32_t index = 0;
  DType dtype = DType::undefined;
  MemoryLayout layout;
  std::string problem;  ///< why it cannot be compared; empty: it can
  std::vector<Dim> shape;
  bool has_shape = true;  ///< false: the file does not tell it
  std::uint64_t elements = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
  ArrayForm form{};
  std::uint64_t address = 0;
  std::string original_op;  ///< the framework's name of the operator fused into this one; empty: not known
  std::uint32_t original_index = 0;
  const Quantisation* quant = nullptr;  ///< by a card; null: not known
  bool by_other_card = false;           ///< `quant` is that of the tensor of the other side
  bool constant = false;                ///< by a card: the model holds its elements
  std::string_view name{};              ///< by a card; empty: not known
  /// An input whose elements its own record does not hold, as its operator has written over them: the file of the
  /// operator that wrote it, of whose output these are the elements.
  std::optional<std::size_t> written_in{};
  bool unseen = false;           ///< the dump has its elements nowhere
  std::uint64_t pieces = 1;      ///< of equal size, that its data lie in
  std::uint64_t piece_step = 0;  ///< bytes from one to the next
  /// Instead of elements, of which there are none then.
  std::shared_ptr<const TensorSummary> summary{};
  std::string kept{};  ///< what the config's privacy has kept, in words; empty: not known
};

/// One file of a dump, and what its name and place say.
struct DumpFile {
  std::string path;
  std::string type;
  std::string op;
  std::string place;                    ///< model and step; empty: not known
  std::optional<std::uint32_t> boot{};  ///< if a flash log has several boots
  std::uint64_t unix_us = 0;
  std::optional<std::uint64_t> task{};  ///< from the file's name
  std::optional<std::uint64_t>
      model_id{};  ///< of a model that the dump has several of, which the place tells apart
  bool is_record = false;
  bool is_lite = false;  ///< of MindSpore Lite
  /// The file of the inputs of an operator that was dumped before and after it, of which this one has the outputs.
  std::optional<std::size_t> before{};
};

/// What the file tells of its operator. Refers to it.
inline OpIdentity identity_of(const DumpFile& file) {
  return {.name = file.op, .type = file.type, .task = file.task};
}

/// The operators of a side by their names without MindSpore's scope.
class UnscopedOps {
 public:
  explicit UnscopedOps(const DumpSide& side);

  /// What this side calls `op` of `place`, which `other` has with a scope and this one without, or the other way
  /// round; null where it has none, or where either side has several.
  const std::string* find(const std::string& place, const std::string& op, const UnscopedOps& other,
                          const std::string& other_place) const;

 private:
  const std::string* at(const std::string& place, const std::string& op) const;

  std::map<std::pair<std::string, std::string>, std::string> ops_;  ///< empty: there are several
};

/// `Conv2D "conv1" at net/3 of boot 2`.
std::string op_text(const DumpFile& file);

/// "output 0".
std::string role_text(const DumpTensor& tensor);

/// A record is an operator at one step, or two are, of its inputs and of its outputs; so are arrays of one operator
/// that tell the same task and time.
using OpKey = std::tuple<std::optional<std::uint32_t>, std::string, std::string, std::string, std::uint64_t,
                         std::uint64_t, std::optional<std::size_t>>;

inline OpKey key_of(const DumpFile& file, std::size_t number) {
  return {file.boot,
          file.place,
          file.type,
          file.op,
          file.task.value_or(0),
          file.unix_us,
          file.is_record ? std::optional<std::size_t>(file.before.value_or(number)) : std::nullopt};
}

/// What the places of files tell apart beside the model's name and the step.
struct ToldApart {
  bool has_devices = false;  ///< several devices
  bool has_ids = false;      ///< several models of one name
};

/// All tensors below one path, in the order of execution as far as file names give it.
struct DumpSide : ToldApart {
  std::deque<DumpFile> files;
  std::deque<DumpTensor> tensors;
  bool named_file = false;  ///< the path is a file

  /// The file that holds the elements of `tensor`.
  const std::string& path_of(const DumpTensor& tensor) const {
    return files[tensor.written_in.value_or(tensor.file)].path;
  }
  /// Of how many tensors the config's privacy has kept what; of those kept as their shape no more is here.
  std::map<std::string, std::size_t> kept{};
};

/// What makes that no place of `a` is one of `b`, which have those names; empty: nothing.
std::string unlike_places(const ToldApart& a, const std::string& a_name, const ToldApart& b,
                          const std::string& b_name);

/// Reads the heads of all files below `path`, or of those of `boot`. `report` gets what cannot be used.
DumpSide read_side(const std::string& path, const SearchReport& report,
                   std::optional<std::uint32_t> boot = std::nullopt);

/// Gives the directories of the files of `side` to `take`, each once, in the order of their bytes.
void for_each_directory(const DumpSide& side, const std::function<void(const std::string& directory)>& take);

/// Puts what `change` makes of the tensors of `side` in their place; it returns false for those to drop.
void change_tensors(DumpSide& side, const std::function<bool(DumpTensor& tensor)>& change);

/// Gives a tensor whose file tells no dtype this one, if that makes as many bytes; does nothing else.
void take_dtype(DType dtype, const std::vector<Dim>& shape, DumpTensor& tensor);

/// Gives the tensors of `side` what a card says of them: `card`, or if it is null the one that lies in the dump.
/// Refers to the cards. Returns a note on the tensors of `whose` dump that it gives nothing, as several operators of
/// the card may be theirs; empty: there are none.
std::string add_cards(const CardedOps* card, BesideCards& beside, DumpSide& side, const char* whose);

}  // namespace opdump::tool
