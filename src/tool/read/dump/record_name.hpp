#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/dtype.hpp"
#include "src/tool/read/dump/record_file.hpp"

namespace opdump::tool {

/// What a dump file's name says: `{type}.{name}.{task}.{stream}.{microseconds}`, which `.{task
/// type}.{context}.{thread}.{device}` may follow. Where CANN counts its files, the count stands in front of
/// the task; a name without a count may lack the stream, if its time has 16 digits. Of an operator that failed
/// it is `exception_info.{stream}.{task}` or `{type}.{name}.{task}`, and a local time of 17 digits.
struct RecordName {
  std::string_view type{};
  std::string_view name{};
  std::uint64_t task = 0;
  std::uint64_t stream = 0;  ///< UINT64_MAX: not told
  std::uint64_t unix_us = 0;
  bool name_only = false;  ///< nothing but the operator's name is told

  // Only in the longer form.
  bool has_thread = false;
  std::uint64_t context = 0;
  std::uint64_t thread = 0;
};

/// The type of an operator that failed whose record tells task and stream alone, as its name does too.
inline constexpr std::string_view kFailureType = "exception_info";

/// Takes a file name apart; nothing when it is not of that form. Refers to `file_name`.
std::optional<RecordName> parse_record_name(std::string_view file_name);

/// What the name of a tensor's own file says: a record's name, followed by
/// `.{input|output}.{index}.{format}.{dtype}.npy`, or by the same without the dtype, or without both.
struct TensorName {
  RecordName record;
  bool is_output = false;
  std::uint64_t index = 0;
  std::string_view format;  ///< empty: not known
  std::string_view dtype;   ///< with or without capitals; empty: not known
};

/// The dtype of that name, with or without capitals; undefined: there is none.
DType dtype_in_name(std::string_view name);

/// As `parse_record_name`.
std::optional<TensorName> parse_tensor_name(std::string_view file_name);

/// The record's name in the name of any file of a dump. A tensor of MindSpore Lite tells the name only.
std::optional<RecordName> find_record_name(std::string_view file_name);

/// Where a directory lies in a dump: `{time}/{device}/{model}/{model id}/{step}`, or
/// `rank_{rank}/{network}/{model id}/{step}`.
struct RecordPlace {
  std::string_view model{};
  std::uint64_t model_id = 0;
  std::uint64_t step = 0;
  bool has_model_id = true;
};

/// What the end of a directory's path says about the model; nothing for another form. Refers to `directory`.
std::optional<RecordPlace> parse_record_place(std::string_view directory);

/// Whether the directory is one of the model of that name and id.
bool is_of_model(const RecordPlace& place, std::string_view name, std::uint64_t id);

/// The device, or MindSpore's rank, whose directory holds that of the model; 0: none. In `directory`.
std::uint64_t device_of(std::string_view directory, const RecordPlace& place);

/// `name` as the core writes it in a path.
std::string sanitised(std::string_view name);

/// What versions of MindSpore that cut the scope leave of an operator's name: "Conv2D-op12" of
/// "Default_conv1-Conv2d_Conv2D-op12". Empty: the name is none of MindSpore's.
std::string_view without_scope(std::string_view name);

/// Whether one name is the end of the other, behind its scope.
bool differ_by_scope(std::string_view a, std::string_view b);

/// Whether an operator is one that `glob` asks for, or would be but for its scope.
bool is_asked_for(const std::string& glob, std::string_view op);

/// Orders as a person sorts: runs of digits by their number, everything else by its bytes.
bool natural_less(std::string_view a, std::string_view b);

/// What the name of a file of MindSpore Lite's benchmark tool says:
/// `{name}_{input|output}_{index}_shape_{dim}_{dim}_{dtype}_{format}.bin`. The tool leaves out the dtypes and
/// formats that it has no word for.
struct LiteName {
  std::string_view op;  ///< with . for each / of the node's name
  bool is_output = false;
  std::uint32_t index = 0;
  std::vector<std::uint64_t> shape{};
  std::string_view dtype{};   ///< "Float32"; may be empty
  std::string_view format{};  ///< "NHWC"; may be empty

  /// Whether an axis is padded to a multiple of 4, so that the file has more elements than the shape.
  bool padded() const { return format.ends_with('4'); }
};

/// Takes a file name apart; nothing when it is not of that form. Refers to `file_name`.
std::optional<LiteName> parse_lite_name(std::string_view file_name);

/// What the tensor of such a name is, without its bytes. Unknown dtypes are `undefined`, formats ND.
RecordTensor named_tensor(const LiteName& name);

/// Where such a file's directory lies: `{network}/{step}`, of which the tool makes one for each run. Nothing
/// when the directory has no number.
std::optional<RecordPlace> parse_lite_place(std::string_view directory);

}  // namespace opdump::tool
