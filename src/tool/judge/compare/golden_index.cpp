#include "src/tool/judge/compare/golden_index.hpp"

#include <algorithm>
#include <functional>

#include "src/tool/judge/compare/op_types.hpp"

namespace opdump::tool {
namespace {

using Kind = GoldenName::Kind;

/// As frameworks name files: what no file name may hold becomes '_'.
std::string file_form(std::string op) {
  for (char& letter : op) {
    if (letter == '/' || letter == '\\' || letter == ' ' || letter == '.') letter = '_';
  }
  return op;
}

}  // namespace

std::uint64_t GoldenIndex::Key::hash() const {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
  const std::uint64_t role = std::uint64_t{index} << 3 | (is_output ? 4U : 0U) | static_cast<unsigned>(kind);
  const std::uint64_t name = (std::hash<std::string>()(op) ^ role * kMix) * kMix;
  return std::hash<std::string>()(place) * kMix ^ name;
}

GoldenIndex::GoldenIndex(const DumpSide& golden, Progress& progress) : golden_(golden) {
  std::size_t number = 0;
  for (const DumpTensor& tensor : golden.tensors) {
    for (const Kind kind : {Kind::exact, Kind::in_files, Kind::original}) {
      if (const std::optional<Key> key = key_of(kind, tensor)) index_[key->hash()].push_back(number);
    }
    ++number;
    progress.add();
  }
}

std::optional<GoldenIndex::Key> GoldenIndex::key_of(Kind kind, const DumpTensor& tensor) const {
  DumpFile file = golden_.files[tensor.file];
  if (kind != Kind::original) {
    return Key{kind, std::move(file.place), kind == Kind::exact ? std::move(file.op) : file_form(file.op),
               tensor.is_output, tensor.is_output ? tensor.index : real_input(file.type, tensor.index)};
  }
  if (!tensor.is_output || tensor.original_op.empty()) return std::nullopt;
  return Key{kind, std::move(file.place), file_form(tensor.original_op), true, tensor.original_index};
}

std::optional<GoldenName> GoldenIndex::find(const std::string& place, const std::string& op,
                                            const std::string& type, const DumpTensor& tensor,
                                            bool& by_original) const {
  by_original = false;
  const std::uint32_t index = tensor.is_output ? tensor.index : real_input(type, tensor.index);
  if (const auto found = find_named(place, op, tensor.is_output, index)) return found;
  if (!tensor.is_output) return std::nullopt;
  by_original = true;
  if (!tensor.original_op.empty()) {
    if (const auto found = find_named(place, tensor.original_op, true, tensor.original_index)) return found;
  }
  const auto found = find_in(Kind::original, place, file_form(op), true, tensor.index);
  if (found || tensor.original_op.empty()) return found;
  return find_in(Kind::original, place, file_form(tensor.original_op), true, tensor.original_index);
}

std::optional<GoldenName> GoldenIndex::find_named(const std::string& place, const std::string& op,
                                                  bool is_output, std::uint32_t index) const {
  const auto found = find_in(Kind::exact, place, op, is_output, index);
  return found ? found : find_in(Kind::in_files, place, file_form(op), is_output, index);
}

std::optional<GoldenName> GoldenIndex::find_in(Kind kind, const std::string& place, const std::string& op,
                                               bool is_output, std::uint32_t index) const {
  Key key = {kind, place, op, is_output, index};
  const auto found = find_key(key);
  if (found || place.empty()) return found;
  key.place.clear();
  return find_key(key);
}

std::optional<GoldenName> GoldenIndex::find_key(const Key& key) const {
  const auto found = index_.find(key.hash());
  if (found == index_.end()) return std::nullopt;
  const auto at = std::find_if(found->second.begin(), found->second.end(), [&](std::size_t tensor) {
    return key_of(key.kind, golden_.tensors[tensor]) == key;
  });
  return at == found->second.end() ? std::nullopt : std::optional(GoldenName{key.kind, *at});
}

std::vector<std::size_t> GoldenIndex::tensors(const GoldenName& name) const {
  const std::optional<Key> key = key_of(name.kind, golden_.tensors[name.first]);
  if (!key) return {};
  std::vector<std::size_t> tensors = index_.at(key->hash());
  std::erase_if(tensors,
                [&](std::size_t tensor) { return key_of(name.kind, golden_.tensors[tensor]) != key; });
  return tensors;
}

}  // namespace opdump::tool
