#include "src/tool/read/dump/npy_array.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "opdump/base/bytes.hpp"
#include "opdump/format/npy_head.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

/// The few words of Python that NumPy writes into a header: a dict of strings, booleans and tuples of numbers.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string_view> string() {
    for (const std::string_view quote : {"'", "\""}) {
      if (!take(quote)) continue;
      const std::size_t end = text_.find(quote[0]);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view inside = text_.substr(0, end);
      text_.remove_prefix(end + 1);
      return inside;
    }
    return std::nullopt;
  }

  std::optional<std::vector<Dim>> tuple() {
    if (!take("(")) return std::nullopt;
    std::vector<Dim> dims;
    while (!take(")")) {
      skip_space();
      const std::size_t end = std::min(text_.find_first_not_of("0123456789"), text_.size());
      const std::optional<Dim> dim = parse_decimal(text_.substr(0, end));
      if (!dim) return std::nullopt;
      text_.remove_prefix(end);
      take("L");  // Python 2
      dims.push_back(*dim);
      if (take(",")) continue;
      if (!take(")")) return std::nullopt;
      break;
    }
    return dims;
  }

  bool at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n\r"), text_.size())); }

  std::string_view text_;
};

bool read_dict(std::string_view text, std::string& descr, bool& fortran_order, std::vector<Dim>& shape,
               std::string& reason) {
  HeaderText header(text);
  bool have_descr = false;
  bool have_order = false;
  bool have_shape = false;
  reason = "the header is not what NumPy writes";
  if (!header.take("{")) return false;
  while (!header.take("}")) {
    const std::optional<std::string_view> key = header.string();
    if (!key || !header.take(":")) return false;
    if (*key == "descr") {
      const std::optional<std::string_view> value = header.string();
      if (!value) {
        reason = "structured arrays are not supported: store each field as an array of its own";
        return false;
      }
      descr = *value;
      have_descr = true;
    } else if (*key == "fortran_order") {
      fortran_order = header.take("True");
      if (!fortran_order && !header.take("False")) return false;
      have_order = true;
    } else if (*key == "shape") {
      std::optional<std::vector<Dim>> value = header.tuple();
      if (!value) return false;
      shape = std::move(*value);
      have_shape = true;
    } else {
      return false;
    }
    if (header.take(",")) continue;
    if (!header.take("}")) return false;
    break;
  }
  return have_descr && have_order && have_shape && header.at_end();
}

bool read_descr(NpyFile& file, std::string& reason) {
  const std::string_view descr = file.descr;
  const bool has_order = !descr.empty() && (descr[0] == '<' || descr[0] == '>' || descr[0] == '|');
  for (int i = 0; has_order && i < kDTypeCount; ++i) {
    const std::string_view known = kDTypes[i].npy_descr;
    if (known.empty() || known.substr(1) != descr.substr(1)) continue;
    file.dtype = static_cast<DType>(i);
    file.form.item_bytes = static_cast<std::uint8_t>(kDTypes[i].bits / 8);
    const int numbers = descr[1] == 'c' ? 2 : 1;
    if (descr[0] == '>' && file.form.item_bytes > 1)
      file.form.swapped_bytes = static_cast<std::uint8_t>(file.form.item_bytes / numbers);
    return true;
  }
  if (descr.size() > 2 && descr[1] == 'V') {
    const std::optional<std::uint64_t> bytes = parse_decimal(descr.substr(2));
    constexpr std::uint64_t kMostBytes = 16;
    if (bytes && *bytes > 0 && *bytes <= kMostBytes) {
      file.form.item_bytes = static_cast<std::uint8_t>(*bytes);
      return true;
    }
  }
  reason = "NumPy's dtype '" + file.descr + "' is not supported";
  if (descr.size() > 1 && descr[1] == 'O') reason += ": Python objects have no bytes to dump";
  return false;
}

}  // namespace

std::string npy_header(std::string_view descr, Shape shape) {
  using namespace npy_head;
  std::string text(kDescr);
  text.append(descr).append(kShape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (shape.size() == 1) text += ',';
  text += kEnd;
  // NumPy leaves room for the first dim to grow to the longest number there is.
  constexpr std::size_t kMostDigits = 21;
  if (!shape.empty()) text.append(kMostDigits - std::to_string(shape[0]).size(), ' ');
  text.append(blanks_behind(kPrefixBytes + text.size()), ' ');
  text += '\n';
  std::string header(kMagic);
  header += kVersion;
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

bool parse_npy(Bytes start, NpyFile& file, std::string& reason) {
  file = {};
  reason = "not an .npy file";
  ByteReader in(start);
  if (as_text(in.take(npy_head::kMagic.size())) != npy_head::kMagic) return false;
  const std::uint8_t version = in.read<std::uint8_t>();
  in.read<std::uint8_t>();
  if (!in.truncated() && (version < 1 || version > 3)) {
    reason = ".npy version " + std::to_string(version) + " is not supported: 1, 2 and 3 are";
    return false;
  }
  const std::uint64_t length = version == 1 ? in.read<std::uint16_t>() : in.read<std::uint32_t>();
  const std::string_view text = as_text(in.take(length));
  if (in.truncated()) {
    reason =
        length > kMostNpyHeadBytes ? "the .npy header is too long" : "the file ends inside its .npy header";
    return false;
  }
  bool fortran_order = false;
  if (!read_dict(text, file.descr, fortran_order, file.shape, reason)) return false;
  if (!read_descr(file, reason)) return false;
  file.form.fortran_order = fortran_order && file.shape.size() > 1;
  if (file.shape.size() > kMaxRank) {
    reason = "the array has more than " + std::to_string(kMaxRank) + " dims";
    return false;
  }
  const Result<std::uint64_t> count = element_count(file.shape);
  if (!count.ok() || count.value() > (std::uint64_t{1} << 62) / file.form.item_bytes) {
    reason = "the array's shape passes every memory";
    return false;
  }
  file.data_offset = in.position();
  file.data_bytes = count.value() * file.form.item_bytes;
  return true;
}

namespace {

/// NaNs keep their bits, which they would not on the way through a floating-point register.
void widen_bfloat16(const std::byte* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i)
    store_little_endian(to + 4 * i, std::uint32_t{load_little_endian<std::uint16_t>(from + 2 * i)} << 16);
}

void store(std::byte* to, double value) {
  store_little_endian(to, std::bit_cast<std::uint64_t>(value));
}
void store(std::byte* to, float value) {
  store_little_endian(to, std::bit_cast<std::uint32_t>(value));
}
void store(std::byte* to, std::int8_t value) {
  store_little_endian(to, static_cast<std::uint8_t>(value));
}
void store(std::byte* to, std::uint8_t value) {
  store_little_endian(to, value);
}

template <DType kDType, class To>
void convert_numbers(const std::byte* from, std::size_t count, std::byte* to) {
  constexpr std::size_t kBlock = 256;
  const ReadElements read = element_reader(kDType);
  double numbers[kBlock];
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t now = count - done < kBlock ? count - done : kBlock;
    read(from + done * info(kDType).bits / 8, now, numbers);
    for (std::size_t i = 0; i < now; ++i) store(to + (done + i) * sizeof(To), static_cast<To>(numbers[i]));
  }
}

void widen_complex32(const std::byte* from, std::size_t count, std::byte* to) {
  convert_numbers<DType::float16, float>(from, 2 * count, to);
}

struct DTypeConversion {
  DType dtype;
  std::string_view descr;
  std::uint32_t item_bytes;
  ConvertElements convert;
};

/// Dtypes that NumPy has not, or msaccucmp turns into another.
constexpr DTypeConversion kConversions[] = {
    {DType::bfloat16, "<f4", 4, widen_bfloat16},
    {DType::complex32, "<c8", 8, widen_complex32},
    {DType::int4, "|i1", 1, convert_numbers<DType::int4, std::int8_t>},
    {DType::int2, "|i1", 1, convert_numbers<DType::int2, std::int8_t>},
    {DType::uint2, "|u1", 1, convert_numbers<DType::uint2, std::uint8_t>},
    {DType::uint4, "|u1", 1, convert_numbers<DType::uint4, std::uint8_t>},
    {DType::float8_e4m3fnuz, "<f4", 4, convert_numbers<DType::float8_e4m3fnuz, float>},
    {DType::float8_e5m2fnuz, "<f4", 4, convert_numbers<DType::float8_e5m2fnuz, float>},
    {DType::uint1, "|u1", 1, convert_numbers<DType::uint1, std::uint8_t>},
    {DType::hifloat8, "<f8", 8, convert_numbers<DType::hifloat8, double>},
    {DType::float8_e5m2, "<f8", 8, convert_numbers<DType::float8_e5m2, double>},
    {DType::float8_e4m3fn, "<f8", 8, convert_numbers<DType::float8_e4m3fn, double>},
    {DType::float8_e8m0, "<f4", 4, convert_numbers<DType::float8_e8m0, float>},
    {DType::float4_e2m1, "<f4", 4, convert_numbers<DType::float4_e2m1, float>},
    {DType::qint8, "|i1", 1, nullptr},
    {DType::qint16, "<i2", 2, nullptr},
    {DType::qint32, "<i4", 4, nullptr},
    {DType::quint8, "|u1", 1, nullptr},
    {DType::quint16, "<u2", 2, nullptr},
};

bool find_dtype(const RecordTensor& tensor, NpyArray& array, std::string& reason) {
  array.element_bits = info(tensor.dtype).bits;
  if (!info(tensor.dtype).npy_descr.empty()) {
    array.descr = info(tensor.dtype).npy_descr;
    array.item_bytes = array.element_bits / 8;
    return true;
  }
  for (const DTypeConversion& conversion : kConversions) {
    if (conversion.dtype != tensor.dtype) continue;
    array.descr = conversion.descr;
    array.item_bytes = conversion.item_bytes;
    array.convert = conversion.convert;
    return true;
  }
  reason = "there is no array for dtype code " + std::to_string(tensor.dtype_code);
  if (tensor.dtype_known) reason.append(" (").append(info(tensor.dtype).name).append(")");
  return false;
}

}  // namespace

bool describe_array(const RecordTensor& tensor, bool keep_bfloat16, NpyArray& array, std::string& reason) {
  array = {};
  if (tensor.dtype == DType::undefined && tensor.dtype_known) {
    array = {"|i1", {tensor.bytes}, tensor.bytes, 1, 8, nullptr};
    return true;
  }
  array.shape.assign(tensor.shape().begin(), tensor.shape().end());
  const Result<std::uint64_t> count = element_count(tensor.shape());
  if (tensor.has_shape && count.ok() && count.value() == 0) {
    array.descr = info(DType::float64).npy_descr;
    array.item_bytes = 8;
    return true;
  }
  if (!find_dtype(tensor, array, reason)) return false;
  if (keep_bfloat16 && tensor.dtype == DType::bfloat16) {
    array.descr = "<V2";
    array.item_bytes = 2;
    array.convert = nullptr;
  }
  if (!tensor.has_shape) {
    if (tensor.bytes > UINT64_MAX / 8 || tensor.bytes * 8 % array.element_bits != 0) {
      reason = std::to_string(tensor.bytes) + " bytes without a shape are no whole number of elements";
      return false;
    }
    array.elements = tensor.bytes * 8 / array.element_bits;
    array.shape = {array.elements};
    return true;
  }
  const Result<std::uint64_t> needed = packed_bytes(tensor.dtype, tensor.shape());
  if (!needed.ok() || tensor.bytes < needed.value()) {
    reason = "the shape needs " + (needed.ok() ? std::to_string(needed.value()) : std::string("too many")) +
             " bytes, and the tensor has " + std::to_string(tensor.bytes);
    return false;
  }
  array.elements = count.value();
  if (array.shape.empty()) array.shape = {1};
  return true;
}

}  // namespace opdump::tool
