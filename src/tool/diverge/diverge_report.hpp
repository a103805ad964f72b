#pragma once
#include <string>
#include <vector>

#include "src/tool/diverge/op_replay.hpp"

namespace opdump::tool {

/// What `opdump diverge` says.
struct DivergeReport {
  const DumpSide& side;
  const std::vector<ReplayedOp>& ops;
  const GoldenErrors* golden;  ///< null: there is none
  std::string reference;       ///< OpReference::name

  /// The culprit that ran first, else the first operator whose output is not what golden has; null: none
  /// diverges.
  const ReplayedOp* first_diverging() const;

  void print() const;
  std::string json() const;

 private:
  std::string name_of(const ReplayedOp& op) const;
  std::string evidence_of(const ReplayedOp& op) const;
  std::string first_text(const ReplayedOp& op) const;
};

}  // namespace opdump::tool
