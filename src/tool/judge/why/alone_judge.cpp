#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/judge/compare/healthy_error.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/judge/why/judgement.hpp"

namespace opdump::tool {
namespace {

/// What a dump alone tells. Only the first NaN is a proof: infinities may be a mask, integers at their ends what was
/// meant, and who overwrites memory may be an operator that was not dumped.
class AloneJudge {
 public:
  AloneJudge(const DumpSide& side, const std::function<bool(std::size_t)>& is_plain)
      : side_(side), is_plain_(is_plain) {}

  Judgement judge(const Edges& edges) {
    look();
    find_overwritten(edges);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.tensor < b.tensor; });
    auto first = std::find_if(found_.begin(), found_.end(), [](const Found& found) { return found.certain; });
    if (first == found_.end())
      first = std::find_if(found_.begin(), found_.end(), [](const Found& found) { return found.wrong; });
    for (auto found = found_.begin(); found != found_.end(); ++found) {
      const DumpFile file = side_.files[side_.tensors[found->tensor].file];
      const std::string text = op_text(file) + ": " + found->text;
      if (found != first) {
        answer_.others.push_back(text);
        continue;
      }
      answer_.headline = (found->certain ? "first to be wrong: " : "not certain: ") + text;
      answer_.tensor = found->tensor;
      answer_.cause = found->cause;
      answer_.certain = found->certain;
    }
    return std::move(answer_);
  }

 private:
  struct Found {
    std::size_t tensor;
    bool certain;
    bool wrong;  ///< else it may well be meant so
    std::string cause;
    std::string text;
  };

  struct Odd {
    std::uint64_t nans = 0;
    std::uint64_t over = 0;   ///< positive infinities
    std::uint64_t under = 0;  ///< negative infinities
    bool counted = true;      ///< else 1 stands for some
    double least = -HUGE_VAL, most = HUGE_VAL;
    bool zeros = true;  ///< some element may be 0
  };

  /// Whether an operator of that type has a number for all elements of such inputs, none of which is odd.
  static bool has_numbers(std::string_view type, const std::vector<Odd>& inputs) {
    const std::optional<Domain> domain = domain_of(type);
    if (!domain) return true;
    if (inputs.empty()) return false;
    return domain->divides ? !inputs.back().zeros
                           : inputs[0].least >= domain->least && inputs[0].most <= domain->most;
  }

  bool is_plain(std::size_t tensor) const { return is_plain_ && is_plain_(tensor); }

  /// Inputs stand before outputs, in the order of execution.
  void look() {
    CountedTensors unread;
    std::uint64_t looked = 0;
    bool any_nan = false, any_infinity = false, any_saturated = false;
    std::optional<OpKey> op;
    std::string doubt;
    std::vector<Odd> inputs;
    for (std::size_t i = 0; i < side_.tensors.size(); ++i) {
      const DumpTensor& tensor = side_.tensors[i];
      if (const OpKey here = key_of(side_.files[tensor.file], tensor.file); op != here) {
        op = here;
        doubt.clear();
        inputs.clear();
      }
      const std::optional<Odd> odd = is_plain(i) ? Odd{} : odd_elements(tensor);
      if (!odd) {
        unread.add(side_, tensor, tensor.problem);
        doubt = "its " + role_text(tensor) + " could not be looked at";
        continue;
      }
      ++looked;
      const auto are = [&](std::uint64_t count, const char* what) {
        if (!odd->counted) return role_text(tensor) + " has " + what;
        return std::to_string(count) + " of " + count_text(tensor.elements, "element") + " of " +
               role_text(tensor) + (count == 1 ? " is " : " are ") + what;
      };
      if (const std::uint64_t infinite = odd->over + odd->under; infinite != 0) {
        if (!any_infinity)
          found_.push_back({i, false, odd->over != 0, "not a number",
                            are(infinite, odd->over != 0 ? "infinity" : "negative infinity") +
                                ", the first of the dump; a mask may be so"});
        any_infinity = true;
      }
      if (odd->nans != 0 && !any_nan) {
        any_nan = true;
        const std::string& type = side_.files[tensor.file].type;
        if (doubt.empty()) doubt = hidden_inputs(type, inputs.size());
        if (doubt.empty() && inputs.size() < least_inputs(type))
          doubt = "not all of its inputs are in the dump";
        if (doubt.empty() && !has_numbers(type, inputs))
          doubt = "all inputs of it are finite, but " + type + " has no number for some of them";
        const bool known = tensor.is_output && !inputs.empty() && doubt.empty();
        found_.push_back(
            {i, known, true, "not a number",
             are(odd->nans, "NaN") + ", the first of the dump: " +
                 (known ? "all inputs of it are finite"
                  : tensor.is_output
                      ? (!inputs.empty() ? doubt : std::string("its inputs are not in the dump")) +
                            ", and it may be a victim"
                      : "a constant, an input of the model, or the output of an "
                        "operator that was not dumped")});
      }
      if (!tensor.is_output) inputs.push_back(*odd);
      if (!tensor.is_output && odd->over + odd->under != 0) {
        doubt = "its " + role_text(tensor) + " has infinities";
      } else if (!tensor.is_output && !odd->counted) {
        doubt = "its " + role_text(tensor) + " is known by its range alone";
      }
      if (tensor.is_output && !any_saturated && !is_plain(i)) any_saturated = add_saturated(i, tensor);
    }
    answer_.any = looked != 0;
    answer_.judged = count_text(looked, "tensor") + " looked at";
    unread.tell("could not be looked at", answer_.unjudged);
  }

  bool add_saturated(std::size_t number, const DumpTensor& tensor) {
    constexpr double kSaturated = 0.5;
    constexpr std::string_view kSums[] = {"add", "batchnorm", "conv", "convtranspose", "matmul", "sub"};
    const double share = share_at_ends(side_, tensor).value_or(0);
    if (share < kSaturated) return false;
    const std::string type = canonical_type(side_.files[tensor.file].type);
    const bool wrong =
        tensor.quant != nullptr && std::find(std::begin(kSums), std::end(kSums), type) != std::end(kSums);
    found_.push_back({number, false, wrong, "saturated",
                      number_text(100 * share) + " % of the elements of " + role_text(tensor) +
                          " are at the ends of " + std::string(info(tensor.dtype).name) +
                          (tensor.quant == nullptr ? ", which may stand for 0: no card tells it" : "")});
    return true;
  }

  std::optional<Odd> odd_elements(const DumpTensor& tensor) const {
    if (tensor.summary) {
      const TensorSummary& told = *tensor.summary;
      if (told.nans && told.negative_infinities && told.positive_infinities) {
        Odd odd{*told.nans, *told.positive_infinities, *told.negative_infinities};
        odd.least = told.min.value_or(odd.least);
        odd.most = told.max.value_or(odd.most);
        odd.zeros = odd.least <= 0 && odd.most >= 0;
        return odd;
      }
      if (!told.max || !told.min) return std::nullopt;
      const auto any = [&](auto is) { return is(*told.max) || is(*told.min) || is(told.mean.value_or(0)); };
      return Odd{any([](double v) { return std::isnan(v); }) ? 1U : 0U,
                 any([](double v) { return std::isinf(v) && v > 0; }) ? 1U : 0U,
                 any([](double v) { return std::isinf(v) && v < 0; }) ? 1U : 0U, false};
    }
    if (!tensor.problem.empty() || tensor.unseen) return std::nullopt;
    if (!can_be_non_finite(tensor.dtype)) return Odd{};
    Odd odd;
    odd.least = HUGE_VAL, odd.most = -HUGE_VAL, odd.zeros = false;
    const auto count = [&odd](std::span<const double> numbers) {
      for (const double number : numbers) {
        odd.least = std::min(odd.least, number);
        odd.most = std::max(odd.most, number);
        odd.zeros |= number == 0;
        if (std::isfinite(number)) continue;
        ++(std::isnan(number) ? odd.nans : number > 0 ? odd.over : odd.under);
      }
    };
    return for_each_number(side_, tensor, count) ? std::optional(odd) : std::nullopt;
  }

  void find_overwritten(const Edges& edges) {
    for (const Edge& edge : edges) {
      const DumpTensor& from = side_.tensors[edge.from];
      const DumpTensor& to = side_.tensors[edge.to];
      // What is of another shape may be of who has the memory since.
      if (!edge.is_overwritten() || from.shape != to.shape) continue;
      found_.push_back({edge.to, false, true, "overwritten",
                        role_text(from) + " of \"" + side_.files[from.file].op +
                            "\" was overwritten before this one read it as " + role_text(to) + ": byte " +
                            std::to_string(edge.differs_at) +
                            " differs; or an operator that was not dumped has its memory since"});
    }
  }

  const DumpSide& side_;
  const std::function<bool(std::size_t)>& is_plain_;
  Judgement answer_;
  std::vector<Found> found_;
};

}  // namespace

Judgement judge_alone(const DumpSide& side, const Edges& edges,
                      const std::function<bool(std::size_t tensor)>& is_plain) {
  return AloneJudge(side, is_plain).judge(edges);
}

}  // namespace opdump::tool
