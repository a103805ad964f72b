#pragma once
#include <span>

namespace opdump::tool {

/// The words after a sub-command's name.
using Words = std::span<const char* const>;

// Each runs one sub-command and returns the exit status.
int run_show(Words words);
int run_convert(Words words);
int run_compare(Words words);
int run_check(Words words);
int run_compile(Words words);
int run_describe(Words words);
int run_diff(Words words);
int run_diverge(Words words);
int run_doctor(Words words);
int run_edges(Words words);
int run_explain(Words words);
int run_extract(Words words);
int run_key(Words words);
int run_open(Words words);
int run_overflow(Words words);
int run_receive(Words words);
int run_replay(Words words);
int run_report(Words words);
int run_verify(Words words);
int run_why(Words words);

}  // namespace opdump::tool
