#include "src/tool/compare/compare_run.hpp"

#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/compare/compare_elements.hpp"
#include "src/tool/compare/compare_order.hpp"
#include "src/tool/dump/elements.hpp"

namespace opdump::tool {
namespace {

compare::ToFloats to_floats(DType dtype) {
  return dtype == DType::float16 ? compare::pair_kernels().float16_to_float : float_reader(dtype);
}

compare::ComparedArray array_of(const compare::ElementSource& source, const DumpTensor& tensor) {
  return {.source = &source,
          .dtype = tensor.dtype,
          .item_bits = info(tensor.dtype).bits,
          .to_floats = to_floats(tensor.dtype)};
}

std::string missing_partner(const DumpSide& side, std::size_t tensor, const char* where) {
  const DumpTensor& lonely = side.tensors[tensor];
  return "there is no " + std::string(lonely.is_output ? "output " : "input ") +
         std::to_string(lonely.index) + " of operator '" + side.files[lonely.file].op + "' " + where;
}

void compare_pair(const DumpSide& mine, const DumpSide& golden, unsigned threads, PairResult& result) {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  PairOrder order = order_pair(x, y);
  result.problem = std::move(order.problem);
  if (!result.problem.empty()) return;
  result.remark = result.pair.remark;
  if (!order.remark.empty()) result.remark += (result.remark.empty() ? "" : "; ") + order.remark;
  result.shape = order.mine.shape;
  CompareElements x_elements, y_elements;
  if (!x_elements.open(mine, x, order.mine.relayout)) {
    result.problem = x_elements.error();
    return;
  }
  if (!y_elements.open(golden, y, order.golden.relayout)) {
    result.problem = y_elements.error();
    return;
  }
  result.comparison =
      compare::compare(array_of(x_elements, x), array_of(y_elements, y), order.elements, threads);
  for (CompareElements* elements : {&x_elements, &y_elements}) {
    if (!elements->failed()) continue;
    result.problem = elements->error();
    result.comparison.reset();
  }
  if (!result.comparison && result.problem.empty()) result.problem = "the files cannot be read any more";
}

}  // namespace

std::vector<PairResult> compare_pairs(const DumpSide& mine, const DumpSide& golden,
                                      const std::vector<TensorPair>& pairs) {
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
    compare_pair(mine, golden, threads, results[i]);
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
