#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/tool/cli/base64.hpp"
#include "src/tool/cli/json.hpp"

namespace opdump::tool {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

template <class T>
constexpr std::string_view kColumnType = std::is_same_v<T, float>           ? "f32:"
                                         : std::is_same_v<T, double>        ? "f64:"
                                         : std::is_same_v<T, std::uint32_t> ? "u32:"
                                         : std::is_same_v<T, std::uint8_t>  ? "u8:"
                                                                            : "";

/// Writes one object of columns.
class PageColumns {
 public:
  explicit PageColumns(JsonWriter& json) : json_(json) {}

  /// Of many equal values the first one and their count stand for all.
  template <class T>
  void add(std::string_view name, const std::vector<T>& values) {
    static_assert(!kColumnType<T>.empty(), "the page's script reads no such numbers");
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

/// Writes an object of columns with a value for each of some rows: what a function makes of the row, whose
/// type is the column's. What add_known() and add_used() leave out is as with PageColumns. All is made row by
/// row, and written, by write(), so the functions have to live until then.
template <class Rows>
class PageTable {
 public:
  using Row = typename Rows::value_type;

  explicit PageTable(const Rows& rows) : rows_(rows) {}

  template <class Of>
  void add(std::string_view name, Of of) {
    add_column(std::move(of),
               [name](PageColumns& columns, const auto& values) { columns.add(name, values); });
  }
  template <class Of>
  void add_known(std::string_view name, Of of) {
    add_column(std::move(of),
               [name](PageColumns& columns, const auto& values) { columns.add_known(name, values); });
  }
  template <class Of>
  void add_used(std::string_view name, Of of) {
    add_column(std::move(of),
               [name](PageColumns& columns, const auto& values) { columns.add_used(name, values); });
  }

  /// Values of which each row has as many as it has.
  template <class T>
  void add_all(std::string_view name, std::vector<T> values) {
    columns_.push_back({[](const Row&) {}, [name, values = std::move(values)](
                                               PageColumns& columns) { columns.add(name, values); }});
  }

  void write(PageColumns& columns) const {
    for (const Row& row : rows_) {
      for (const Column& column : columns_) column.take(row);
    }
    for (const Column& column : columns_) column.write(columns);
  }

  void write(JsonWriter& json, std::string_view name) const {
    json.key(name).open('{');
    PageColumns columns(json);
    write(columns);
    json.close('}');
  }

 private:
  struct Column {
    std::function<void(const Row& row)> take;
    std::function<void(PageColumns& columns)> write;
  };

  template <class Of, class Write>
  void add_column(Of of, Write write) {
    const auto values = std::make_shared<std::vector<std::invoke_result_t<Of&, const Row&>>>();
    values->reserve(rows_.size());
    columns_.push_back({[values, of = std::move(of)](const Row& row) { values->push_back(of(row)); },
                        [values, write](PageColumns& columns) { write(columns, *values); }});
  }

  const Rows& rows_;
  std::vector<Column> columns_;
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

inline std::uint8_t flag_of(bool flag) {
  return flag ? 1 : 0;
}

inline std::uint8_t byte_of(std::uint64_t number) {
  return static_cast<std::uint8_t>(std::min<std::uint64_t>(number, UINT8_MAX));
}

}  // namespace opdump::tool
