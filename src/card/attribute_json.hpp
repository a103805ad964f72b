#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/knobs.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

// Values as JSON. A number that is not finite becomes the string "nan", "inf" or "-inf".

/// The shortest text that reads as the same float.
std::string json_of(float value);

std::string json_of(std::int32_t value);
std::string json_of(std::int64_t value);
std::string json_of(std::string_view value);

template <class Value>
std::string json_of(const std::vector<Value>& values) {
  std::string text = "[";
  for (const Value& value : values) text += (text.size() == 1 ? "" : ", ") + json_of(value);
  return text + ']';
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
