#include "src/tool/judge/compare/side_order.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace opdump::tool {
namespace {

/// Of each file the first one of the same operator at the same time and place.
std::vector<std::size_t> first_files(const DumpSide& side) {
  using Moment = std::tuple<std::optional<std::uint32_t>, std::uint64_t, std::string_view, std::string_view>;
  std::map<Moment, std::size_t> firsts;
  std::vector<std::size_t> first_of;
  for (const DumpFile& file : side.files)
    first_of.push_back(
        firsts.emplace(Moment(file.boot, file.unix_us, file.place, file.op), first_of.size()).first->second);
  return first_of;
}

}  // namespace

void sort_tensors(DumpSide& side) {
  const std::vector<std::size_t> firsts = first_files(side);
  const auto turn = [&](const DumpTensor& tensor) {
    const DumpFile& file = side.files[tensor.file];
    const std::uint64_t when = file.unix_us == 0 ? UINT64_MAX : file.unix_us;
    return std::tuple(file.boot, when, firsts[tensor.file], tensor.is_output, tensor.index);
  };
  std::stable_sort(side.tensors.begin(), side.tensors.end(),
                   [&turn](const DumpTensor& a, const DumpTensor& b) { return turn(a) < turn(b); });
}

void for_each_directory(const DumpSide& side, const std::function<void(const std::string& directory)>& take) {
  std::set<std::string> directories;
  for (const DumpFile& file : side.files)
    directories.insert(file.path.substr(0, std::min(file.path.rfind('/'), file.path.size())));
  for (const std::string& directory : directories) take(directory);
}

void change_tensors(DumpSide& side, const std::function<bool(DumpTensor& tensor)>& change) {
  std::erase_if(side.tensors, [&change](DumpTensor& tensor) { return !change(tensor); });
}

}  // namespace opdump::tool
