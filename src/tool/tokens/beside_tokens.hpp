#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/dump/beside_files.hpp"
#include "src/tool/dump/record_name.hpp"
#include "src/tool/tokens/token_table.hpp"

namespace opdump::tool {

/// What a record holds of the tokens of its step.
struct RecordTokens {
  const TokenStep* step = nullptr;
  const std::vector<TensorTokens>* tensors = nullptr;

  /// Null: nothing is told of that tensor.
  const TensorTokens* tensor(bool is_output, std::uint64_t index) const;
};

/// "decode, token 17", or "prefill, tokens 0-3 of 0-31".
std::string token_text(const TokenStep& step);
/// "rows 3 of 4 along dim 0, heads 0|2 of 4", of a tensor that is no whole one; else empty.
std::string slice_text(const TokenStep& step, const TensorTokens& tensor);

/// The tables of tokens that lie beside the journals of dumps, read when they are asked for and kept.
class BesideTokens {
 public:
  using Tables = BesideFiles<TokenTable>::Files;

  /// `note` gets, once each, why a table is not used.
  explicit BesideTokens(std::function<void(const std::string&)> note);

  /// Those in the directory, by name; without those that cannot be read.
  const Tables& in(const std::string& directory) { return files_.in(directory); }

  /// Of the record of operator `op` in `directory`, its real path; without a step when nothing is told.
  RecordTokens of(const std::string& directory, std::string_view op);

 private:
  static constexpr std::size_t kMostDirectories = 4096;

  const TokenTable* find(const std::string& directory, const RecordPlace& place);

  std::function<void(const std::string&)> note_;
  BesideFiles<TokenTable> files_;
  std::map<std::string, const TokenTable*> found_;  ///< of the latest directories
  std::set<std::string> told_;
};

}  // namespace opdump::tool
