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
#include <utility>
#include <vector>

#include "src/tool/cli/base64.hpp"
#include "src/tool/page/page_writer.hpp"
#include "src/tool/read/dump/found_files.hpp"

namespace opdump::tool {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

template <class T>
constexpr std::string_view kColumnType = std::is_same_v<T, float>           ? "f32:"
                                         : std::is_same_v<T, double>        ? "f64:"
                                         : std::is_same_v<T, std::uint32_t> ? "u32:"
                                         : std::is_same_v<T, std::uint8_t>  ? "u8:"
                                                                            : "";

/// The numbers of one column.
template <class T>
class ColumnValues {
 public:
  void push_back(T value) {
    same_ = same_ && (values_.empty() || std::memcmp(&value, &values_[0], sizeof value) == 0);
    used_ = used_ || value != T{};
    if constexpr (std::is_floating_point_v<T>) known_ = known_ || !std::isnan(value);
    values_.push_back(value);
  }

  std::size_t size() const { return values_.size(); }
  bool are_same() const { return same_; }    ///< bit by bit
  bool any_used() const { return used_; }    ///< one is not 0
  bool any_known() const { return known_; }  ///< one is no NaN

  /// Gives the first `count` of them to `put`, as base64 in pieces.
  template <class Put>
  void base64(std::size_t count, Put put) const {
    constexpr std::size_t kPiece = (std::size_t{16} << 10) / sizeof(T);
    Base64 text;
    for (std::span<const T> left(values_.data(), count); !left.empty();) {
      const std::span<const T> piece = left.first(std::min(kPiece, left.size()));
      put(text.add(std::as_bytes(piece)));
      left = left.subspan(piece.size());
    }
    put(text.finish());
  }

 private:
  std::vector<T> values_;
  bool same_ = true;
  bool used_ = false;
  bool known_ = !std::is_floating_point_v<T>;
};

/// Writes one object of columns.
class PageColumns {
 public:
  explicit PageColumns(PageWriter& json) : json_(json) {}

  /// Of many equal values the first one and their count stand for all.
  template <class T>
  void add(std::string_view name, const ColumnValues<T>& values) {
    static_assert(!kColumnType<T>.empty(), "the page's script reads no such numbers");
    const bool same = values.size() > 1 && values.are_same();
    json_.key(name);
    json_.pieces([&](const auto& put) {
      put((same ? std::to_string(values.size()) + '*' : std::string()) + std::string(kColumnType<T>));
      values.base64(same ? 1 : values.size(), put);
    });
  }

  /// None where no value is known.
  void add_known(std::string_view name, const ColumnValues<float>& values) {
    if (values.any_known()) add(name, values);
  }

  /// None where all are 0.
  template <class T>
  void add_used(std::string_view name, const ColumnValues<T>& values) {
    if (values.any_used()) add(name, values);
  }

 private:
  PageWriter& json_;
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
  void add_all(std::string_view name, std::shared_ptr<ColumnValues<T>> values) {
    columns_.push_back(
        {[](const Row&) {}, [name, values](PageColumns& columns) { columns.add(name, *values); }});
  }

  /// Asks `goes_on` before each row; without columns once that is false.
  void write(PageColumns& columns, const std::function<bool()>& goes_on) const {
    for (const Row& row : rows_) {
      if (goes_on && !goes_on()) return;
      for (const Column& column : columns_) column.take(row);
    }
    for (const Column& column : columns_) column.write(columns);
  }

  void write(PageWriter& json, std::string_view name, const std::function<bool()>& goes_on = {}) const {
    json.key(name).open('{');
    PageColumns columns(json);
    write(columns, goes_on);
    json.close('}');
  }

 private:
  struct Column {
    std::function<void(const Row& row)> take;
    std::function<void(PageColumns& columns)> write;
  };

  template <class Of, class Write>
  void add_column(Of of, Write write) {
    const auto values = std::make_shared<ColumnValues<std::invoke_result_t<Of&, const Row&>>>();
    columns_.push_back({[values, of = std::move(of)](const Row& row) { values->push_back(of(row)); },
                        [values, write](PageColumns& columns) { write(columns, *values); }});
  }

  const Rows& rows_;
  std::vector<Column> columns_;
};

/// Texts that columns name by their numbers.
class PageTexts {
 public:
  PageTexts() { number(""); }

  /// 0 is the empty text.
  std::uint32_t number(std::string_view text) {
    bool is_new = false;
    const std::uint32_t number = texts_.number(text, is_new);
    if (is_new) bytes_ += text.size();
    return number;
  }

  /// Of all of them.
  std::uint64_t bytes() const { return bytes_; }

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t number) const { return texts_.text(number); }

 private:
  NumberedTexts texts_;
  std::uint64_t bytes_ = 0;
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
