#include "elements.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "opdump/bytes.hpp"

namespace opdump::tool {
namespace {

template <std::size_t kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = std::uint64_t;
};

template <class T>
T load(const std::byte* from) {
  return std::bit_cast<T>(load_little_endian<typename UnsignedOf<sizeof(T)>::Type>(from));
}

template <class T>
void read_plain(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<double>(load<T>(from + i * sizeof(T)));
}

void read_bool(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] == std::byte{0} ? 0 : 1;
}

/// What the highest exponent of a small floating-point type stands for.
enum class Top { infinity_and_nan, nan_at_all_ones, number };

/// A floating-point type with a sign, `kExponent` and `kMantissa` bits, and the usual bias.
template <int kExponent, int kMantissa, Top kTop>
double small_float(std::uint32_t bits) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr int kHighest = (1 << kExponent) - 1;
  constexpr int kAllOnes = (1 << kMantissa) - 1;
  const int exponent = static_cast<int>(bits >> kMantissa) & kHighest;
  const int mantissa = static_cast<int>(bits) & kAllOnes;
  const bool negative = (bits >> (kExponent + kMantissa) & 1) != 0;
  double value;
  if (kTop == Top::infinity_and_nan && exponent == kHighest) {
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (kTop == Top::nan_at_all_ones && exponent == kHighest && mantissa == kAllOnes) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - kBias - kMantissa);
  } else {
    value = std::ldexp(mantissa + (1 << kMantissa), exponent - kBias - kMantissa);
  }
  return negative ? -value : value;
}

double from_float16(std::uint16_t bits) {
  // The exponent is moved to its place in a double and rebased by a multiplication, which gets subnormals
  // right as well; infinities and NaNs keep the highest exponent.
  const std::uint64_t magnitude = std::uint64_t{bits & 0x7fffu} << 42;
  const double value = std::bit_cast<double>(magnitude) * 0x1p1008;
  const std::uint64_t top = (bits & 0x7c00u) == 0x7c00u ? 0x7ff0000000000000u : 0;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | top |
                               std::uint64_t{bits & 0x8000u} << 48);
}

void read_float16(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from_float16(load<std::uint16_t>(from + 2 * i));
}

void read_bfloat16(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<double>(std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from + 2 * i)} << 16));
}

template <double (*kDecode)(std::uint32_t bits)>
void read_bytes_as(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = kDecode(std::to_integer<std::uint32_t>(from[i]));
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

template <int kBits, double (*kDecode)(std::uint32_t bits)>
void read_packed(const std::byte* from, std::size_t count, double* to) {
  constexpr std::size_t kPerByte = 8 / kBits;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t byte = std::to_integer<std::uint32_t>(from[i / kPerByte]);
    to[i] = kDecode(byte >> (i % kPerByte * kBits) & ((1u << kBits) - 1));
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

void read_uint1(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = std::to_integer<std::uint32_t>(from[i / 8]) >> (7 - i % 8) & 1;
}

template <ReadElements kReadParts, std::size_t kPartBytes>
void read_magnitudes(const std::byte* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) {
    double parts[2];
    kReadParts(from + i * 2 * kPartBytes, 2, parts);
    to[i] = std::hypot(parts[0], parts[1]);
  }
}

}  // namespace

ReadElements element_reader(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return read_plain<float>;
    case DType::float64:
      return read_plain<double>;
    case DType::float16:
      return read_float16;
    case DType::bfloat16:
      return read_bfloat16;
    case DType::int8:
    case DType::qint8:
      return read_plain<std::int8_t>;
    case DType::int16:
    case DType::qint16:
      return read_plain<std::int16_t>;
    case DType::int32:
    case DType::qint32:
      return read_plain<std::int32_t>;
    case DType::int64:
    case DType::resource:
      return read_plain<std::int64_t>;
    case DType::uint8:
    case DType::quint8:
      return read_plain<std::uint8_t>;
    case DType::uint16:
    case DType::quint16:
      return read_plain<std::uint16_t>;
    case DType::uint32:
      return read_plain<std::uint32_t>;
    case DType::uint64:
      return read_plain<std::uint64_t>;
    case DType::boolean:
      return read_bool;
    case DType::complex32:
      return read_magnitudes<read_float16, 2>;
    case DType::complex64:
      return read_magnitudes<read_plain<float>, 4>;
    case DType::complex128:
      return read_magnitudes<read_plain<double>, 8>;
    case DType::int4:
      return read_packed<4, signed_bits<4>>;
    case DType::int2:
      return read_packed<2, signed_bits<2>>;
    case DType::uint2:
      return read_packed<2, unsigned_bits>;
    case DType::uint1:
      return read_uint1;
    case DType::float8_e5m2:
      return read_bytes_as<small_float<5, 2, Top::infinity_and_nan>>;
    case DType::float8_e4m3fn:
      return read_bytes_as<small_float<4, 3, Top::nan_at_all_ones>>;
    case DType::float8_e8m0:
      return read_bytes_as<float8_e8m0>;
    case DType::hifloat8:
      return read_bytes_as<hifloat8>;
    case DType::float4_e2m1:
      return read_packed<4, small_float<2, 1, Top::number>>;
    default:
      return nullptr;
  }
}

namespace {

template <class T>
void read_plain_floats(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<T>(from + i * sizeof(T)));
}

void read_bool_floats(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] == std::byte{0} ? 0.0f : 1.0f;
}

/// Without a branch, so that the compiler makes vector code of it. Subnormals are numbers of 24 bits scaled.
void read_float16_floats(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = load<std::uint16_t>(from + 2 * i);
    const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
    const std::uint32_t top = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
    const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    to[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | top | (bits & 0x8000u) << 16);
  }
}

void read_bfloat16_floats(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from + 2 * i)} << 16);
}

/// The real part of pairs.
template <ReadFloats kReadParts, std::size_t kPartBytes>
void read_real_floats(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) kReadParts(from + i * 2 * kPartBytes, 1, to + i);
}

template <DType kDType>
void read_other_floats(const std::byte* from, std::size_t count, float* to) {
  constexpr std::size_t kBlock = 256;  // whole bytes, whatever the dtype
  const ReadElements read = element_reader(kDType);
  double numbers[kBlock];
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t now = count - done < kBlock ? count - done : kBlock;
    read(from + done * info(kDType).bits / 8, now, numbers);
    for (std::size_t i = 0; i < now; ++i) to[done + i] = static_cast<float>(numbers[i]);
  }
}

}  // namespace

bool is_complex(DType dtype) {
  return dtype == DType::complex32 || dtype == DType::complex64 || dtype == DType::complex128;
}

ReadFloats float_reader(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return read_plain_floats<float>;
    case DType::float64:
      return read_plain_floats<double>;
    case DType::float16:
      return read_float16_floats;
    case DType::bfloat16:
      return read_bfloat16_floats;
    case DType::int8:
    case DType::qint8:
      return read_plain_floats<std::int8_t>;
    case DType::int16:
    case DType::qint16:
      return read_plain_floats<std::int16_t>;
    case DType::int32:
    case DType::qint32:
      return read_plain_floats<std::int32_t>;
    case DType::int64:
    case DType::resource:
      return read_plain_floats<std::int64_t>;
    case DType::uint8:
    case DType::quint8:
      return read_plain_floats<std::uint8_t>;
    case DType::uint16:
    case DType::quint16:
      return read_plain_floats<std::uint16_t>;
    case DType::uint32:
      return read_plain_floats<std::uint32_t>;
    case DType::uint64:
      return read_plain_floats<std::uint64_t>;
    case DType::boolean:
      return read_bool_floats;
    case DType::complex32:
      return read_real_floats<read_float16_floats, 2>;
    case DType::complex64:
      return read_real_floats<read_plain_floats<float>, 4>;
    case DType::complex128:
      return read_real_floats<read_plain_floats<double>, 8>;
    case DType::int4:
      return read_other_floats<DType::int4>;
    case DType::int2:
      return read_other_floats<DType::int2>;
    case DType::uint2:
      return read_other_floats<DType::uint2>;
    case DType::uint1:
      return read_other_floats<DType::uint1>;
    case DType::hifloat8:
      return read_other_floats<DType::hifloat8>;
    case DType::float8_e5m2:
      return read_other_floats<DType::float8_e5m2>;
    case DType::float8_e4m3fn:
      return read_other_floats<DType::float8_e4m3fn>;
    case DType::float8_e8m0:
      return read_other_floats<DType::float8_e8m0>;
    case DType::float4_e2m1:
      return read_other_floats<DType::float4_e2m1>;
    default:
      return nullptr;
  }
}

}  // namespace opdump::tool
