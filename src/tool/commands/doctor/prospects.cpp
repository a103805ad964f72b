#include "src/tool/commands/doctor/prospects.hpp"

#include <algorithm>
#include <iterator>

#include "src/tool/cli/exit_code.hpp"

namespace opdump::tool {
namespace {

using Answer = Prospect::Answer;

/// Why nothing at all can be copied; empty: something can, or could.
std::string why_no_device(const Board& board) {
  const FoundDevice& device = board.device;
  if (device.library.empty()) return "there is no runtime that can copy";
  if (device.opened != Status::ok)
    return "the device cannot be used: " + std::string(to_string(device.opened));
  return {};
}

/// Whether nothing stands against trying the device, though it was not tried.
bool could_be_tried(const FoundDevice& device) {
  return !device.untried.empty() && device.failed.empty() && !(device.count && device.id >= *device.count);
}

std::string failure_text(const FoundDevice& device) {
  if (device.failed.empty()) return "the trial copy failed";
  const FailedCall& last = device.failed.back();
  return "the trial copy failed: " + last.call + " returned " + std::to_string(last.code);
}

/// Of copies whose functions `are_there`.
Prospect copies(const Board& board, std::string_view what, bool are_there, Trial trial,
                std::string_view right, std::string_view not_here) {
  Prospect prospect = {.what = what, .why = why_no_device(board)};
  const FoundDevice& device = board.device;
  if (trial == Trial::right) {
    prospect.answer = Answer::yes;
    prospect.why = right;
  } else if (!prospect.why.empty()) {
    return prospect;
  } else if (!are_there) {
    prospect.why = not_here;
  } else if (trial == Trial::untried && !device.untried.empty()) {
    prospect.answer = could_be_tried(device) ? Answer::untried : Answer::no;
    prospect.why = "not tried: " + device.untried;
  } else if (trial == Trial::wrong) {
    prospect.why = "the trial copy brought other bytes than were written";
  } else {
    prospect.why = trial == Trial::untried ? std::string(not_here) : failure_text(device);
  }
  return prospect;
}

Answer best_copy(const std::vector<Prospect>& all) {
  Answer best = Answer::no;
  for (const Prospect& each : all) best = std::max(best, each.answer);
  return best;
}

Prospect single_operators(const std::vector<Prospect>& ways) {
  const Answer answer = best_copy(ways);
  return {.what = "single operators (aclnn), and programs that run their operators one by one",
          .answer = answer,
          .why = answer == Answer::no ? "nothing copies their tensors"
                                      : "capture_single_op after each call; see examples/ascend"};
}

Prospect overflow(const Board& board, const std::vector<Prospect>& ways) {
  Prospect prospect = {.what = "overflow dumps", .answer = best_copy(ways)};
  if (prospect.answer == Answer::no) {
    prospect.why = "nothing copies the tensors";
  } else if (board.device.overflow == Trial::right) {
    prospect.why = "the device tells which operator overflowed";
  } else {
    prospect.why = "outputs are searched for infinities and NaN; the device does not tell";
  }
  return prospect;
}

Prospect callback(const Board& board, Answer device) {
  const FoundLibrary& dump = board.library("libascend_dump.so");
  Prospect prospect = {.what = "models that CANN runs whole, behind the callback of CANN's own dump"};
  if (!dump.is_loaded()) {
    prospect.why = "libascend_dump.so is not there";
  } else if (!dump.has("acldumpRegCallback")) {
    prospect.why = "libascend_dump.so has no acldumpRegCallback";
  } else {
    prospect.answer = std::min(device, Answer::untried);
    prospect.why = device == Answer::no ? "the callback is there, and no device for it"
                                        : "acldumpRegCallback is there; only a dump of a model shows more";
  }
  return prospect;
}

Prospect nano(const Board& board) {
  Prospect prospect = {.what = "the nano executor, by libge_dbg and libdatadump in its place"};
  if (board.device.library.empty() || !board.device.is_nano) {
    prospect.why = "the runtime is not that of a nano product";
    return prospect;
  }
  prospect.answer = Answer::untried;
  std::string there;
  for (const char* name : {"libge_dbg.so", "libdatadump.so"}) {
    const FoundLibrary& library = board.library(name);
    if (library.is_loaded()) there += (there.empty() ? "" : " and ") + library.path;
  }
  prospect.why = there.empty() ? "a nano product; put opdump's libraries where its executor finds them"
                               : "a nano product; its executor will find " + there;
  return prospect;
}

}  // namespace

std::vector<Prospect> prospects_of(const Board& board) {
  const FoundDevice& device = board.device;
  std::vector<Prospect> all;
  all.push_back(copies(board, "AscendMemory, copies in the background", device.has_background,
                       device.in_background, "the program captures while the device copies",
                       "the runtime has no pinned memory, streams and aclrtMemcpyAsync that work"));
  all.push_back(copies(board, "AscendMemory, copies that are waited for", true, device.at_once,
                       "each capture takes as long as its copies", "nothing was tried"));
  all.push_back(copies(board, "AscendMemory, device memory read in place", device.has_background,
                       device.in_place, "the program's CPU is the device's own",
                       "the program's CPU is not the device's own"));
  const std::vector<Prospect> ways = all;
  all.push_back(single_operators(ways));
  all.push_back(overflow(board, ways));
  all.push_back(callback(board, best_copy(ways)));
  all.push_back(nano(board));
  const bool writable = board.files.unwritable.empty();
  all.push_back({.what = "host memory, with FileDump or the C API",
                 .answer = writable ? Answer::yes : Answer::no,
                 .why = writable ? "needs no device: tensors that the CPU reads" : board.files.unwritable});
  return all;
}

int exit_status_of(const Board& board) {
  const FoundDevice& device = board.device;
  if (!board.files.unwritable.empty() || !board.files.refusal.empty()) return kExitFailed;
  if (device.library.empty()) {
    const bool broken = std::any_of(board.libraries.begin(), board.libraries.end(),
                                    [](const FoundLibrary& library) { return library.broken; });
    return broken ? kExitFailed : kExitInactive;
  }
  const Trial trials[] = {device.at_once, device.in_background, device.in_place};
  if (std::find(std::begin(trials), std::end(trials), Trial::wrong) != std::end(trials)) return kExitFailed;
  if (std::find(std::begin(trials), std::end(trials), Trial::right) != std::end(trials)) return kExitOk;
  return could_be_tried(device) ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
