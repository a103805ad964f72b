#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "opdump/types/dtype.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

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

/// What the tensor of such a name is, without its bytes. A dtype that is not told is `undefined`, and a
/// format that only MindSpore Lite knows is ND.
RecordTensor named_tensor(const LiteName& name);

/// Where such a file's directory lies: `{network}/{step}`, of which the tool makes one for each run. Nothing
/// when the directory has no number.
std::optional<RecordPlace> parse_lite_place(std::string_view directory);

}  // namespace opdump::tool
