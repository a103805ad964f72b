#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/new_directory.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {
namespace {

constexpr char kNewPortHelp[] =
    R"(opdump new-port - writes the skeleton of a port, with three places to fill in

usage: opdump new-port DIR [--language c|c++]

  --language L  c, over opdump.h, or c++; c++ unless it is given

DIR is made, or is empty. It gets a program that dumps a small network to raw flash, with files of their own for
the memory that tensors lie in, the sink, the clock and the main loop, a Makefile, a config, and a README.md that
says what comes next. It compiles as it is, on a host and for a device, and on a host it makes a dump: its flash
is a file there. Memory, sink and clock each have one place marked FILL IN: there your driver goes.

  $ opdump new-port board
  board: 7 files; fill in memory.hpp, sink.hpp and clock.hpp, as README.md there says
  $ grep -n "FILL IN" board/*.hpp
  $ cd board && make && ./firmware
  ok: 5 records dumped, 0 lost
  $ opdump extract flash.img -o dump && opdump verify dump

exit status
  0  written
  1  there is something in DIR already, or a file cannot be written; stderr says why
  2  the command line is wrong
)";

}  // namespace

int run_new_port(Words words) {
  std::optional<std::string> language = "c++";
  const Option options[] = {{"--language", {}, nullptr, &language}};
  std::vector<std::string> directories;
  if (const std::optional<int> exit_code =
          read_options({"new-port", kNewPortHelp, options}, words, directories))
    return *exit_code;
  if (directories.empty() || directories[0].empty()) return usage_error("new-port", "a DIR is missing");
  if (directories.size() > 1)
    return usage_error("new-port", "one DIR at a time, not also '" + directories[1] + "'");
  const std::vector<SkeletonFile> files = skeleton_of(*language);
  if (files.empty()) return usage_error("new-port", "--language takes c or c++, not '" + *language + "'");

  const std::string& directory = directories[0];
  std::string reason = occupied(directory, false, "a port begins in a new directory, or in an empty one");
  if (reason.empty()) {
    if (const int error = make_directories(directory); error != 0)
      reason = directory + ": " + std::strerror(error);
  }
  for (const SkeletonFile& file : files) {
    if (reason.empty())
      static_cast<void>(
          write_file(directory + '/' + file.name, as_bytes(std::string_view(file.text)), reason));
  }
  if (!reason.empty()) {
    say("opdump new-port: " + reason);
    return kExitFailed;
  }
  print_line(directory + ": " + count_text(files.size(), "file") + "; fill in " + files[0].name + ", " +
             files[1].name + " and " + files[2].name + ", as README.md there says");
  return kExitOk;
}

}  // namespace opdump::tool
