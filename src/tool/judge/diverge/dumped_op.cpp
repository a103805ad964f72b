#include "src/tool/judge/diverge/dumped_op.hpp"

#include <algorithm>
#include <cmath>

#include "src/tool/judge/compare/compare_order.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {

bool is_integer_dtype(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return true;
    default:
      return false;
  }
}

std::optional<std::size_t> elements_of(Shape dims) {
  std::uint64_t count = 1;
  for (const Dim dim : dims) {
    if (dim > kMostReplayElements) return std::nullopt;
    count *= dim;
    if (count > kMostReplayElements) return std::nullopt;
  }
  return static_cast<std::size_t>(count);
}

std::optional<std::vector<double>> reals_of(const ReplayTensor& tensor) {
  const ReadElements read = element_reader(tensor.dtype);
  const std::optional<std::size_t> count = elements_of(tensor.dims);
  if (read == nullptr || !count || is_complex(tensor.dtype)) return std::nullopt;
  std::vector<double> values(*count);
  if (*count != 0) read(tensor.bytes.data(), *count, values.data());
  return values;
}

double mean_square_root(const std::vector<double>& values) {
  double squares = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    count += 1;
  }
  return count == 0 ? 0 : std::sqrt(squares / count);
}

namespace {

std::string input_text(std::size_t i, const std::string& name) {
  return "input " + std::to_string(i) + (name.empty() ? "" : " '" + name + "'");
}

/// Which dumped input each input of the node is. Runtimes number the inputs of a record in three ways: as the
/// model does, without those that are not given, and without constants too.
std::vector<std::optional<std::uint32_t>> numbering(const ReplayNode& node,
                                                    const std::vector<std::uint32_t>& dumped) {
  std::vector<std::optional<std::uint32_t>> numbers(node.inputs.size());
  const bool dense = dumped.empty() || dumped.back() + 1 == dumped.size();
  std::vector<std::size_t> given, computed;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    given.push_back(i);
    if (!node.is_constant[i]) computed.push_back(i);
  }
  const std::vector<std::size_t>* const order = !dense                             ? nullptr
                                                : dumped.size() == given.size()    ? &given
                                                : dumped.size() == computed.size() ? &computed
                                                                                   : nullptr;
  for (std::size_t i = 0; i < dumped.size(); ++i) {
    const std::size_t place = order != nullptr ? (*order)[i] : dumped[i];
    if (place < numbers.size() && !node.inputs[place].empty()) numbers[place] = dumped[i];
  }
  return numbers;
}

/// Whether the device had other elements than the model.
bool is_unlike(const ReplayTensor& dumped, const ReplayTensor& constant) {
  return dumped.dtype == constant.dtype && dumped.dims == constant.dims && dumped.bytes != constant.bytes;
}

class Assembly {
 public:
  Assembly(const DumpSide& side, const OperatorRun& run, const ReplayNode& node, const ReplayModel& model,
           const StepOutputs& before, DumpedOp& to, std::string& reason)
      : side_(side), run_(run), node_(node), model_(model), before_(before), to_(to), reason_(reason) {}

  bool assemble() {
    to_.op.name = node_.name;
    to_.op.type = node_.type;
    to_.op.domain = node_.domain;
    to_.op.opset = node_.opset;
    to_.op.attributes = node_.attributes;
    std::vector<std::uint32_t> dumped;
    for (const auto& [role, tensor] : run_.tensors) {
      if (!role.first) dumped.push_back(role.second);
    }
    const std::vector<std::optional<std::uint32_t>> numbers = numbering(node_, dumped);
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!take_input(i, numbers[i])) return false;
    }
    return take_outputs();
  }

 private:
  bool take_input(std::size_t i, const std::optional<std::uint32_t>& number) {
    std::optional<ReplayTensor>& input = to_.op.inputs.emplace_back();
    const std::string& name = node_.inputs[i];
    if (name.empty()) return true;
    input.emplace();
    const bool has_constant = model_.has_constant(name);
    const auto found = number ? run_.tensors.find({false, *number}) : run_.tensors.end();
    const auto made = before_.find(name);
    if (found == run_.tensors.end() && has_constant) {
      if (model_.constant(name, *input, reason_)) return true;
      reason_ = input_text(i, {}) + ": " + reason_;
      return false;
    }
    if (found == run_.tensors.end() && made == before_.end()) {
      reason_ = input_text(i, name) + " was not dumped";
      return false;
    }
    const std::size_t place = found == run_.tensors.end() ? made->second : found->second;
    input->name = name;
    if (!read_dumped(side_, side_.tensors[place], *input, reason_)) {
      reason_ = input_text(i, name) + ": " + reason_;
      return false;
    }
    ReplayTensor constant;
    std::string ignored;
    if (has_constant && to_.unlike_constant.empty() && model_.constant(name, constant, ignored) &&
        is_unlike(*input, constant))
      to_.unlike_constant = input_text(i, name);
    return true;
  }

  bool take_outputs() {
    std::vector<std::uint32_t> dumped;
    for (const auto& [role, tensor] : run_.tensors) {
      if (role.first) dumped.push_back(role.second);
    }
    if (dumped.empty()) {
      reason_ = "no output of it was dumped";
      return false;
    }
    std::size_t next = 0;
    const auto named = static_cast<std::size_t>(std::count_if(
        node_.outputs.begin(), node_.outputs.end(), [](const std::string& name) { return !name.empty(); }));
    // Without names in the middle, both ways of counting are one.
    const bool counts_named = dumped.size() == named && dumped.back() + 1 == named;
    for (std::size_t i = 0; i < std::max<std::size_t>(node_.outputs.size(), 1); ++i) {
      const std::string name = i < node_.outputs.size() ? node_.outputs[i] : "";
      ReplayTensor& output = to_.outputs.emplace_back();
      to_.places.emplace_back();
      const bool is_left_out = name.empty() && named != 0;
      const auto number = static_cast<std::uint32_t>(counts_named ? next : i);
      if (!is_left_out) ++next;
      const auto found = is_left_out ? run_.tensors.end() : run_.tensors.find({true, number});
      if (found == run_.tensors.end()) {
        to_.op.wanted.emplace_back();
        continue;
      }
      output.name = name;
      if (!read_dumped(side_, side_.tensors[found->second], output, reason_)) {
        reason_ = "output " + std::to_string(number) + ": " + reason_;
        return false;
      }
      to_.places.back() = found->second;
      to_.op.wanted.emplace_back(name.empty() ? "output" : name, output.dtype);
    }
    return true;
  }

  const DumpSide& side_;
  const OperatorRun& run_;
  const ReplayNode& node_;
  const ReplayModel& model_;
  const StepOutputs& before_;
  DumpedOp& to_;
  std::string& reason_;
};

}  // namespace

bool read_dumped(const DumpSide& side, const DumpTensor& tensor, ReplayTensor& to, std::string& reason) {
  reason = tensor.problem;
  if (tensor.summary) reason = "the dump has statistics of it, and no elements";
  if (!reason.empty()) return false;
  const std::optional<ElementOrder> order = plain_order(tensor);
  if (!order) {
    reason = "it cannot be taken out of its format";
    return false;
  }
  to.dtype = tensor.dtype;
  to.dims = order->shape;
  const std::optional<std::size_t> elements = elements_of(to.dims);
  if (!elements) {
    reason = "it has more than 268435456 elements";
    return false;
  }
  to.bytes.resize((*elements * info(tensor.dtype).bits + 7) / 8);
  if (to.bytes.empty()) return true;
  CompareElements source;
  if (!source.open(side, tensor, order->relayout)) {
    reason = source.error();
    return false;
  }
  const std::byte* const read = source.read(0, to.bytes.size(), to.bytes.data());
  if (read != nullptr && read != to.bytes.data()) std::copy_n(read, to.bytes.size(), to.bytes.data());
  if (source.failed() || read == nullptr) {
    reason = source.error().empty() ? "its bytes cannot be read" : source.error();
    return false;
  }
  return true;
}

bool assemble(const DumpSide& side, const OperatorRun& run, const ReplayNode& node, const ReplayModel& model,
              const StepOutputs& before, DumpedOp& to, std::string& reason) {
  return Assembly(side, run, node, model, before, to, reason).assemble();
}

}  // namespace opdump::tool
