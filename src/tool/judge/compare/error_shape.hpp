#pragma once
#include <string>

#include "src/tool/judge/compare/compare_report.hpp"

namespace opdump::tool {

/// What all elements that are off have in common, as "36 of 288 elements are off, all at index 7 of axis 0, each
/// 2 times golden's", or how golden's are rearranged; empty where none is off, or nothing can be said. Off is what
/// differs by more than `share` of golden's element and of golden's root mean square. Reads up to 4 million
/// elements of each side.
std::string error_shape(const CompareReport& report, const PairResult& result, double share);

/// How mine is golden's transposed, as "0,2,3,1"; empty: it is not, or an axis order is not to be told.
std::string permutation(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                        const DumpTensor& golden_tensor, double share);

}  // namespace opdump::tool
