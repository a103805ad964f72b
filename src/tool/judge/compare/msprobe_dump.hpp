#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {

/// What msprobe calls a run of an operator: "Primitive.conv1.0.forward" or "Cell.net.conv1.Conv2d.forward.0".
struct MsprobeName {
  std::string op;    ///< "conv1", "net.conv1"; of a backward run the whole name
  std::string type;  ///< "Conv2d", of a cell or module only
};

/// The whole name as `op` where it is not like msprobe's.
MsprobeName parse_msprobe_name(std::string_view name);

/// A tensor in msprobe's `dump.json`.
struct MsprobeTensor {
  bool is_output = false;
  std::uint32_t index = 0;  ///< among the tensors of that role
  bool is_pickled = false;  ///< its elements lie in a file of PyTorch, which is not read
  std::string file;         ///< in `dump_tensor_data`; empty: there are only statistics
  DType dtype = DType::undefined;
  std::vector<Dim> shape;
  TensorSummary summary;
};

struct MsprobeRun {
  MsprobeName name;
  std::vector<MsprobeTensor> tensors;
};

/// The runs of operators of a `dump.json`, in their order. False: it is none of msprobe's, or `error` says
/// what is wrong with it. Source: msprobe 8ff00da, json_writer.py and cell_dump_process.py.
bool read_msprobe_dump(std::string_view json, std::vector<MsprobeRun>& runs, std::string& error);

/// Calls `use` for all elements of a tensor in the order in which they lie; false when they cannot be read.
bool for_each_number(const DumpSide& side, const DumpTensor& tensor,
                     const std::function<void(std::span<const double>)>& use);

}  // namespace opdump::tool
