#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// An operator that gave something else than it should.
struct FailingOp {
  const ReplayOp& op;
  std::string folder;                         ///< to make for it, by `failing_folder`
  const std::vector<ReplayTensor>& expected;  ///< one for each of `op.wanted`, in its dtype or float64
  const std::vector<ReplayTensor>& device;    ///< the same; one without dtype was not dumped
  std::string reference{};                    ///< what made `expected`, as OpReference::name
  std::string said{};                         ///< of what is wrong, for people; may have several lines
};

/// "op26_conv1": the number of an operator, and what of its name can stand in the name of any file.
std::string failing_folder(std::size_t index, std::string_view op_name);

/// Makes `directory`/folder: a model of this one operator, its inputs, and what it should give, as the test
/// data of ONNX lie in their folders, the same as arrays of NumPy with what the device gave, and a text for
/// people. False: `reason` says which file could not be made; there may be some already. A folder that is
/// there already is left alone and refused.
bool save_failing(const std::string& directory, const FailingOp& failing, std::string& reason);

}  // namespace opdump::tool
