#include <algorithm>
#include <cmath>

#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace native_binary {
namespace {

/// Where the elements of inputs are that meet in each element of an output: NumPy's broadcasting.
class Broadcast {
 public:
  bool begin(NativeCall& call, std::size_t inputs) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::vector<Dim>& shape = call.input(i).dims;
      if (shape.size() > dims_.size()) dims_.insert(dims_.begin(), shape.size() - dims_.size(), 1);
      const std::size_t skipped = dims_.size() - shape.size();
      for (std::size_t d = 0; d < shape.size(); ++d) {
        Dim& dim = dims_[skipped + d];
        if (dim != shape[d] && dim != 1 && shape[d] != 1) return call.refuse("its shapes do not broadcast");
        if (dim == 1) dim = shape[d];
      }
    }
    if (!call.fits(dims_, count_)) return false;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::vector<Dim>& shape = call.input(i).dims;
      std::vector<std::size_t> strides = strides_of(shape);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) strides[d] = 0;
      }
      strides.insert(strides.begin(), dims_.size() - shape.size(), 0);
      strides_.push_back(std::move(strides));
    }
    return true;
  }

  const std::vector<Dim>& dims() const { return dims_; }
  std::size_t count() const { return count_; }

  /// Calls `take(output element, elements of the inputs)` for each.
  template <class Take>
  void for_each(Take take) const {
    std::vector<std::size_t> at(dims_.size()), from(strides_.size());
    for (std::size_t i = 0; i < count_; ++i) {
      take(i, from);
      for (std::size_t d = dims_.size(); d-- != 0;) {
        const bool more = ++at[d] < dims_[d];
        for (std::size_t k = 0; k < from.size(); ++k)
          from[k] = more ? from[k] + strides_[k][d] : from[k] - strides_[k][d] * (at[d] - 1);
        if (more) break;
        at[d] = 0;
      }
    }
  }

 private:
  std::vector<Dim> dims_;
  std::vector<std::vector<std::size_t>> strides_;
  std::size_t count_ = 0;
};

using Wide = unsigned __int128;

/// An integer of 64 bits in a type that holds both kinds.
__int128 widened(DType dtype, std::int64_t value) {
  return dtype == DType::uint64 ? static_cast<__int128>(static_cast<std::uint64_t>(value)) : value;
}

/// All inputs have one dtype, except where `mixed`.
template <class Real, class Integer>
bool fold(NativeCall& call, std::size_t inputs, Real real, Integer integer, bool to_bool = false) {
  const DType dtype = call.input(0).dtype;
  Broadcast broadcast;
  if (!broadcast.begin(call, inputs)) return false;
  if (is_integer_dtype(dtype)) {
    std::vector<std::vector<std::int64_t>> given;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (call.input(i).dtype != dtype) return call.refuse("its inputs have several dtypes");
      given.push_back(integers_of(call.input(i)));
    }
    std::vector<std::int64_t> made(broadcast.count());
    bool good = true;
    broadcast.for_each([&](std::size_t i, const std::vector<std::size_t>& from) {
      __int128 value = widened(dtype, given[0][from[0]]);
      for (std::size_t k = 1; k < inputs && good; ++k)
        good = integer(value, widened(dtype, given[k][from[k]]), value);
      made[i] = static_cast<std::int64_t>(static_cast<Wide>(value));
    });
    if (!good) return call.refuse("it divides integers by zero, or has another result than a number");
    call.give_integers(0, to_bool ? DType::boolean : dtype, broadcast.dims(), made);
    return true;
  }
  std::vector<std::vector<double>> given(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!call.reals(i, given[i])) return false;
  }
  std::vector<double> made(broadcast.count());
  broadcast.for_each([&](std::size_t i, const std::vector<std::size_t>& from) {
    made[i] = given[0][from[0]];
    for (std::size_t k = 1; k < inputs; ++k) made[i] = real(made[i], given[k][from[k]]);
  });
  if (to_bool) {
    call.give_integers(0, DType::boolean, broadcast.dims(), {made.begin(), made.end()});
  } else {
    call.give_reals(0, broadcast.dims(), made);
  }
  return true;
}

bool add_all(NativeCall& call, std::size_t inputs) {
  return fold(
      call, inputs, [](double a, double b) { return a + b; },
      [](__int128 a, __int128 b, __int128& to) {
        to = a + b;
        return true;
      });
}

bool add(NativeCall& call) {
  return add_all(call, 2);
}

bool subtract(NativeCall& call) {
  return fold(
      call, 2, [](double a, double b) { return a - b; },
      [](__int128 a, __int128 b, __int128& to) {
        to = a - b;
        return true;
      });
}

bool multiply(NativeCall& call) {
  return fold(
      call, 2, [](double a, double b) { return a * b; },
      [](__int128 a, __int128 b, __int128& to) {
        to = static_cast<__int128>(static_cast<Wide>(a) * static_cast<Wide>(b));
        return true;
      });
}

bool divide(NativeCall& call) {
  return fold(
      call, 2, [](double a, double b) { return a / b; },
      [](__int128 a, __int128 b, __int128& to) {
        if (b == 0) return false;
        to = a / b;
        return true;
      });
}

/// The sign is that of the divisor, with "fmod" that of the dividend.
bool modulo(NativeCall& call) {
  const bool as_c = call.integer("fmod", 0) != 0;
  if (!as_c && is_float_dtype(call.input(0).dtype)) return call.refuse("floats without the attribute 'fmod'");
  return fold(
      call, 2, [](double a, double b) { return std::fmod(a, b); },
      [=](__int128 a, __int128 b, __int128& to) {
        if (b == 0) return false;
        to = a % b;
        if (!as_c && to != 0 && (to < 0) != (b < 0)) to += b;
        return true;
      });
}

/// Base and exponent may have different dtypes; the result has that of the base.
bool power(NativeCall& call) {
  Broadcast broadcast;
  if (!broadcast.begin(call, 2)) return false;
  const DType dtype = call.input(0).dtype;
  if (is_integer_dtype(dtype) && is_integer_dtype(call.input(1).dtype)) {
    const std::vector<std::int64_t> base = integers_of(call.input(0)), exponent = integers_of(call.input(1));
    std::vector<std::int64_t> made(broadcast.count());
    bool good = true;
    broadcast.for_each([&](std::size_t i, const std::vector<std::size_t>& from) {
      if (exponent[from[1]] < 0) good = false;
      std::uint64_t factor = static_cast<std::uint64_t>(base[from[0]]), result = 1;
      for (std::int64_t left = exponent[from[1]]; left > 0; left >>= 1, factor *= factor) {
        if ((left & 1) != 0) result *= factor;
      }
      made[i] = static_cast<std::int64_t>(result);
    });
    if (!good) return call.refuse("a power of an integer with a negative exponent");
    call.give_integers(0, dtype, broadcast.dims(), made);
    return true;
  }
  std::vector<double> base, exponent;
  if (!call.reals(0, base) || !call.reals(1, exponent)) return false;
  std::vector<double> made(broadcast.count());
  broadcast.for_each([&](std::size_t i, const std::vector<std::size_t>& from) {
    made[i] = std::pow(base[from[0]], exponent[from[1]]);
  });
  if (is_integer_dtype(dtype)) {
    std::vector<std::int64_t> whole(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!(std::fabs(made[i]) < 0x1p53)) return call.refuse("a power that the integer cannot hold");
      whole[i] = static_cast<std::int64_t>(made[i]);
    }
    call.give_integers(0, dtype, broadcast.dims(), whole);
  } else {
    call.give_reals(0, broadcast.dims(), made);
  }
  return true;
}

bool prelu(NativeCall& call) {
  // The slope broadcasts to the input, never the other way.
  return fold(
      call, 2, [](double x, double slope) { return x < 0 ? x * slope : x; },
      [](__int128 x, __int128 slope, __int128& to) {
        to = x < 0 ? x * slope : x;
        return true;
      });
}

template <class Compare>
bool compare(NativeCall& call, Compare compare) {
  return fold(
      call, 2, [=](double a, double b) { return compare(a, b) ? 1.0 : 0.0; },
      [=](__int128 a, __int128 b, __int128& to) {
        to = compare(a, b) ? 1 : 0;
        return true;
      },
      true);
}

bool equal(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
bool less(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
bool greater(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
bool less_or_equal(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
bool greater_or_equal(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
bool logical_and(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
bool logical_or(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 || b != 0; });
}
bool logical_xor(NativeCall& call) {
  return compare(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

/// How many inputs an operator of any number has; each must be there.
bool count_inputs(NativeCall& call, std::size_t& inputs) {
  inputs = call.inputs();
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!call.has(i)) return call.refuse("input " + std::to_string(i) + " is missing");
  }
  return true;
}

/// NaN wins.
bool extreme(NativeCall& call, bool most) {
  std::size_t inputs = 0;
  return count_inputs(call, inputs) && fold(
                                           call, inputs,
                                           [=](double a, double b) {
                                             if (std::isnan(a) || std::isnan(b)) return std::nan("");
                                             return most ? std::max(a, b) : std::min(a, b);
                                           },
                                           [=](__int128 a, __int128 b, __int128& to) {
                                             to = most ? std::max(a, b) : std::min(a, b);
                                             return true;
                                           });
}

bool maximum(NativeCall& call) {
  return extreme(call, true);
}
bool minimum(NativeCall& call) {
  return extreme(call, false);
}

bool sum(NativeCall& call) {
  std::size_t inputs = 0;
  return count_inputs(call, inputs) && add_all(call, inputs);
}

bool mean(NativeCall& call) {
  std::size_t inputs = 0;
  if (!count_inputs(call, inputs) || !add_all(call, inputs)) return false;
  if (!is_float_dtype(call.input(0).dtype)) return call.refuse("its inputs hold no floats");
  std::vector<double> values = *reals_of(call.output(0));
  for (double& value : values) value /= static_cast<double>(inputs);
  put_reals(values, call.output(0));
  return true;
}

bool bit_shift(NativeCall& call) {
  const bool left = call.text("direction", "") == "LEFT";
  const int bits = info(call.input(0).dtype).bits;
  return fold(
      call, 2, [](double, double) { return std::nan(""); },
      [=](__int128 a, __int128 by, __int128& to) {
        if (by < 0 || by >= bits) {
          to = 0;
        } else {
          to = left ? a << static_cast<int>(by) : a >> static_cast<int>(by);
        }
        return true;
      });
}

/// Elements keep their bytes.
bool where(NativeCall& call) {
  const ReplayTensor& x = call.input(1);
  const ReplayTensor& y = call.input(2);
  const std::size_t item = info(x.dtype).bits / 8;
  if (x.dtype != y.dtype || call.input(0).dtype != DType::boolean || item == 0)
    return call.refuse("its inputs have other dtypes than Where takes");
  Broadcast broadcast;
  if (!broadcast.begin(call, 3)) return false;
  ReplayTensor& out = call.output(0);
  out.dtype = x.dtype;
  out.dims = broadcast.dims();
  out.bytes.resize(broadcast.count() * item);
  broadcast.for_each([&](std::size_t i, const std::vector<std::size_t>& from) {
    const bool first = call.input(0).bytes[from[0]] != std::byte{0};
    const std::byte* const source = first ? x.bytes.data() + from[1] * item : y.bytes.data() + from[2] * item;
    std::copy_n(source, item, out.bytes.data() + i * item);
  });
  return true;
}

constexpr NativeOp kOps[] = {
    {"Add", add, 2},
    {"And", logical_and, 2},
    {"BitShift", bit_shift, 2, " direction "},
    {"Div", divide, 2},
    {"Equal", equal, 2},
    {"Greater", greater, 2},
    {"GreaterOrEqual", greater_or_equal, 2},
    {"Less", less, 2},
    {"LessOrEqual", less_or_equal, 2},
    {"Max", maximum},
    {"Mean", mean},
    {"Min", minimum},
    {"Mod", modulo, 2, " fmod "},
    {"Mul", multiply, 2},
    {"Or", logical_or, 2},
    {"PRelu", prelu, 2, {}, 7},
    {"Pow", power, 2},
    {"Sub", subtract, 2},
    {"Sum", sum},
    {"Where", where, 3},
    {"Xor", logical_xor, 2},
};

}  // namespace
}  // namespace native_binary

std::span<const NativeOp> binary_ops() {
  return native_binary::kOps;
}

}  // namespace opdump::tool
