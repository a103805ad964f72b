#include "src/tool/judge/compare/side_order.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/file_directories.hpp"
#include "src/tool/read/dump/spilled_sort.hpp"

namespace opdump::tool {
namespace {

/// By which tensors are sorted.
struct Turn {
  std::optional<std::uint32_t> boot;
  std::uint64_t when = 0;
  std::uint64_t file = 0;
  bool is_output = false;
  std::uint32_t index = 0;
};

Turn turn_of(std::string_view text) {
  return FieldReader(text).next<Turn>();
}

bool runs_before(std::string_view a, std::string_view b) {
  const Turn x = turn_of(a), y = turn_of(b);
  if (x.boot != y.boot) return x.boot < y.boot;
  if (x.when != y.when) return x.when < y.when;
  constexpr std::size_t kOp = sizeof(Turn) + sizeof(std::uint64_t);
  if (a.substr(kOp) != b.substr(kOp)) return x.file < y.file;
  return x.is_output != y.is_output ? y.is_output : x.index < y.index;
}

/// Gives each tensor's place in the order of execution, as a text for `runs_before`, until `take` returns
/// false.
void for_each_turn(const DumpSide& side, const std::function<bool(const std::string& turn)>& take) {
  std::string turn;
  std::uint64_t number = 0;
  std::optional<std::size_t> known;
  DumpFile file;
  for (const DumpTensor& tensor : side.tensors) {
    if (known != tensor.file) file = side.files[tensor.file];
    known = tensor.file;
    turn.clear();
    FieldWriter(turn)
        .put(Turn{file.boot, file.unix_us == 0 ? UINT64_MAX : file.unix_us, tensor.file, tensor.is_output,
                  tensor.index})
        .put(number++);
    if (!take(turn += file.op)) return;
  }
}

}  // namespace

std::string sort_tensors(DumpSide& side) {
  bool sorted = true;
  std::string before;
  constexpr char kSorting[] = "sorting tensors";
  std::optional<Progress> progress(std::in_place, side.tensors.size(), kSorting);
  for_each_turn(side, [&](const std::string& turn) {
    progress->add();
    sorted = before.empty() || !runs_before(turn, before);
    before = turn;
    return sorted;
  });
  if (sorted) return {};
  SpilledSort sort(runs_before);
  progress.reset();
  progress.emplace(2 * side.tensors.size(), kSorting);
  for_each_turn(side, [&](const std::string& turn) {
    progress->add();
    return sort.add(turn);
  });
  static_cast<void>(sort.finish());
  SpilledList<DumpTensor> tensors;
  SpilledSort::Reader reader(sort);
  for (std::string_view turn; reader.next(turn);) {
    const std::uint64_t number = FieldReader(turn.substr(sizeof(Turn))).next<std::uint64_t>();
    tensors.push_back(side.tensors[static_cast<std::size_t>(number)]);
    progress->add();
  }
  side.tensors = std::move(tensors);
  return sort.error();
}

void for_each_directory(const DumpSide& side, const std::function<void(const std::string& directory)>& take) {
  FileDirectories directories;
  for (const DumpFile& file : side.files)
    directories.add(file.path.substr(0, std::min(file.path.rfind('/'), file.path.size())));
  directories.for_each(take);
}

void change_tensors(DumpSide& side, const std::function<bool(DumpTensor& tensor)>& change) {
  SpilledList<DumpTensor> changed;
  for (DumpTensor tensor : side.tensors) {
    if (change(tensor)) changed.push_back(tensor);
  }
  side.tensors = std::move(changed);
}

}  // namespace opdump::tool
