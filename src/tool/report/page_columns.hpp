#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "src/tool/cli/base64.hpp"
#include "src/tool/cli/json.hpp"

namespace opdump::tool {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

template <class T>
constexpr std::string_view kColumnType = std::is_same_v<T, float>           ? "f32:"
                                         : std::is_same_v<T, double>        ? "f64:"
                                         : std::is_same_v<T, std::uint32_t> ? "u32:"
                                                                            : "u8:";

/// Writes one object of columns of equal length.
class PageColumns {
 public:
  explicit PageColumns(JsonWriter& json) : json_(json) {}

  /// Of many equal values the first one and their count stand for all.
  template <class T>
  void add(std::string_view name, const std::vector<T>& values) {
    const bool same = values.size() > 1 && std::all_of(values.begin(), values.end(), [&](const T& value) {
                        return std::memcmp(&value, values.data(), sizeof value) == 0;
                      });
    const std::span<const T> told(values.data(), same ? 1 : values.size());
    json_.key(name).text((same ? std::to_string(values.size()) + '*' : std::string()) +
                         std::string(kColumnType<T>) + base64(std::as_bytes(told)));
  }

  /// None where no value is known.
  void add_known(std::string_view name, const std::vector<float>& values) {
    const auto unknown = [](float value) { return std::isnan(value); };
    if (!std::all_of(values.begin(), values.end(), unknown)) add(name, values);
  }

  /// None where all are 0.
  template <class T>
  void add_used(std::string_view name, const std::vector<T>& values) {
    if (std::any_of(values.begin(), values.end(), [](T value) { return value != 0; })) add(name, values);
  }

 private:
  JsonWriter& json_;
};

/// Texts that columns name by their numbers.
class PageTexts {
 public:
  /// 0 is the empty text.
  std::uint32_t number(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return static_cast<std::uint32_t>(at->second);
  }

  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, std::size_t> numbers_{{"", 0}};
};

inline std::uint32_t count32(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
}

inline float real32(double number) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return std::isinf(number) || std::fabs(number) <= kMost || std::isnan(number)
             ? static_cast<float>(number)
             : static_cast<float>(std::copysign(kMost, number));
}

inline std::uint8_t byte_of(std::uint64_t number) {
  return static_cast<std::uint8_t>(std::min<std::uint64_t>(number, UINT8_MAX));
}

}  // namespace opdump::tool
