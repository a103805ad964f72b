#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/write/wire/receiver.hpp"

namespace opdump::tool {
namespace {

constexpr char kReceiveHelp[] =
    R"(opdump receive - takes a dump from a device, over a line

usage: opdump receive DEVICE|HOST:PORT|FILE -o DIR [--baud N] [--wait SECONDS] [--idle SECONDS]

  -o, -out, --output DIR
                     writes what arrives below DIR, as the tree of files that the device would have written with
                     a file system; made if it is missing, and must be empty
      --baud N       of a serial line: 115200 unless it is given
      --wait SECONDS gives up frames when none of those that were asked for arrives for so long; 5 otherwise
      --idle SECONDS ends when nothing new arrives for so long; otherwise Ctrl-C ends it, or the device does

DEVICE is a serial line such as /dev/ttyUSB0, a USB device such as /dev/ttyACM0, or a socket of the file system;
HOST:PORT a TCP server, such as that of a debug probe for RTT; FILE, or '-', is what another program has recorded of
such a line, which cannot be asked for anything.

The device sends by a WireSink (platform/wire). Its frames are numbered and checked: what is missing is asked for
again while the device still has it. Other bytes on the line, such as messages of its boot, are passed over. When
the device goes away, 'receive' waits until it is back and goes on.

A file whose frames have not all arrived is not written. Each gap is named on stderr, and in the dump's journal as a
line 'unreceived', so that 'opdump verify' says what is missing. The device tells how far it is when its session
syncs or ends, and when it is asked; if it has not told that since its last frame, 'receive' says so. When the device
boots again meanwhile, its next dump goes to DIR/boot_N. Of a boot that goes on behind the end that it told of, a
second dump is received too, until nothing new arrives for 2.5 seconds.

  opdump receive /dev/ttyACM0 -o dump && opdump verify dump
  opdump receive localhost:19021 -o dump --idle 10
  opdump receive recorded.bin -o dump

exit status
  0  all that the device has sent was written; where Ctrl-C ended it while the device was sending, all that had come
  1  something never arrived or could not be written, or it is not known whether more was sent; stderr lists it,
     and the rest is written
  2  the command line is wrong
)";

/// What a user says of a line.
struct LineWords {
  std::optional<std::string> baud;
  std::optional<std::string> wait;
  std::optional<std::string> idle;
};

bool read_seconds(const std::optional<std::string>& text, std::chrono::milliseconds& to, std::string& error) {
  if (!text) return true;
  constexpr std::uint64_t kMost = 1000000;
  const std::optional<std::uint64_t> number = parse_decimal(*text);
  if (!number || *number > kMost) {
    error = "'" + *text + "' is no number of seconds";
    return false;
  }
  to = std::chrono::seconds(*number);
  return true;
}

/// Reads those words that there are into `options`. On false `error` says what is wrong.
bool read_line_words(const LineWords& words, ReceiveOptions& options, std::string& error) {
  if (words.baud) {
    const std::optional<std::uint64_t> number = parse_decimal(*words.baud);
    if (!number || *number > 10000000 || !WireLine::has_baud(static_cast<unsigned>(*number))) {
      error = "'" + *words.baud + "' is no rate of a serial line here";
      return false;
    }
    options.baud = static_cast<unsigned>(*number);
  }
  return read_seconds(words.wait, options.wait, error) && read_seconds(words.idle, options.idle, error);
}

}  // namespace

int run_receive(Words words) {
  std::optional<std::string> output;
  LineWords line;
  std::vector<std::string> rest;
  const Option list[] = {
      {"-o", "--output", nullptr, &output}, {"-out", {}, nullptr, &output},
      {"--baud", {}, nullptr, &line.baud},  {"--wait", {}, nullptr, &line.wait},
      {"--idle", {}, nullptr, &line.idle},
  };
  if (const std::optional<int> end = read_options({"receive", kReceiveHelp, list}, words, rest)) return *end;
  if (rest.empty()) return usage_error("receive", "a DEVICE, HOST:PORT or FILE is missing");
  if (rest.size() > 1) return usage_error("receive", "one line at a time, so '" + rest[1] + "' is too many");
  if (!output || output->empty()) return usage_error("receive", "'-o' needs a directory");
  ReceiveOptions options = {.line = rest[0], .output = *output};
  std::string error;
  if (!read_line_words(line, options, error)) return usage_error("receive", error);
  return Receiver(options).run() ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
