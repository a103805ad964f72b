#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/commands/doctor/board.hpp"
#include "src/tool/commands/doctor/board_text.hpp"
#include "src/tool/commands/doctor/device_trial.hpp"
#include "src/tool/commands/doctor/prospects.hpp"
#include "src/tool/commands/doctor/surroundings.hpp"

namespace opdump::tool {
namespace {

constexpr char kDoctorHelp[] =
    R"(opdump doctor - says what there is on this board, and what opdump will do with it

usage: opdump doctor [CONFIG] [--device N] [--no-trial] [--limit SECONDS] [--json]

  --device N        tries the device N instead of device 0
  --no-trial        loads the libraries and leaves the device alone
  --limit SECONDS   gives up a call of the driver that has not come back by then, 30 s otherwise
  --json            the answer as a JSON object on stdout

Run it first on a new board, as the user and with the environment of the program that will dump: it loads the
libraries that this program would load, by the system's loader. Then it takes the device as a program does
(aclInit, aclrtSetDevice), copies 4 KiB there and back in each way that opdump has, and gives all of it back. A
device that another process holds alone cannot be tried meanwhile. CONFIG is the config that the program will
be started with; without it MINDSPORE_DUMP_CONFIG, or acl.json in the current directory. A file is made where
dumps will go, and removed again.

The answer has five parts:

  Libraries        the runtime (libascendcl.so, libacl_rt.so or libruntime.so: one is enough), CANN's dump, the
                   nano executor's two libraries; "broken" is there and cannot be loaded, mostly for want of the
                   driver's own libraries
  Functions        those that opdump, or a program around it, calls; it does without most of them
  Device           what the runtime tells of itself, what became of each way to copy, which calls failed with which
                   codes
  Files and time   the config, the directory that is dumped to and its room, the clock
  What will work   yes, no with the reason, or perhaps where only the program itself shows it

On a desk without CANN:

  $ opdump doctor
  Libraries
    libascendcl.so     missing  the runtime, by which AscendMemory copies
    ...
  What will work
    no   AscendMemory, copies in the background: there is no runtime that can copy
    ...
    yes  host memory, with FileDump or the C API: needs no device: tensors that the CPU reads

exit status
  0  tensors of an Ascend device can be dumped here, as far as was tried
  1  something is there and does not work: the driver, the device, the config or the directory
  2  the command line is wrong
  3  no runtime of CANN was found; host memory can be dumped
)";

std::optional<std::uint32_t> read_number(const std::string& text, std::uint32_t least, std::uint32_t most) {
  const std::optional<std::uint64_t> number = parse_decimal(text);
  if (!number || *number < least || *number > most) return {};
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

int run_doctor(Words words) {
  bool json = false;
  bool no_trial = false;
  std::optional<std::string> device_text;
  std::optional<std::string> limit_text;
  const Option options[] = {{.name = "--json", .flag = &json},
                            {.name = "--no-trial", .flag = &no_trial},
                            {.name = "--device", .text = &device_text},
                            {.name = "--limit", .text = &limit_text}};
  std::vector<std::string> configs;
  if (const std::optional<int> exit_code = read_options({"doctor", kDoctorHelp, options}, words, configs))
    return *exit_code;
  if (configs.size() > 1) return usage_error("doctor", "one CONFIG at a time, not also '" + configs[1] + "'");
  constexpr std::uint32_t kMostDevice = std::numeric_limits<std::int32_t>::max();
  const std::optional<std::uint32_t> device = read_number(device_text.value_or("0"), 0, kMostDevice);
  if (!device) return usage_error("doctor", "--device takes a number, not '" + *device_text + "'");
  constexpr std::uint32_t kMostSeconds = 3600;
  const std::optional<std::uint32_t> limit = read_number(limit_text.value_or("30"), 1, kMostSeconds);
  if (!limit) return usage_error("doctor", "--limit takes 1 to 3600 seconds, not '" + *limit_text + "'");
  CallWatch::set_limit(*limit);

  // Each part is printed before the next one is looked at, which may be the last that this program does.
  Board board;
  board.files = find_files(configs.empty() ? std::string() : configs[0]);
  board.variables = find_variables();
  board.clock = find_clock();
  board.libraries = find_libraries();
  if (!json) print_libraries(board.libraries);
  board.device = try_device(*device, !no_trial);
  const std::vector<Prospect> prospects = prospects_of(board);
  const int exit_status = exit_status_of(board);
  if (json) {
    std::puts(board_json(board, prospects, exit_status).c_str());
    return exit_status;
  }
  print_device(board.device);
  print_surroundings(board);
  print_prospects(prospects);
  return exit_status;
}

}  // namespace opdump::tool
