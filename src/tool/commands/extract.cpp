#include <time.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/flash/image_contents.hpp"

namespace opdump::tool {
namespace {

constexpr char kExtractHelp[] =
    R"(opdump extract - gets the dumps out of a flash log

usage: opdump extract IMAGE -o DIR [--boot N|last|all] [--history] [--offset BYTES]
       opdump extract IMAGE --list|--verify [--boot N|last|all] [--history] [--offset BYTES]

  -o, -out, --output DIR
                     writes everything that was committed below DIR, as the tree of files that the device would
                     have written with a file system; made if it is missing; refused if one of these files is there
      --list         lists what the log holds instead, the oldest first, with what became of it, boot by boot
      --verify       says instead whether the log is undamaged; writes nothing
      --boot N       of what was written between two mounts of the log, that of boot N alone; the device knows
                     the number too (FlashLog::boot). 'last' is the newest boot that wrote; 'all' is each one,
                     apart even if it is the only one. What is printed at the end names the boots that there are
      --history      of the area of a history (FlashHistory), leaves out the steps that the device has written
                     out, which are in the other log; what is printed at the end says which these are
      --offset BYTES where in IMAGE the log begins; else it is found by its block headers

IMAGE, also as '-d IMAGE', is what was read out of the flash part, or the device itself: an MTD device (/dev/mtd3,
whose bad blocks are left out), a UBI volume (/dev/ubi0_1) or a block device (/dev/mmcblk0p3); the last line then
tells of the device. Nothing is written to it. What the log holds, and what becomes of it:

  committed    whole, each byte under a valid checksum: written to DIR
  journal      a piece of a dump's journal: appended to it below DIR
  aborted      given up by the device, told in the journal
  torn         never ended: power failed, or the part was full
  overwritten  its beginning made room for newer records
  damaged      was whole, and bytes of it are lost
  unreadable   begun, and not whole for a loss of power, or damaged beyond telling what it was

A block of the log that is not there is told as damage too, but where the log itself may have lost it: as it went
round, or with power before it was synced. So are bytes that are not what was written, where more was written after
them; in the last blocks of a boot, or of a device that prepares more than two, only where none of them reads as
erased, as what was not synced when power failed does.

A log of several boots is written to DIR/boot_N, each boot apart, since a device without a calendar gives the
names of one boot again in the next; with '--boot N', and a log of one boot, to DIR itself.

Where a device came to know the calendar after it had booted, and told the session, its journals say so. Files and
directories keep the names that they had on the device, by which journals and tables know them; 'opdump show',
'compare', 'report' and 'verify' give times by the calendar. All journals of a boot are told, and the summary gives
the time by the calendar of each directory.

An image of the area of a history gives all objects of the steps that it still holds. A history has no journal
of a dump, so 'opdump verify' proves nothing of it.

Where the log has gone round, newer records took the beginning of the oldest boot. The summary says so, and so does
the last line of that dump's journal, 'overwritten', by which 'opdump verify' tells what is gone.

A damaged image gives everything that is intact.

  nanddump --bb=padbad -f flash.img /dev/mtd3
  opdump extract flash.img --list
  opdump extract flash.img -o dump && opdump verify dump && opdump show dump

exit status
  0  all that was committed and is not overwritten was written, or --verify found no damage
  1  something is damaged or could not be written; stderr lists it, and the rest is written
  2  the command line is wrong
)";

struct ExtractOptions {
  std::optional<std::string> output;
  std::optional<std::string> offset;
  std::optional<std::string> boot;
  bool list = false;
  bool verify = false;
  bool history = false;
};

void print_tally(FlashImage& image, std::optional<std::uint32_t> boot, const ImageTally& tally) {
  std::string text = count_text(tally.committed, "committed file") + ", " + byte_text(tally.committed_bytes);
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count != 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(tally.journals, "pieces of journals");
  add(tally.aborted, "aborted");
  add(tally.torn, "torn");
  add(tally.overwritten, "overwritten");
  add(tally.damaged, "damaged");
  add(tally.nameless, "without a name");
  add(tally.unreadable_runs, "unreadable for a loss of power or damage");
  if (const std::size_t boots = image.boots().size(); boots > 1)
    text += "; " + std::to_string(boots) + " boots";
  std::printf("%s; %u blocks of %s from byte %llu on, %zu in use\n", text.c_str(),
              image.geometry().block_count, byte_text(image.geometry().block_bytes).c_str(),
              static_cast<unsigned long long>(image.offset()), image.reader().segments().size());
  if (const std::optional<std::uint32_t> cut = image.cut_boot(); cut && (!boot || *boot == *cut))
    std::printf("%s; 'opdump verify' tells how much\n", cut_text(*cut).c_str());
}

/// A dump's directory by the calendar; empty where it has none.
std::string calendar_name(const std::string& directory, const ClockSteps& clock) {
  constexpr std::size_t kDigits = 14;
  constexpr std::uint64_t kMicroseconds = 1000000;
  if (clock.empty() || directory.size() != kDigits || !parse_decimal(directory)) return {};
  const auto number = [&directory](std::size_t at, std::size_t digits) {
    return static_cast<int>(*parse_decimal(directory.substr(at, digits)));
  };
  tm shown{};
  shown.tm_year = number(0, 4) - 1900;
  shown.tm_mon = number(4, 2) - 1;
  shown.tm_mday = number(6, 2);
  shown.tm_hour = number(8, 2);
  shown.tm_min = number(10, 2);
  shown.tm_sec = number(12, 2);
  const time_t seconds = timegm(&shown);
  if (seconds < 0) return {};
  const std::uint64_t us = static_cast<std::uint64_t>(seconds) * kMicroseconds;
  const time_t moved = static_cast<time_t>(clock.time_of(us) / kMicroseconds);
  tm calendar{};
  char text[kDigits + 1];
  if (gmtime_r(&moved, &calendar) == nullptr || strftime(text, sizeof text, "%Y%m%d%H%M%S", &calendar) == 0)
    return {};
  return text;
}

/// A line for each boot, the newest last, and the times of its directories.
void print_boots(const ImageTally& tally) {
  constexpr std::size_t kMost = 20;
  std::size_t left = tally.boots.size();
  if (left > kMost) std::printf("boots before: %zu\n", left - kMost);
  for (const auto& [boot, of_boot] : tally.boots) {
    if (left-- > kMost) continue;
    std::printf("boot %u: %s, %s\n", boot, count_text(of_boot.committed, "committed file").c_str(),
                byte_text(of_boot.committed_bytes).c_str());
    for (const std::string& directory : of_boot.dumps) {
      const std::string name = calendar_name(directory, of_boot.clock);
      if (!name.empty() && name != directory)
        std::printf("boot %u: %s is of %s, as the clock was set later\n", boot, printable(directory).c_str(),
                    name.c_str());
    }
  }
}

/// Prints a table of objects, or one per boot if there are several.
class Listing {
 public:
  explicit Listing(bool titled) : titled_(titled) {}

  void add(const flashlog::LogReader::Object& object) {
    if (rows_.empty() || object.boot != boot_) begin(object.boot);
    rows_.push_back({state_text(object), std::to_string(object.bytes), printable(path_text(object))});
  }

  void print() {
    std::size_t state_width = 0, bytes_width = 0;
    for (const Row& row : rows_) {
      state_width = std::max(state_width, row.state.size());
      bytes_width = std::max(bytes_width, row.bytes.size());
    }
    for (const Row& row : rows_) {
      std::string line(row.state);
      line.append(state_width - row.state.size() + 2 + bytes_width - row.bytes.size(), ' ');
      line.append(row.bytes).append(2, ' ').append(row.path);
      line.erase(line.find_last_not_of(' ') + 1);
      std::puts(line.c_str());
    }
    rows_.clear();
  }

 private:
  struct Row {
    std::string_view state;
    std::string bytes;
    std::string path;
  };

  void begin(std::uint32_t boot) {
    print();
    if (titled_) std::printf("boot %u\n", boot);
    boot_ = boot;
  }

  const bool titled_;
  std::uint32_t boot_ = 0;
  std::vector<Row> rows_;  ///< as they are found
};

/// Which boots.
struct BootChoice {
  bool last = false;
  bool all = false;
  std::optional<std::uint32_t> number{};  ///< neither: all
};

int run(const std::string& path, const ExtractOptions& options, std::optional<std::uint64_t> offset,
        const BootChoice& choice) {
  FlashImage image;
  if (!image.open(path, offset)) {
    say("opdump: " + image.error());
    return kExitFailed;
  }
  bool good = true;
  const auto error = [&good](const std::string& message) {
    say("opdump: " + message);
    good = false;
  };
  if (image.missing_bytes() != 0)
    error(path + ": ends " + byte_text(image.missing_bytes()) + " before the log does");
  const std::vector<std::uint32_t> boots = image.boots();
  const std::optional<std::uint32_t> boot =
      choice.last && !boots.empty() ? std::optional(boots.back()) : choice.number;
  if (const std::string problem = boot ? missing_boot_text(image, *boot) : std::string(); !problem.empty()) {
    say("opdump: " + path + ": " + problem);
    return kExitFailed;
  }
  catch_interrupts();
  find_losses(image, boot, [&](const std::string& loss) { error(path + ": " + loss); });
  std::optional<HistoryMarks> marks;
  if (image.is_history()) marks.emplace(image);
  if (options.history && !marks) {
    say("opdump: " + path + ": a flash log, not the area of a history, so '--history' means nothing");
    return kExitFailed;
  }
  const ImageChoice chosen = {.boot = boot, .not_written_out = options.history ? &*marks : nullptr};
  ImageTally tally;
  if (options.output) {
    const std::optional<ImageTally> written =
        extract_image(image, *options.output, chosen, choice.all || (!boot && boots.size() > 1), error);
    if (!written) return kExitFailed;
    tally = *written;
  } else {
    Listing listing(boots.size() > 1);
    // A listing of several boots comes to the terminal meanwhile.
    std::optional<Progress> progress;
    if (options.verify || boots.size() <= 1)
      progress.emplace(std::uint64_t{image.geometry().block_bytes} * image.geometry().block_count);
    tally = walk_image(image, chosen, [&](const flashlog::LogReader::Object& object) {
      if (options.list) listing.add(object);
      if (object.state == flashlog::ObjectState::damaged && options.verify) {
        if (progress) progress->wipe();
        error(path_text(object) + ": damaged");
      }
      if (progress) progress->add(object.bytes);
    });
    progress.reset();
    listing.print();
  }
  if (interrupted()) die_of_interrupt();
  if (image.reader().search_ended())
    error(path + ": so much of it is damaged that not all of it was searched for what is left");
  print_tally(image, boot, tally);
  const bool any_clock = std::any_of(tally.boots.begin(), tally.boots.end(),
                                     [](const auto& boot) { return !boot.second.clock.empty(); });
  if (!options.list && (boots.size() > 1 || any_clock)) print_boots(tally);
  if (marks) {
    for (const std::string& line : marks->lines()) print_line(line);
  }
  if (const std::string text = image.device_text(); !text.empty()) print_line(text);
  if (tally.damaged != 0 || tally.nameless != 0) good = false;
  return good ? kExitOk : kExitFailed;
}

}  // namespace

int run_extract(Words words) {
  ExtractOptions options;
  std::vector<std::string> rest;
  const Option list[] = {
      {"-o", "--output", nullptr, &options.output},
      {"--boot", {}, nullptr, &options.boot},
      {"-out", {}, nullptr, &options.output},
      {"--offset", {}, nullptr, &options.offset},
      {"--list", {}, &options.list},
      {"--verify", {}, &options.verify},
      {"--history", {}, &options.history},
      {"-d", "--dump_file", nullptr, nullptr, &rest},
  };
  if (const std::optional<int> end = read_options({"extract", kExtractHelp, list}, words, rest)) return *end;
  if (rest.empty()) return usage_error("extract", "an IMAGE is missing");
  if (rest.size() > 1) return usage_error("extract", "one IMAGE at a time, so '" + rest[1] + "' is too many");
  if ((options.output ? 1 : 0) + (options.list ? 1 : 0) + (options.verify ? 1 : 0) != 1)
    return usage_error("extract", "give one of '-o DIR', '--list' and '--verify'");
  if (options.output && options.output->empty()) return usage_error("extract", "'-o' needs a directory");
  std::optional<std::uint64_t> offset;
  if (options.offset) {
    offset = parse_decimal(*options.offset);
    if (!offset) return usage_error("extract", "'" + *options.offset + "' is no number of bytes");
  }
  BootChoice choice;
  if (options.boot) {
    choice = {*options.boot == "last", *options.boot == "all", parse_boot(*options.boot)};
    if (!choice.last && !choice.all && !choice.number)
      return usage_error("extract", "'" + *options.boot + "' is no number of a boot, nor 'last' or 'all'");
  }
  return run(rest[0], options, offset, choice);
}

}  // namespace opdump::tool
