#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "opdump/base/bytes.hpp"

namespace opdump::tool {

/// Reads an untrusted FlatBuffer. A place outside of the file reads as 0, and `good` becomes false.
/// Source: the FlatBuffers binary format.
class FlatFile {
 public:
  explicit FlatFile(Bytes bytes) : bytes_(bytes) {}

  bool good() const { return good_; }

  template <class Number>
  Number read(std::uint64_t at) {
    Number number{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof number) {
      good_ = false;
      return number;
    }
    if constexpr (std::is_same_v<Number, float>) {
      return std::bit_cast<float>(load_little_endian<std::uint32_t>(bytes_.data() + at));
    } else {
      return static_cast<Number>(load_little_endian<std::make_unsigned_t<Number>>(bytes_.data() + at));
    }
  }

  /// Where the offset at this place leads.
  std::uint64_t follow(std::uint64_t at) { return at + read<std::uint32_t>(at); }

  std::string_view text(std::uint64_t at, std::uint64_t count) {
    if (at > bytes_.size() || bytes_.size() - at < count) {
      good_ = false;
      return {};
    }
    return as_text(bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
  }

  void fail() { good_ = false; }

 private:
  Bytes bytes_;
  bool good_ = true;
};

/// A vector of a FlatBuffer; an absent one is empty.
struct FlatVector {
  std::uint64_t at = 0;  ///< of the first element
  std::uint32_t count = 0;
};

/// A table of a FlatBuffer; an absent one has no fields.
class FlatTable {
 public:
  FlatTable(FlatFile& file, std::uint64_t at) : file_(&file), at_(at) {
    const std::int32_t back = file.read<std::int32_t>(at);
    vtable_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(at) - back);
    vtable_bytes_ = file.read<std::uint16_t>(vtable_);
  }
  static FlatTable absent(FlatFile& file) { return FlatTable(file); }

  bool has(std::uint32_t field) const { return place(field) != 0; }

  template <class Number>
  Number number(std::uint32_t field, Number otherwise = {}) const {
    const std::uint64_t at = place(field);
    return at == 0 ? otherwise : file_->read<Number>(at);
  }

  FlatTable table(std::uint32_t field) const {
    const std::uint64_t at = place(field);
    return at == 0 ? absent(*file_) : FlatTable(*file_, file_->follow(at));
  }

  /// Of elements of `element_bytes` bytes; one that is longer than the file is damage.
  FlatVector vector(std::uint32_t field, std::uint64_t element_bytes) const {
    const std::uint64_t at = place(field);
    if (at == 0) return {};
    const std::uint64_t start = file_->follow(at);
    const std::uint32_t count = file_->read<std::uint32_t>(start);
    static_cast<void>(file_->text(start + 4, count * element_bytes));
    return file_->good() ? FlatVector{start + 4, count} : FlatVector{};
  }

  std::string_view text(std::uint32_t field) const {
    const FlatVector bytes = vector(field, 1);
    return file_->text(bytes.at, bytes.count);
  }

  /// Element `i` of a vector of tables.
  FlatTable element(const FlatVector& of, std::uint32_t i) const {
    return FlatTable(*file_, file_->follow(of.at + std::uint64_t{i} * 4));
  }

  template <class Number>
  Number element_number(const FlatVector& of, std::uint32_t i) const {
    return file_->read<Number>(of.at + std::uint64_t{i} * sizeof(Number));
  }

 private:
  explicit FlatTable(FlatFile& file) : file_(&file) {}

  /// 0 where the field is absent.
  std::uint64_t place(std::uint32_t field) const {
    const std::uint32_t slot = 4 + 2 * field;
    if (slot + 2 > vtable_bytes_) return 0;
    const std::uint16_t offset = file_->read<std::uint16_t>(vtable_ + slot);
    return offset == 0 ? 0 : at_ + offset;
  }

  FlatFile* file_;
  std::uint64_t at_ = 0;
  std::uint64_t vtable_ = 0;
  std::uint16_t vtable_bytes_ = 0;
};

}  // namespace opdump::tool
