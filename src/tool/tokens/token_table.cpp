#include "src/tool/tokens/token_table.hpp"

#include <errno.h>
#include <string.h>

#include <array>

#include "src/config/json/json_tree.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/dump/record_name.hpp"
#include "src/tool/run/regular_file.hpp"

namespace opdump::tool {

using config::JsonNode;
using config::JsonTree;
using config::KeyPath;
using config::Refusal;

namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::uint64_t kMostNumbers = 1u << 20;
constexpr std::uint32_t kMostAxis = 31;

/// The numbers of "0|2-4", as many as a step may have.
bool parse_numbers(std::string_view text, Numbers& numbers) {
  numbers.clear();
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('|'));
    const std::size_t dash = item.find('-');
    const std::optional<std::uint64_t> first = parse_decimal(item.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == item.npos ? first : parse_decimal(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostNumbers - numbers.size()) return false;
    for (std::uint64_t i = 0; i <= *last - *first; ++i) numbers.push_back(*first + i);
    if (item.size() == text.size()) return true;
    text.remove_prefix(item.size() + 1);
    if (text.empty()) return false;
  }
  return true;
}

bool read_numbers(JsonFields& fields, const JsonNode& parent, const KeyPath& path, std::string_view key,
                  Numbers& numbers) {
  const JsonNode* const node = parent.member(key);
  std::string_view text;
  if (node == nullptr) return fields.missing(parent, path.key(key), "numbers");
  if (node->type() != config::JsonType::string) return fields.wrong_type(*node, path.key(key), "a string");
  text = node->text();
  return parse_numbers(text, numbers) ||
         fields.refuse(*node, path.key(key), "no list of at most 1048576 numbers, as \"0|2-4\"");
}

bool read_numbers(JsonFields& fields, const JsonNode& parent, const KeyPath& path, std::string_view key,
                  std::optional<Numbers>& numbers) {
  return parent.member(key) == nullptr || read_numbers(fields, parent, path, key, numbers.emplace());
}

bool read_axis(JsonFields& fields, const JsonNode& parent, const KeyPath& path,
               std::optional<std::uint32_t>& axis) {
  const JsonNode* const node = parent.member("axis");
  std::uint64_t number = 0;
  if (node == nullptr) return true;
  if (!fields.take_number(*node, path.key("axis"), kMostAxis, number)) return false;
  axis = static_cast<std::uint32_t>(number);
  return true;
}

}  // namespace

bool TokenTable::load(const std::string& path, std::string& error) {
  path_ = path;
  posix::UniqueFd file;
  std::uint64_t bytes = 0;
  std::string text;
  if (!open_regular(path, file, bytes, error)) return false;
  if (bytes > kMostBytes) {
    error = path + ": larger than any table of tokens may be, 256 MiB";
    return false;
  }
  if (!read_up_to(file.get(), static_cast<std::size_t>(bytes), text)) {
    error = path + ": " + strerror(errno);
    return false;
  }
  is_cut_ = !text.empty() && text.back() != '\n';
  std::uint64_t number = 0;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    std::string reason;
    if (read_line(std::string_view(text).substr(at, end - at), number++ == 0, reason)) continue;
    error = path + ":" + std::to_string(number) + ": " + reason;
    return false;
  }
  if (number != 0) return true;
  error = path + ": not a table of tokens: it has no line";
  return false;
}

bool TokenTable::read_line(std::string_view line, bool is_first, std::string& reason) {
  ConfigError refused;
  Refusal refusal(line, refused);
  JsonFields fields(line, refusal);
  JsonTree tree;
  std::uint64_t step = 0;
  const KeyPath here;
  const bool good = [&] {
    if (!tree.parse(line, refusal)) return false;
    const JsonNode& root = tree.root();
    if (is_first) return read_head(fields, root);
    if (root.type() != config::JsonType::object) return fields.wrong_type(root, here, "an object");
    if (root.member("step") == nullptr) return fields.missing(root, here.key("step"), "a number");
    if (!fields.read_number(root, here, "step", step)) return false;
    return root.member("op") == nullptr ? read_step(fields, root, step) : read_op(fields, root, step);
  }();
  if (!good) reason = refused.key.empty() ? refused.reason : refused.key + ": " + refused.reason;
  return good;
}

bool TokenTable::read_head(JsonFields& fields, const JsonNode& root) {
  constexpr std::array<std::string_view, 4> kKeys = {"opdump_tokens", "device", "id", "model"};
  const KeyPath here;
  std::uint64_t version = 0, device = 0;
  std::string_view model;
  if (!fields.check_object(root, here, kKeys) || !fields.read_number(root, here, "opdump_tokens", version) ||
      !fields.read_number(root, here, "device", device) || !fields.read_number(root, here, "id", model_id_) ||
      !fields.read_text(root, here, "model", model))
    return false;
  model_ = model;
  return version == 1 || fields.refuse(root, here.key("opdump_tokens"), "this build reads version 1");
}

bool TokenTable::read_step(JsonFields& fields, const JsonNode& root, std::uint64_t step) {
  constexpr std::array<std::string_view, 4> kKeys = {"step", "phase", "positions", "kept"};
  const KeyPath here;
  TokenStep read;
  std::size_t phase = 0;
  if (!fields.check_object(root, here, kKeys) ||
      !fields.read_word(root, here, "phase", std::span(kTokenPhaseWords).first(kTokenPhases), phase) ||
      !read_numbers(fields, root, here, "positions", read.positions) ||
      !read_numbers(fields, root, here, "kept", read.kept))
    return false;
  read.phase = static_cast<TokenPhase>(phase);
  return steps_.emplace(step, std::move(read)).second ||
         fields.refuse(root, here.key("step"), "step " + std::to_string(step) + " is told twice");
}

bool TokenTable::read_op(JsonFields& fields, const JsonNode& root, std::uint64_t step) {
  constexpr std::array<std::string_view, 5> kKeys = {"step", "op", "tensors", "lost", "bytes"};
  const KeyPath here;
  std::string_view op, lost;
  if (!fields.check_object(root, here, kKeys) || !fields.read_text(root, here, "op", op) ||
      !fields.read_text(root, here, "lost", lost))
    return false;
  if (!lost.empty()) {
    LostTokens& record = lost_.emplace_back();
    record.step = step;
    record.op = op;
    return fields.read_number(root, here, "bytes", record.bytes);
  }
  std::vector<TensorTokens>& tensors = ops_[sanitised(op)][step];
  tensors.clear();
  return fields.for_each(root, here, "tensors", [&](const JsonNode& node, const KeyPath& path) {
    return read_tensor(fields, node, path, tensors.emplace_back());
  });
}

bool TokenTable::read_tensor(JsonFields& fields, const JsonNode& node, const KeyPath& path,
                             TensorTokens& tensor) {
  constexpr std::array<std::string_view, 8> kKeys = {"input", "output", "axis",      "of",
                                                     "per",   "cells",  "positions", "heads"};
  constexpr std::array<std::string_view, 3> kHeadKeys = {"axis", "of", "held"};
  if (!fields.check_object(node, path, kKeys)) return false;
  tensor.is_output = node.member("output") != nullptr;
  if (tensor.is_output == (node.member("input") != nullptr))
    return fields.refuse(node, path, "it is an \"input\" or an \"output\"");
  if (!fields.read_number(node, path, tensor.is_output ? "output" : "input", tensor.index) ||
      !read_axis(fields, node, path, tensor.axis) || !fields.read_number(node, path, "of", tensor.of) ||
      !fields.read_number(node, path, "per", tensor.per) ||
      !read_numbers(fields, node, path, "cells", tensor.cells) ||
      !read_numbers(fields, node, path, "positions", tensor.positions))
    return false;
  if (tensor.per == 0 || tensor.per > kMostNumbers)
    return fields.refuse(node, path.key("per"), "no number of entries of a token");
  const JsonNode* const heads = node.member("heads");
  if (heads == nullptr) return true;
  const KeyPath there = path.key("heads");
  return fields.check_object(*heads, there, kHeadKeys) &&
         read_axis(fields, *heads, there, tensor.head_axis) &&
         fields.read_number(*heads, there, "of", tensor.heads_of) &&
         read_numbers(fields, *heads, there, "held", tensor.heads);
}

const TokenStep* TokenTable::step(std::uint64_t step) const {
  const auto found = steps_.find(step);
  return found == steps_.end() ? nullptr : &found->second;
}

const std::vector<TensorTokens>& TokenTable::tensors(std::string_view op, std::uint64_t step) const {
  static const std::vector<TensorTokens> kNone;
  const auto found = ops_.find(op);
  if (found == ops_.end()) return kNone;
  auto told = found->second.upper_bound(step);
  return told == found->second.begin() ? kNone : std::prev(told)->second;
}

}  // namespace opdump::tool
