#pragma once
#include <cstddef>
#include <iterator>
#include <string>

namespace opdump::tool {

/// Goes through what `List` reads by number, `read(number, text, value)`: one value, and the text that it is
/// made of, in memory at a time.
template <class List>
class NumberedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = typename List::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = const value_type&;

  NumberedIterator(const List& list, std::size_t number) : list_(&list), number_(number) { read(); }

  reference operator*() const { return value_; }
  pointer operator->() const { return &value_; }
  NumberedIterator& operator++() {
    ++number_;
    read();
    return *this;
  }
  bool operator==(const NumberedIterator& other) const { return number_ == other.number_; }
  bool operator!=(const NumberedIterator& other) const { return number_ != other.number_; }

 private:
  void read() {
    if (number_ < list_->size()) list_->read(number_, text_, value_);
  }

  const List* list_;
  std::size_t number_;
  std::string text_{};
  value_type value_{};
};

}  // namespace opdump::tool
