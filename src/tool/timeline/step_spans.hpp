#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "src/tool/timeline/trace_writer.hpp"

namespace opdump::tool {

/// From when to when the steps of models went on.
class StepSpans {
 public:
  void add(std::uint64_t process, std::string_view model, std::uint64_t step, std::uint64_t at) {
    const auto [span, is_new] = spans_.try_emplace({process, std::string(model), step}, Span{at, at});
    if (is_new) return;
    span->second.first = std::min(span->second.first, at);
    span->second.last = std::max(span->second.last, at);
  }

  void write(TraceWriter& trace) const {
    for (const auto& [key, span] : spans_) {
      const auto& [process, model, step] = key;
      trace.span(process, span.first, span.last, "step",
                 (model.empty() ? "step " : model + " step ") + std::to_string(step));
    }
  }

 private:
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  std::map<std::tuple<std::uint64_t, std::string, std::uint64_t>, Span> spans_;
};

}  // namespace opdump::tool
