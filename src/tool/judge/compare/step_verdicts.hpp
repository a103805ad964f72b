#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/tool/judge/compare/op_verdicts.hpp"
#include "src/tool/judge/compare/side_content.hpp"

namespace opdump::tool {

/// What judges all steps look at.
class JudgedPair {
 public:
  JudgedPair(const DumpSide& mine, const DumpSide& golden, const PairResults& results,
             const std::function<bool(const PairResult&)>& diverges);

  const DumpSide& mine;
  const DumpSide& golden;
  const PairResults& results;
  const std::function<bool(const PairResult&)>& diverges;

  DumpTensor my_tensor(std::size_t result) const { return mine.tensors[*results[result].pair.mine]; }
  DumpTensor golden_tensor(std::size_t result) const { return golden.tensors[*results[result].pair.golden]; }

  // Both are made when they are asked for.
  SideContent& my_content();
  SideContent& golden_content();

  /// The comparison of any two tensors; nothing where they cannot be compared.
  std::optional<PairResult> compare(std::size_t my_tensor, std::size_t golden_tensor) const;
  bool agree(std::size_t my_tensor, std::size_t golden_tensor) const;

  /// What an operator's outputs depend on besides the inputs that the dumps have of it; empty: nothing that is known.
  std::string_view hidden_inputs(const OpVerdict& op) const;

  /// The result of a golden tensor, which may have no partner.
  std::optional<std::size_t> result_of_golden(std::size_t golden_tensor);

  /// Whether any output of golden has no partner.
  bool has_golden_alone();

  /// Whether no tensor of the golden operator of that tensor has a partner.
  bool is_golden_alone(std::size_t golden_tensor);

  /// The golden tensors of the operator of that one.
  const std::vector<std::size_t>& golden_op(std::size_t golden_tensor);

 private:
  void find_golden_ops();

  std::optional<SideContent> my_content_;
  std::optional<SideContent> golden_content_;
  std::optional<bool> has_golden_alone_;
  std::vector<std::optional<std::size_t>> results_of_golden_;
  std::vector<std::size_t> op_of_golden_;             ///< of tensors
  std::vector<std::vector<std::size_t>> golden_ops_;  ///< their tensors
};

/// Keeps of the inputs that were not compared the constants, and makes the first of the others the one that failed. A
/// constant is what a card calls so; and, if `looks` at elements, what no operator writes, where the dump that lacks it
/// has inputs of the network and no weights.
void find_constants(JudgedPair& pair, OpVerdicts& ops, bool looks);

/// Gives an output that diverges, of an operator that golden has as several, the last of those that fits.
void find_fused(JudgedPair& pair, OpVerdict& op);

/// Works out of the errors of an operator's tensors what is its own.
void weigh_errors(JudgedPair& pair, OpVerdict& op);

/// Judges the operators of one step, in the order in which they ran.
void judge_step(JudgedPair& pair, std::span<OpVerdict* const> ops);

/// If what diverges first is of another step, says so there.
void find_shift(JudgedPair& pair, OpVerdicts& ops);

}  // namespace opdump::tool
