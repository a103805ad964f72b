#pragma once
#include <string>
#include <vector>

#include "src/tool/judge/diverge/op_replay.hpp"

namespace opdump::tool {

/// What `opdump diverge` says.
struct DivergeReport {
  const DumpSide& side;
  const std::vector<ReplayedOp>& ops;
  std::string reference;  ///< OpReference::name

  /// The culprit that ran first; null: there is none.
  const ReplayedOp* first_diverging() const;

  /// "9 operators, recomputed by onnxruntime 1.30.0: 8 agree, 1 culprit".
  std::string counts_text() const;

  /// One sentence on an operator that diverges.
  std::string first_text(const ReplayedOp& op) const;

  /// What stands against it, or why it was not recomputed; empty: nothing.
  std::string evidence_of(const ReplayedOp& op) const;

  void print() const;
  std::string json() const;

 private:
  std::string name_of(const ReplayedOp& op) const;
};

}  // namespace opdump::tool
