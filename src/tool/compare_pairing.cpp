#include "compare_pairing.hpp"

#include <map>
#include <string>
#include <tuple>

namespace opdump::tool {
namespace {

/// Place, operator, whether it is an output, index.
using Key = std::tuple<std::string, std::string, bool, std::uint32_t>;

class GoldenIndex {
 public:
  explicit GoldenIndex(const DumpSide& golden) : used_(golden.tensors.size()) {
    for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
      const DumpTensor& tensor = golden.tensors[i];
      const DumpFile& file = golden.files[tensor.file];
      places_[{file.place, file.op, tensor.is_output, tensor.index}].tensors.push_back(i);
    }
  }

  std::optional<std::size_t> take(const std::string& place, const std::string& op, bool is_output,
                                  std::uint32_t index) {
    if (!place.empty()) {
      if (const std::optional<std::size_t> found = take_turn({place, op, is_output, index})) return found;
    }
    const auto placeless = places_.find({{}, op, is_output, index});
    if (placeless == places_.end()) return std::nullopt;
    const std::vector<std::size_t>& tensors = placeless->second.tensors;
    const std::size_t turn = turns_[{place, op, is_output, index}]++;
    // A tensor of its own for every turn, or one for all.
    if (turn >= tensors.size() && (place.empty() || tensors.size() > 1)) return std::nullopt;
    return use(tensors[turn < tensors.size() ? turn : 0]);
  }

  bool used(std::size_t tensor) const { return used_[tensor]; }

 private:
  struct Turns {
    std::vector<std::size_t> tensors;
    std::size_t next = 0;
  };

  std::optional<std::size_t> take_turn(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end() || found->second.next == found->second.tensors.size()) return std::nullopt;
    return use(found->second.tensors[found->second.next++]);
  }

  std::size_t use(std::size_t tensor) {
    used_[tensor] = true;
    return tensor;
  }

  std::map<Key, Turns> places_;
  std::map<Key, std::size_t> turns_;
  std::vector<bool> used_;
};

bool has_places(const DumpSide& side) {
  for (const DumpFile& file : side.files) {
    if (!file.place.empty()) return true;
  }
  return false;
}

/// As frameworks name files: what no file name may hold becomes '_'.
std::string file_form(std::string op) {
  for (char& letter : op) {
    if (letter == '/' || letter == '\\' || letter == ' ') letter = '_';
  }
  return op;
}

}  // namespace

std::vector<TensorPair> pair_tensors(const DumpSide& mine, const DumpSide& golden) {
  if (mine.named_file && golden.named_file && mine.tensors.size() == 1 && golden.tensors.size() == 1)
    return {{0, 0}};
  GoldenIndex index(golden);
  // Places that only our side tells are no part of the key.
  const bool by_place = has_places(golden);
  const bool one_file_each = mine.named_file && golden.named_file;
  std::vector<TensorPair> pairs;
  for (std::size_t i = 0; i < mine.tensors.size(); ++i) {
    const DumpTensor& tensor = mine.tensors[i];
    const DumpFile& file = mine.files[tensor.file];
    const std::string& op = one_file_each && !golden.files.empty() ? golden.files[0].op : file.op;
    const std::string place = by_place && one_file_each ? golden.files[0].place : file.place;
    std::optional<std::size_t> found = index.take(place, op, tensor.is_output, tensor.index);
    if (!found && tensor.is_output && !tensor.original_op.empty() && tensor.original_op != op) {
      found = index.take(place, tensor.original_op, true, tensor.original_index);
      if (!found) found = index.take(place, file_form(tensor.original_op), true, tensor.original_index);
    }
    pairs.push_back({i, found});
  }
  for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
    if (!index.used(i)) pairs.push_back({std::nullopt, i});
  }
  return pairs;
}

}  // namespace opdump::tool
