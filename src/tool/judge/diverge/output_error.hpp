#pragma once
#include <cstdint>
#include <string>

#include "src/tool/judge/diverge/op_limits.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// How far an output of the device is from the right one.
struct OutputError {
  OpClass op_class = OpClass::exact;
  std::uint64_t elements = 0;
  std::uint64_t over = 0;  ///< that do not keep their limit
  std::uint64_t off = 0;   ///< of a quantised tensor, that are not equal
  bool diverges = false;
  double worst = 0;         ///< the largest error in units of its limit; infinite where nothing is allowed
  double max_absolute = 0;  ///< the largest error
  double cosine = 1;
  double euclid = 0;     ///< the Euclidean distance by the length of the right one
  std::uint64_t at = 0;  ///< the worst element
  double device = 0;     ///< what it is
  double expected = 0;   ///< what it should be
  double limit = 0;      ///< how far it may be off
};

/// Compares an output of the device with the right one. On false `reason` says why they cannot be compared.
bool measure(const ReplayTensor& device, const ReplayTensor& expected, const OutputLimit& limit,
             OutputError& error, std::string& reason);

/// "3 of 64 elements are beyond the limit, the worst, at [0,2], 1.5 for 1.25 (may be 1e-06 off)".
std::string error_text(const OutputError& error, Shape dims);

}  // namespace opdump::tool
