#pragma once
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "src/tool/dump/fields.hpp"
#include "src/tool/dump/spilled_table.hpp"

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

  /// Why values are missing; else empty.
  const std::string& error() const { return table_.error(); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator(const SpilledList& list, std::size_t number) : list_(&list), number_(number) { read(); }

    const T& operator*() const { return value_; }
    const T* operator->() const { return &value_; }
    Iterator& operator++() {
      ++number_;
      read();
      return *this;
    }
    bool operator==(const Iterator& other) const { return number_ == other.number_; }
    bool operator!=(const Iterator& other) const { return number_ != other.number_; }

   private:
    void read() {
      if (number_ < list_->size()) list_->read(number_, text_, value_);
    }

    const SpilledList* list_;
    std::size_t number_;
    std::string text_{};
    T value_{};
  };

  Iterator begin() const { return Iterator(*this, 0); }
  Iterator end() const { return Iterator(*this, size()); }

 private:
  void read(std::size_t number, std::string& text, T& value) const {
    text.clear();
    value = T{};
    if (!table_.read(number, text)) return;
    FieldReader fields(text);
    read_fields(fields, value);
  }

  SpilledTable table_;
  std::string text_;
};

}  // namespace opdump::tool
