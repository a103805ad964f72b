#pragma once
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_elements.hpp"
#include "src/tool/judge/compare/compare_order.hpp"
#include "src/tool/judge/compare/compare_pairing.hpp"
#include "src/tool/judge/compare/comparison.hpp"
#include "src/tool/judge/compare/dequantised_elements.hpp"

namespace opdump::tool {

/// The elements of `source` as a comparison takes them.
compare::ComparedArray array_of(const compare::ElementSource& source, DType dtype);

/// What outputs without a format are taken as where their dims do not tell: what those are that tell, if all
/// agree.
std::optional<AssumedFormats> usual_formats(const DumpSide& mine, const DumpSide& golden,
                                            const TensorPairs& pairs);

/// Two tensors that are read side by side.
class OpenPair {
 public:
  /// On false `problem()` says why; `remark()` may say something either way.
  bool open(const DumpSide& mine, const DumpTensor& x, const DumpSide& golden, const DumpTensor& y,
            const PairOrder& order) {
    return open_side(0, mine, x, order.mine) && open_side(1, golden, y, order.golden);
  }

  const compare::ComparedArray& mine() const { return arrays_[0]; }
  const compare::ComparedArray& golden() const { return arrays_[1]; }
  /// Whether a card says what my elements stand for.
  bool mine_is_real() const { return mine_is_real_; }
  const std::string& problem() const { return problem_; }
  const std::string& remark() const { return remark_; }

  /// Whether a file could not be read meanwhile; `problem()` then says so.
  bool failed();

 private:
  /// One side: its elements, and what they stand for if a card says so.
  struct Side {
    CompareElements stored;
    std::optional<DequantisedElements> real;
  };

  static bool open_real(const DumpTensor& tensor, const ElementOrder& order, Side& side);
  bool open_side(std::size_t i, const DumpSide& dump, const DumpTensor& tensor, const ElementOrder& order);

  Side sides_[2];
  compare::ComparedArray arrays_[2];
  bool mine_is_real_ = false;
  std::string problem_;
  std::string remark_;
};

}  // namespace opdump::tool
