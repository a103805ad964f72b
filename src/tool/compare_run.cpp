#include "compare_run.hpp"

#include <algorithm>
#include <cstring>

#include "elements.hpp"
#include "human_text.hpp"
#include "interrupt.hpp"
#include "mapped_file.hpp"
#include "ordered_work.hpp"
#include "progress.hpp"

namespace opdump::tool {
namespace {

/// The bytes of one tensor in its file.
class TensorBytes final : public compare::ElementSource {
 public:
  bool open(const DumpSide& side, const DumpTensor& tensor) {
    if (!file_.open(side.files[tensor.file].path)) return false;
    offset_ = tensor.data_offset;
    bytes_ = tensor.data_bytes;
    return offset_ + bytes_ <= file_.bytes().size();
  }

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte*) const override {
    if (offset + count > bytes_) return nullptr;
    file_.expect(offset_ + offset, count);
    return file_.bytes().data() + offset_ + offset;
  }

  void drop(std::uint64_t offset, std::size_t count) const override { file_.drop(offset_ + offset, count); }

  bool cut_short() { return file_.cut_short(); }
  const std::string& error() const { return file_.error(); }

 private:
  MappedFile file_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

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

/// Dims of 1 do not matter, as in rank 0 against (1,).
std::vector<Dim> without_ones(const std::vector<Dim>& shape) {
  std::vector<Dim> dims;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(dims), [](Dim dim) { return dim != 1; });
  return dims;
}

std::string why_not(const DumpTensor& mine, const DumpTensor& golden) {
  if (!mine.problem.empty()) return "mine: " + mine.problem;
  if (!golden.problem.empty()) return "golden: " + golden.problem;
  if (mine.elements != golden.elements || without_ones(mine.shape) != without_ones(golden.shape))
    return "the shapes differ: mine " + shape_text(mine.shape) + ", golden " + shape_text(golden.shape);
  return {};
}

void compare_pair(const DumpSide& mine, const DumpSide& golden, unsigned threads, PairResult& result) {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  TensorBytes x_bytes, y_bytes;
  for (const auto& [bytes, side, tensor] :
       {std::tuple{&x_bytes, &mine, &x}, std::tuple{&y_bytes, &golden, &y}}) {
    if (bytes->open(*side, *tensor)) continue;
    result.problem =
        bytes->error().empty() ? side->files[tensor->file].path + ": it has become shorter" : bytes->error();
    return;
  }
  result.comparison = compare::compare(array_of(x_bytes, x), array_of(y_bytes, y), x.elements, threads);
  for (TensorBytes* bytes : {&x_bytes, &y_bytes}) {
    if (!bytes->cut_short()) continue;
    result.problem = bytes->error();
    result.comparison.reset();
  }
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
      result.problem = why_not(x, y);
      if (!result.problem.empty()) continue;
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
