#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/tokens.hpp"
#include "src/tool/run/json_fields.hpp"

namespace opdump::tool {

using Numbers = std::vector<std::uint64_t>;

/// What a record holds of one tensor.
struct TensorTokens {
  bool is_output = false;
  std::uint32_t index = 0;
  std::optional<std::uint32_t> axis{};  ///< of the record, along which tokens lie
  std::uint64_t of = 0;                 ///< entries of that axis in the program
  std::uint64_t per = 1;                ///< entries for each token
  std::optional<Numbers> cells{};       ///< of a KV cache
  std::optional<Numbers> positions{};   ///< of the tokens; nothing: those that the step keeps
  std::optional<std::uint32_t> head_axis{};
  std::uint64_t heads_of = 0;
  Numbers heads{};
};

/// The tokens of a step.
struct TokenStep {
  TokenPhase phase = TokenPhase::decode;
  Numbers positions;  ///< of all that it ran
  Numbers kept;       ///< of those in the dump
};

/// A record that `max_bytes_per_token` had no room for.
struct LostTokens {
  std::uint64_t step = 0;
  std::string op;
  std::uint64_t bytes = 0;
};

/// An untrusted table of tokens, as src/attach/token_table.hpp writes it.
class TokenTable {
 public:
  /// On false `error` says why, with the path and the line. A last line that a crash has cut short is left
  /// out.
  bool load(const std::string& path, std::string& error);

  const std::string& path() const { return path_; }
  const std::string& model() const { return model_; }
  std::uint64_t model_id() const { return model_id_; }
  bool is_cut() const { return is_cut_; }

  const std::map<std::uint64_t, TokenStep>& steps() const { return steps_; }
  const std::vector<LostTokens>& lost() const { return lost_; }

  /// Null: the step has no tokens in the dump.
  const TokenStep* step(std::uint64_t step) const;
  /// What is told of the operator whose name in file names is `op`, of the tensors of its record of `step`.
  const std::vector<TensorTokens>& tensors(std::string_view op, std::uint64_t step) const;

 private:
  bool read_line(std::string_view line, bool is_first, std::string& reason);
  bool read_head(JsonFields& fields, const config::JsonNode& root);
  bool read_step(JsonFields& fields, const config::JsonNode& root, std::uint64_t step);
  bool read_op(JsonFields& fields, const config::JsonNode& root, std::uint64_t step);
  bool read_tensor(JsonFields& fields, const config::JsonNode& node, const config::KeyPath& path,
                   TensorTokens& tensor);

  std::string path_;
  std::string model_;
  std::uint64_t model_id_ = 0;
  bool is_cut_ = false;
  std::map<std::uint64_t, TokenStep> steps_;
  std::map<std::string, std::map<std::uint64_t, std::vector<TensorTokens>>, std::less<>> ops_;
  std::vector<LostTokens> lost_;
};

}  // namespace opdump::tool
