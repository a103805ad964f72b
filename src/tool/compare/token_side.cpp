#include "src/tool/compare/token_side.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/card/number_list.hpp"

namespace opdump::tool {
namespace {

std::string place_of(const std::string& path) {
  return real_path(path.substr(0, path.rfind('/') + 1));
}

/// The entries of a tensor that are of its token `number`.
DumpTensor entries_of(const DumpTensor& tensor, std::uint32_t axis, std::uint64_t number, std::uint64_t per) {
  DumpTensor part = tensor;
  std::uint64_t before = 1;
  for (std::uint32_t i = 0; i < axis; ++i) before *= tensor.shape[i];
  const std::uint64_t entry = tensor.data_bytes / (before * tensor.shape[axis]);
  const auto cut = [&](std::vector<Dim>& shape) {
    if (shape.size() != tensor.shape.size()) return;
    if (per == 1) {
      shape.erase(shape.begin() + axis);
    } else {
      shape[axis] = per;
    }
  };
  cut(part.layout.original_shape);
  cut(part.shape);
  part.data_offset += number * per * entry;
  part.data_bytes = before * per * entry;
  part.elements = tensor.elements / tensor.shape[axis] * per;
  part.pieces = before;
  part.piece_step = entry * tensor.shape[axis];
  return part;
}

class TokenSplitter {
 public:
  TokenSplitter(BesideTokens& beside, DumpSide& side) : beside_(beside), side_(side) {}

  void split() {
    std::vector<DumpTensor> tensors = std::move(side_.tensors);
    side_.tensors.clear();
    for (const DumpTensor& tensor : tensors) add(tensor);
    std::vector<std::size_t> order(side_.tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return positions_[a] < positions_[b]; });
    for (const std::size_t i : order) tensors_.push_back(std::move(side_.tensors[i]));
    side_.tensors = std::move(tensors_);
  }

 private:
  void add(const DumpTensor& tensor) {
    const DumpFile& file = side_.files[tensor.file];
    const RecordTokens tokens = beside_.of(place_of(file.path), file.op);
    if (tokens.step == nullptr) return place(tensor, {}, UINT64_MAX);
    const TensorTokens* const told = tokens.tensor(tensor.is_output, tensor.index);
    const bool along = told != nullptr && told->axis && !tensor.summary;
    const Numbers& positions = told != nullptr && told->positions ? *told->positions : tokens.step->kept;
    if (!along || !tensor.problem.empty()) {
      if (positions.size() == 1) return place(tensor, token_name(positions[0]), positions[0]);
      return place(tensor, "tokens " + cards::numbers_text(positions),
                   positions.empty() ? UINT64_MAX : positions[0]);
    }
    if (tensor.shape.size() <= *told->axis || tensor.shape[*told->axis] != positions.size() * told->per) {
      DumpTensor unlike = tensor;
      unlike.problem = "its shape has no dim for the tokens that the table of tokens tells";
      return place(unlike, "tokens " + cards::numbers_text(positions), UINT64_MAX);
    }
    for (std::uint64_t i = 0; i < positions.size(); ++i)
      place(entries_of(tensor, *told->axis, i, told->per), token_name(positions[i]), positions[i]);
  }

  static std::string token_name(std::uint64_t position) { return "token " + std::to_string(position); }

  /// Adds a tensor at a place of that name in its model; empty: where it was.
  void place(DumpTensor tensor, const std::string& name, std::uint64_t position) {
    if (!name.empty()) {
      const auto [at, is_new] = files_.try_emplace({tensor.file, name}, side_.files.size());
      if (is_new) {
        DumpFile file = side_.files[tensor.file];
        file.place = file.place.substr(0, file.place.rfind('/') + 1) + name;
        side_.files.push_back(std::move(file));
      }
      tensor.file = at->second;
    }
    side_.tensors.push_back(std::move(tensor));
    positions_.push_back(position);
  }

  BesideTokens& beside_;
  DumpSide& side_;
  std::vector<DumpTensor> tensors_;
  std::vector<std::uint64_t> positions_;  ///< by which they are sorted
  std::map<std::pair<std::size_t, std::string>, std::size_t> files_;
};

}  // namespace

std::size_t count_token_tensors(BesideTokens& beside, const DumpSide& side) {
  return static_cast<std::size_t>(
      std::count_if(side.tensors.begin(), side.tensors.end(), [&](const DumpTensor& tensor) {
        const DumpFile& file = side.files[tensor.file];
        return beside.of(place_of(file.path), file.op).step != nullptr;
      }));
}

void split_by_tokens(BesideTokens& beside, DumpSide& side) {
  TokenSplitter(beside, side).split();
}

}  // namespace opdump::tool
