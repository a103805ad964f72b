#include "src/tool/verify/token_check.hpp"

#include <algorithm>

#include "src/card/number_list.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/dump/found_files.hpp"
#include "src/tool/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// As many entries as the table tells of `tensor`, or why not.
std::string unlike_text(const RecordTensor& tensor, bool is_output, std::uint64_t index,
                        const RecordTokens& tokens) {
  const TensorTokens* const told = tokens.tensor(is_output, index);
  if (told == nullptr) return {};
  const auto differs = [&](std::uint32_t axis, std::uint64_t entries) -> std::string {
    const std::string name = (is_output ? "output " : "input ") + std::to_string(index);
    if (tensor.shape().size() <= axis)
      return name + " has no dim " + std::to_string(axis) + ", of which the table of tokens tells";
    if (tensor.shape()[axis] == entries) return {};
    return name + " has " + std::to_string(tensor.shape()[axis]) + " entries along dim " +
           std::to_string(axis) + ", and the table of tokens tells " + std::to_string(entries);
  };
  const Numbers& positions = told->positions ? *told->positions : tokens.step->kept;
  std::string problem = told->axis ? differs(*told->axis, positions.size() * told->per) : std::string();
  if (problem.empty() && told->head_axis) problem = differs(*told->head_axis, told->heads.size());
  return problem;
}

/// Each number once, in order.
std::string joined_numbers(Numbers numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return cards::numbers_text(numbers);
}

}  // namespace

TokenCheck::TokenCheck(const std::string& directory, Findings& findings)
    : findings_(findings), beside_([this, directory](const std::string& message) {
        findings_.add(FindingKind::bad_file, true, {directory, message},
                      {{"path", directory}, {"message", message}});
      }) {
  tables_ = &beside_.in(real_path(directory));
}

std::string TokenCheck::problem_of(const std::string& path, const RecordFile& record) {
  if (tables_->empty()) return {};
  const std::string directory = real_path(path.substr(0, path.rfind('/')));
  const std::string file_name = path.substr(path.rfind('/') + 1);
  const std::optional<RecordPlace> place = parse_record_place(directory);
  const std::optional<RecordName> name = find_record_name(file_name);
  if (!place || !name) return {};
  const RecordTokens tokens = beside_.of(directory, name->name);
  if (tokens.step == nullptr) {
    const bool has_table = std::any_of(tables_->begin(), tables_->end(), [&](const auto& table) {
      return sanitised(table->model()) == place->model;
    });
    return has_table ? "no line of one table of tokens tells its step" : "";
  }
  RecordTensors tensors = record.tensors();
  const std::optional<TensorName> one = parse_tensor_name(file_name);
  for (RecordTensor tensor; tensors.next(tensor);) {
    const std::string problem =
        unlike_text(tensor, one ? one->is_output : tensor.is_output, one ? one->index : tensor.index, tokens);
    if (!problem.empty()) return problem;
  }
  return {};
}

void TokenCheck::tell() const {
  for (const auto& table : *tables_) {
    std::uint64_t steps[kTokenPhases] = {};
    Numbers kept;
    for (const auto& [number, step] : table->steps()) {
      ++steps[static_cast<std::size_t>(step.phase)];
      kept.insert(kept.end(), step.kept.begin(), step.kept.end());
    }
    const std::string tokens = joined_numbers(std::move(kept));
    findings_.add_note(FindingKind::tokens,
                       {table->path(), count_text(steps[0], "prompt") + ", " + count_text(steps[1], "step") +
                                           " of one token: tokens " + tokens},
                       {{"path", table->path()},
                        {"prefill", {}, steps[0], true},
                        {"decode", {}, steps[1], true},
                        {"positions", tokens}});
    for (const LostTokens& lost : table->lost())
      findings_.add_note(
          FindingKind::tokens,
          {"operator " + printable(lost.op) + ", step " + std::to_string(lost.step),
           "lost: max_bytes_per_token has no room for its " + std::to_string(lost.bytes) + " bytes"},
          {{"path", table->path()},
           {"op", lost.op},
           {"step", {}, lost.step, true},
           {"lost_bytes", {}, lost.bytes, true}});
  }
}

}  // namespace opdump::tool
