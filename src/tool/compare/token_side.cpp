#include "src/tool/compare/token_side.hpp"

#include <map>
#include <optional>
#include <utility>

#include "src/card/number_list.hpp"
#include "src/tool/dump/spilled_sort.hpp"

namespace opdump::tool {
namespace {

/// The directories of files, without links.
class RealPlaces {
 public:
  const std::string& of(const std::string& path) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    if (real_.empty() || directory_ != directory) {
      directory_ = directory;
      real_ = real_path(directory);
    }
    return real_;
  }

 private:
  std::string directory_;
  std::string real_;
};

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
    const SpilledList<DumpTensor> whole = std::move(side_.tensors);
    side_.tensors = {};
    for (const DumpTensor& tensor : whole) add(tensor);
    static_cast<void>(order_.finish());
    SpilledList<DumpTensor> sorted;
    SpilledSort::Reader reader(order_);
    for (std::string_view text; reader.next(text);) sorted.push_back(side_.tensors[turn_in(text).tensor]);
    side_.tensors = std::move(sorted);
  }

 private:
  /// By which tensors are sorted.
  struct Turn {
    std::uint64_t position;
    std::size_t tensor;
  };

  static Turn turn_in(std::string_view text) { return FieldReader(text).next<Turn>(); }
  static bool by_position(std::string_view a, std::string_view b) {
    return turn_in(a).position < turn_in(b).position;
  }

  void add(const DumpTensor& tensor) {
    const DumpFile file = side_.files[tensor.file];
    const RecordTokens tokens = beside_.of(places_.of(file.path), file.op);
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
        side_.files.push_back(file);
      }
      tensor.file = at->second;
    }
    std::string text;
    FieldWriter(text).put(Turn{position, side_.tensors.size()});
    static_cast<void>(order_.add(text));
    side_.tensors.push_back(tensor);
  }

  BesideTokens& beside_;
  DumpSide& side_;
  RealPlaces places_;
  SpilledSort order_{by_position};
  std::map<std::pair<std::size_t, std::string>, std::size_t> files_;
};

}  // namespace

std::size_t count_token_tensors(BesideTokens& beside, const DumpSide& side) {
  RealPlaces places;
  std::size_t count = 0;
  for (const DumpTensor& tensor : side.tensors) {
    const DumpFile file = side.files[tensor.file];
    count += beside.of(places.of(file.path), file.op).step != nullptr ? 1 : 0;
  }
  return count;
}

void split_by_tokens(BesideTokens& beside, DumpSide& side) {
  TokenSplitter(beside, side).split();
}

}  // namespace opdump::tool
