#pragma once
#include <span>
#include <string_view>

namespace opdump::tool {

/// What is told of an adapter for a runtime. The texts are Markdown without links.
struct Runtime {
  std::string_view name;
  std::string_view header;    ///< from the source's root on; empty: there is no adapter yet
  std::string_view attached;  ///< how
  std::string_view seen;      ///< inputs, outputs
  std::string_view inside;    ///< of operators that the runtime has fused or handed to a delegate
  std::string_view off;       ///< what it costs while nothing is dumped
  std::string_view on;        ///< what an operator that is dumped costs, besides the dump
  std::string_view state;     ///< where it runs, and which revision it was read at
};

/// In the order of a listing: those that run in the tests first.
std::span<const Runtime> runtimes();

}  // namespace opdump::tool
