#include "src/tool/read/dump/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "opdump/base/bytes.hpp"
#include "opdump/impl/stats/numbers.hpp"

namespace opdump::tool {
namespace {

template <std::size_t kBytes>
using UnsignedOf =
    std::tuple_element_t<std::countr_zero(kBytes),
                         std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;

template <class T>
T load(const std::byte* from) {
  return std::bit_cast<T>(load_little_endian<UnsignedOf<sizeof(T)>>(from));
}

template <class T, class Number>
void read_plain(const std::byte* from, std::size_t count, Number* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Number>(load<T>(from + i * sizeof(T)));
}

template <class Number>
void read_bool(const std::byte* from, std::size_t count, Number* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] == std::byte{0} ? 0 : 1;
}

template <class Format, class T>
void read_floating(const std::byte* from, std::size_t count, T* to) {
  using Bits = typename Format::Bits;
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(float_value<Format>(load_element<Bits>(from + i * sizeof(Bits))));
}

/// The upper half of a float32.
template <class T>
void read_bfloat16(const std::byte* from, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = load<std::uint16_t>(from + 2 * i);
    to[i] = static_cast<T>(std::bit_cast<float>(bits << 16));
  }
}

/// All there are of a type without infinities and NaNs.
double float4_e2m1(std::uint32_t bits) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double size = kMagnitudes[bits & 7];
  return bits > 7 ? -size : size;
}

template <double (*kDecode)(std::uint32_t bits), class Number>
void read_bytes_as(const std::byte* from, std::size_t count, Number* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<Number>(kDecode(std::to_integer<std::uint32_t>(from[i])));
}

/// Without infinities, and with one zero: the code of the other is the NaN. The bias is one more than usual.
template <int kMantissaBits>
double float8_fnuz(std::uint32_t bits) {
  constexpr std::uint32_t kNan = 0x80;
  constexpr int kBias = 1 << (6 - kMantissaBits);
  if (bits == kNan) return std::numeric_limits<double>::quiet_NaN();
  const int mantissa = static_cast<int>(bits & ((1u << kMantissaBits) - 1));
  const int exponent = static_cast<int>((bits & 0x7f) >> kMantissaBits);
  const double size = exponent == 0
                          ? std::ldexp(mantissa, 1 - kBias - kMantissaBits)
                          : std::ldexp((1 << kMantissaBits) + mantissa, exponent - kBias - kMantissaBits);
  return bits > kNan ? -size : size;
}

double float8_e8m0(std::uint32_t bits) {
  constexpr std::uint32_t kNan = 255;
  return bits == kNan ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

/// A sign, then a prefix code that says how many bits the exponent has (none for subnormals, whose three bits
/// are an exponent), the exponent as sign and magnitude without its leading one, and the mantissa.
double hifloat8(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity = 0x6f;
  const bool negative = (bits & 0x80) != 0;
  const std::uint32_t code = bits & 0x7f;
  if (code == 0) return negative ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  int exponent = 0;
  double value = std::numeric_limits<double>::infinity();
  if (code < 8) {
    value = std::ldexp(1.0, static_cast<int>(code) - 23);
  } else if (code != kInfinity) {
    const int exponent_bits = code < 0x10 ? 0 : code < 0x20 ? 1 : code < 0x40 ? 2 : code < 0x60 ? 3 : 4;
    const int mantissa_bits = exponent_bits < 2 ? 3 : 5 - exponent_bits;
    const std::uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
    if (exponent_bits != 0) {
      const std::uint32_t raw = code >> mantissa_bits & ((1u << exponent_bits) - 1);
      const std::uint32_t sign = raw >> (exponent_bits - 1);
      const int magnitude = static_cast<int>(raw | 1u << (exponent_bits - 1));
      exponent = sign != 0 ? -magnitude : magnitude;
    }
    value = std::ldexp(1.0 + std::ldexp(mantissa, -mantissa_bits), exponent);
  }
  return negative ? -value : value;
}

template <int kBits, double (*kDecode)(std::uint32_t bits), class Number>
void read_packed(const std::byte* from, std::size_t count, Number* to) {
  constexpr std::size_t kPerByte = 8 / kBits;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t byte = std::to_integer<std::uint32_t>(from[i / kPerByte]);
    to[i] = static_cast<Number>(kDecode(byte >> (i % kPerByte * kBits) & ((1u << kBits) - 1)));
  }
}

template <int kBits>
double signed_bits(std::uint32_t bits) {
  constexpr int kSign = 1 << (kBits - 1);
  return (static_cast<int>(bits) ^ kSign) - kSign;
}

double unsigned_bits(std::uint32_t bits) {
  return bits;
}

template <class Number>
void read_uint1(const std::byte* from, std::size_t count, Number* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<Number>(std::to_integer<std::uint32_t>(from[i / 8]) >> (7 - i % 8) & 1);
}

template <ReadElements kReadParts, std::size_t kPartBytes>
void read_magnitudes(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) {
    double parts[2];
    kReadParts(from + i * 2 * kPartBytes, 2, parts);
    to[i] = std::hypot(parts[0], parts[1]);
  }
}

/// The real part of pairs.
template <ReadFloats kReadParts, std::size_t kPartBytes>
void read_real_parts(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) kReadParts(from + i * 2 * kPartBytes, 1, to + i);
}

/// Null for complex dtypes, and for those whose elements are not numbers, or whose coding is unknown.
template <class Number>
auto real_reader(DType dtype) -> void (*)(const std::byte* from, std::size_t count, Number* to) {
  switch (dtype) {
    case DType::float32:
      return read_plain<float, Number>;
    case DType::float64:
      return read_plain<double, Number>;
    case DType::float16:
      return read_floating<Float16Format, Number>;
    case DType::bfloat16:
      return read_bfloat16<Number>;
    case DType::int8:
    case DType::qint8:
      return read_plain<std::int8_t, Number>;
    case DType::int16:
    case DType::qint16:
      return read_plain<std::int16_t, Number>;
    case DType::int32:
    case DType::qint32:
      return read_plain<std::int32_t, Number>;
    case DType::int64:
    case DType::resource:
      return read_plain<std::int64_t, Number>;
    case DType::uint8:
    case DType::quint8:
      return read_plain<std::uint8_t, Number>;
    case DType::uint16:
    case DType::quint16:
      return read_plain<std::uint16_t, Number>;
    case DType::uint32:
      return read_plain<std::uint32_t, Number>;
    case DType::uint64:
      return read_plain<std::uint64_t, Number>;
    case DType::boolean:
      return read_bool<Number>;
    case DType::int4:
      return read_packed<4, signed_bits<4>, Number>;
    case DType::int2:
      return read_packed<2, signed_bits<2>, Number>;
    case DType::uint2:
      return read_packed<2, unsigned_bits, Number>;
    case DType::uint4:
      return read_packed<4, unsigned_bits, Number>;
    case DType::float8_e4m3fnuz:
      return read_bytes_as<float8_fnuz<3>, Number>;
    case DType::float8_e5m2fnuz:
      return read_bytes_as<float8_fnuz<2>, Number>;
    case DType::uint1:
      return read_uint1<Number>;
    case DType::float8_e5m2:
      return read_floating<Float8E5m2Format, Number>;
    case DType::float8_e4m3fn:
      return read_floating<Float8E4m3fnFormat, Number>;
    case DType::float8_e8m0:
      return read_bytes_as<float8_e8m0, Number>;
    case DType::hifloat8:
      return read_bytes_as<hifloat8, Number>;
    case DType::float4_e2m1:
      return read_packed<4, float4_e2m1, Number>;
    default:
      return nullptr;
  }
}

}  // namespace

ReadElements element_reader(DType dtype) {
  switch (dtype) {
    case DType::complex32:
      return read_magnitudes<read_floating<Float16Format, double>, 2>;
    case DType::complex64:
      return read_magnitudes<read_plain<float, double>, 4>;
    case DType::complex128:
      return read_magnitudes<read_plain<double, double>, 8>;
    default:
      return real_reader<double>(dtype);
  }
}

ReadFloats float_reader(DType dtype) {
  switch (dtype) {
    case DType::complex32:
      return read_real_parts<read_floating<Float16Format, float>, 2>;
    case DType::complex64:
      return read_real_parts<read_plain<float, float>, 4>;
    case DType::complex128:
      return read_real_parts<read_plain<double, float>, 8>;
    default:
      return real_reader<float>(dtype);
  }
}

bool is_complex(DType dtype) {
  return dtype == DType::complex32 || dtype == DType::complex64 || dtype == DType::complex128;
}

namespace {

template <class T>
void read_plain_pairs(const std::byte* from, std::size_t count, double* first, double* second) {
  read_plain<T, double>(from, count, first);
  std::fill_n(second, count, 0.0);
}

/// The upper half, and what it leaves.
template <class T>
void read_halves(const std::byte* from, std::size_t count, double* first, double* second) {
  constexpr int kHalf = 32;
  for (std::size_t i = 0; i < count; ++i) {
    const T value = load<T>(from + i * sizeof(T));
    first[i] = std::ldexp(static_cast<double>(value >> kHalf), kHalf);
    second[i] = static_cast<double>(static_cast<std::uint32_t>(value));
  }
}

template <ReadElements kReadParts, std::size_t kPartBytes>
void read_parts(const std::byte* from, std::size_t count, double* first, double* second) {
  for (std::size_t i = 0; i < count; ++i) {
    kReadParts(from + i * 2 * kPartBytes, 1, first + i);
    kReadParts(from + (i * 2 + 1) * kPartBytes, 1, second + i);
  }
}

}  // namespace

ReadPairs pair_reader(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return read_plain_pairs<double>;
    case DType::int32:
    case DType::qint32:
      return read_plain_pairs<std::int32_t>;
    case DType::uint32:
      return read_plain_pairs<std::uint32_t>;
    case DType::int64:
    case DType::resource:
      return read_halves<std::int64_t>;
    case DType::uint64:
      return read_halves<std::uint64_t>;
    case DType::complex32:
      return read_parts<read_floating<Float16Format, double>, 2>;
    case DType::complex64:
      return read_parts<read_plain<float, double>, 4>;
    case DType::complex128:
      return read_parts<read_plain<double, double>, 8>;
    default:
      return nullptr;
  }
}

}  // namespace opdump::tool
