#pragma once
#include <string>

#include "src/tool/dump/record_file.hpp"
#include "src/tool/tokens/beside_tokens.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// Checks the tables of tokens of one dump, and that its records hold what they tell.
class TokenCheck {
 public:
  /// `directory`: that of the journals. Reads its tables; a finding tells of one that cannot be read.
  TokenCheck(const std::string& directory, Findings& findings);

  /// What `record`, the file at `path`, has that its table does not tell; empty: nothing, or it has no table.
  std::string problem_of(const std::string& path, const RecordFile& record);

  /// Which tokens the dump holds, and which records had no room for them.
  void tell() const;

 private:
  Findings& findings_;
  BesideTokens beside_;
  const BesideTokens::Tables* tables_ = nullptr;
};

}  // namespace opdump::tool
