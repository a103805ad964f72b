#include "src/tool/compare/compare_run.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/compare/compare_elements.hpp"
#include "src/tool/compare/compare_order.hpp"
#include "src/tool/compare/dequantised_elements.hpp"
#include "src/tool/compare/pair_detail.hpp"
#include "src/tool/dump/elements.hpp"

namespace opdump::tool {
namespace {

compare::ToFloats to_floats(DType dtype) {
  return dtype == DType::float16 ? compare::pair_kernels().float16_to_float : float_reader(dtype);
}

void add_remark(const std::string& remark, PairResult& result) {
  if (!remark.empty()) result.remark += (result.remark.empty() ? "" : "; ") + remark;
}

/// One side of a pair: its elements, and what they stand for if a card says so.
struct PairSide {
  CompareElements stored;
  std::optional<DequantisedElements> real;
};

/// Whether the scales of `tensor` lie along its dims as they are compared.
bool open_real(const DumpTensor& tensor, const ElementOrder& order, PairSide& side) {
  const bool anywhere = is_uniform(*tensor.quant);
  side.real.emplace(side.stored, *tensor.quant, tensor.dtype, anywhere ? Shape{} : Shape(order.shape));
  return side.real->fits() && (anywhere || !order.relayout);
}

compare::ComparedArray array_of(const compare::ElementSource& source, DType dtype) {
  return {.source = &source, .dtype = dtype, .item_bits = info(dtype).bits, .to_floats = to_floats(dtype)};
}

bool is_narrow_integer(DType dtype) {
  return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::uint16;
}

/// Whether integers meet real numbers, and no card says what they stand for.
bool lacks_scale(const DumpTensor& integers, const DumpTensor& reals) {
  return is_narrow_integer(integers.dtype) && integers.quant == nullptr && can_be_non_finite(reals.dtype);
}

void add_detail(const compare::ComparedArray& x, const compare::ComparedArray& y, bool wanted,
                std::optional<compare::Comparison>& comparison) {
  compare::Comparison& whole = *comparison;
  if (whole.equal == whole.elements) {
    whole.detail.emplace();
  } else if (wanted || !std::isfinite(whole.max_absolute_error)) {
    whole.detail = compare::look_closer(x, y, whole.elements);
    if (!whole.detail) comparison.reset();
  }
}

std::string missing_partner(const DumpSide& side, std::size_t tensor, const char* where) {
  const DumpTensor& lonely = side.tensors[tensor];
  return "there is no " + std::string(lonely.is_output ? "output " : "input ") +
         std::to_string(lonely.index) + " of operator '" + side.files[lonely.file].op + "' " + where;
}

void compare_pair(const DumpSide& mine, const DumpSide& golden, unsigned threads, bool detail,
                  PairResult& result) {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  PairOrder order = order_pair(x, y);
  result.problem = std::move(order.problem);
  if (!result.problem.empty()) return;
  result.remark = result.pair.remark;
  add_remark(order.remark, result);
  result.shape = order.mine.shape;
  PairSide sides[2];
  compare::ComparedArray arrays[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const DumpTensor& tensor = i == 0 ? x : y;
    const ElementOrder& side_order = i == 0 ? order.mine : order.golden;
    if (!sides[i].stored.open(i == 0 ? mine : golden, tensor, side_order.relayout)) {
      result.problem = sides[i].stored.error();
      return;
    }
    arrays[i] = array_of(sides[i].stored, tensor.dtype);
    if (tensor.quant == nullptr) continue;
    if (open_real(tensor, side_order, sides[i])) {
      arrays[i] = array_of(*sides[i].real, DType::float32);
    } else {
      add_remark("the scales of the card do not fit the shape", result);
    }
  }
  result.unscaled = lacks_scale(x, y) || lacks_scale(y, x);
  if (result.unscaled) add_remark("integers against real numbers, and no scale is known", result);
  result.comparison = compare::compare(arrays[0], arrays[1], order.elements, threads);
  if (result.comparison) add_detail(arrays[0], arrays[1], detail, result.comparison);
  for (PairSide& side : sides) {
    if (!side.stored.failed()) continue;
    result.problem = side.stored.error();
    result.comparison.reset();
  }
  if (!result.comparison && result.problem.empty()) result.problem = "the files cannot be read any more";
}

}  // namespace

std::vector<PairResult> compare_pairs(const DumpSide& mine, const DumpSide& golden,
                                      const std::vector<TensorPair>& pairs, bool detail) {
  std::vector<PairResult> results(pairs.size());
  std::vector<std::size_t> small, large;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    PairResult& result = results[i];
    result.pair = pairs[i];
    if (!result.pair.golden) {
      result.problem = missing_partner(mine, *result.pair.mine, "in the golden dump");
    } else if (!result.pair.mine) {
      result.problem = missing_partner(golden, *result.pair.golden, "in my dump");
    } else {
      const DumpTensor& x = mine.tensors[*result.pair.mine];
      const DumpTensor& y = golden.tensors[*result.pair.golden];
      total += x.data_bytes + y.data_bytes;
      (x.elements > 2 * compare::kThreadElements ? large : small).push_back(i);
    }
  }
  Progress progress(total);
  const std::size_t workers = usable_workers();
  const auto run = [&](std::size_t i, unsigned threads) {
    if (interrupted()) return;
    compare_pair(mine, golden, threads, detail, results[i]);
    progress.add(mine.tensors[*results[i].pair.mine].data_bytes +
                 golden.tensors[*results[i].pair.golden].data_bytes);
  };
  run_in_order({.count = small.size(),
                .work = [&](std::size_t item, std::size_t) { run(small[item], 1); },
                .deliver = [](std::size_t) {}},
               workers);
  for (const std::size_t i : large) run(i, static_cast<unsigned>(workers));
  return results;
}

}  // namespace opdump::tool
