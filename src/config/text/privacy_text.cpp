#include "src/config/text/privacy_text.hpp"

#include <span>
#include <string_view>

#include "opdump/parts/privacy.hpp"
#include "src/config/refusal.hpp"

namespace opdump::tool {
namespace {

/// Of the tensors of a rule, in words; the crop of a rule of many axes is cut.
constexpr std::size_t kMostCutBytes = 512;

std::string tensors_text(const PrivacyRule& rule) {
  if (rule.role() == TensorRole::any) return "every tensor";
  const std::string role = rule.role() == TensorRole::input ? "input" : "output";
  return rule.index() == kAnyTensor ? "every " + role : role + ' ' + std::to_string(rule.index());
}

}  // namespace

std::string kept_text(const PrivacyRule& rule) {
  char memory[kMostCutBytes];
  TextWriter cut(memory);
  const std::size_t kept = static_cast<std::size_t>(rule.kept());
  return std::string(kept < std::size(kKeptWords) ? kKeptWords[kept] : kKeptWords[4]) +
         std::string(add_cut(cut, &rule).text());
}

std::string privacy_text(const PrivacyRule& rule) {
  std::string text = kept_text(rule) + " of " + tensors_text(rule);
  const auto add = [&text](std::string_view what, std::span<const NamePattern> patterns) {
    for (const NamePattern& pattern : patterns)
      text.append(" of ").append(what).append(" ").append(config::in_quotes(pattern.text));
  };
  add("op", rule.op());
  add("type", rule.type());
  add("model", rule.model());
  return text;
}

}  // namespace opdump::tool
