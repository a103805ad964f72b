#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace opdump::tool {

/// Adds values to a text that this program alone reads back, by FieldReader.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& text) : text_(text) {}

  template <class T>
  FieldWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof bytes);
    return *this;
  }

  FieldWriter& text(std::string_view value) {
    put(static_cast<std::uint32_t>(value.size()));
    text_.append(value);
    return *this;
  }

  template <class T>
  FieldWriter& list(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }

 private:
  std::string& text_;
};

/// Reads values in the order in which they were written. What is missing at the end stays as it is.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : left_(text) {}

  template <class T>
  FieldReader& get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (left_.size() < sizeof value) return *this;
    std::memcpy(static_cast<void*>(&value), left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return *this;
  }

  template <class T>
  T next() {
    T value{};
    get(value);
    return value;
  }

  std::string_view text() {
    const std::size_t bytes = next<std::uint32_t>();
    const std::string_view value = left_.substr(0, bytes);
    left_.remove_prefix(value.size());
    return value;
  }

  FieldReader& get(std::string& value) {
    value = text();
    return *this;
  }

  template <class T>
  FieldReader& list(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string_view bytes = text();
    values.resize(bytes.size() / sizeof(T));
    if (!values.empty())
      std::memcpy(static_cast<void*>(values.data()), bytes.data(), values.size() * sizeof(T));
    return *this;
  }

 private:
  std::string_view left_;
};

/// Values that can be written as they lie in memory.
template <class T>
requires std::is_trivially_copyable_v<T>
void write_fields(FieldWriter& to, const T& value) {
  to.put(value);
}

template <class T>
requires std::is_trivially_copyable_v<T>
void read_fields(FieldReader& from, T& value) {
  from.get(value);
}

}  // namespace opdump::tool
