#pragma once
#include <cstddef>
#include <string>
#include <utility>

#include "src/tool/read/dump/fields.hpp"
#include "src/tool/read/dump/numbered_iterator.hpp"
#include "src/tool/read/dump/spilled_table.hpp"

namespace opdump::tool {

/// As a SpilledTable of values, which `write_fields(FieldWriter&, const T&)` and
/// `read_fields(FieldReader&, T&)` turn into texts and back. Gives copies of them; T{} in place of what the
/// temporary file does not give back.
template <class T>
class SpilledList {
 public:
  using value_type = T;

  SpilledList() = default;
  SpilledList(SpilledList&&) noexcept = default;
  SpilledList& operator=(SpilledList&&) noexcept = default;
  SpilledList(const SpilledList& other) { *this = other; }
  SpilledList& operator=(const SpilledList& other) {
    if (this == &other) return *this;
    clear();
    for (std::size_t i = 0; i < other.size() && other.table_.read(i, text_); ++i) table_.add(text_);
    return *this;
  }

  void push_back(const T& value) {
    text_.clear();
    FieldWriter fields(text_);
    write_fields(fields, value);
    static_cast<void>(table_.add(text_));
  }

  void clear() { table_ = SpilledTable(); }

  std::size_t size() const { return table_.size(); }
  bool empty() const { return size() == 0; }

  T operator[](std::size_t number) const {
    T value{};
    std::string text;
    read(number, text, value);
    return value;
  }

  T back() const { return (*this)[size() - 1]; }

  /// As operator[], into `value`; `text` is only so that its memory is used again.
  void read(std::size_t number, std::string& text, T& value) const {
    text.clear();
    value = T{};
    if (!table_.read(number, text)) return;
    FieldReader fields(text);
    read_fields(fields, value);
  }

  /// Why values are missing; else empty.
  const std::string& error() const { return table_.error(); }

  using Iterator = NumberedIterator<SpilledList>;
  Iterator begin() const { return Iterator(*this, 0); }
  Iterator end() const { return Iterator(*this, size()); }

 private:
  SpilledTable table_;
  std::string text_;
};

}  // namespace opdump::tool
