#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "human_text.hpp"
#include "image_contents.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "record_name.hpp"
#include "table.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump extract - gets the dumps out of a flash log

usage: opdump extract IMAGE -o DIR [--offset BYTES]
       opdump extract IMAGE --list|--verify [--offset BYTES]

  -o, --output DIR   writes everything that was committed below DIR, as the tree of files that the device would
                     have written with a file system; made if it is missing, and nothing in it is replaced
      --list         lists what the log holds instead, the oldest first, with what became of it
      --verify       says instead whether the log is undamaged; writes nothing
      --offset BYTES where in IMAGE the log begins; else it is found by its block headers

IMAGE is what was read out of the flash part, or the block device itself: nothing is written to it. What the log
holds, and what becomes of it:

  committed    whole, each byte under a valid checksum: written to DIR
  journal      a piece of a dump's journal: appended to it below DIR
  aborted      given up by the device, told in the journal
  torn         never ended: power failed, or the part was full
  overwritten  its beginning made room for newer records
  damaged      was whole, and bytes of it are lost

A damaged image gives everything that is intact.

  dd if=/dev/mtd3 of=flash.img
  opdump extract flash.img --list
  opdump extract flash.img -o dump && opdump verify dump && opdump show dump

exit status
  0  all that was committed and is not overwritten was written, or --verify found no damage
  1  something is damaged or could not be written; stderr lists it, and the rest is written
  2  the command line is wrong
)";

struct Options {
  std::optional<std::string> output;
  std::optional<std::string> offset;
  bool list = false;
  bool verify = false;
};

void print_tally(FlashImage& image, const ImageTally& tally) {
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
  std::printf("%s; %u blocks of %s from byte %llu on, %zu in use\n", text.c_str(),
              image.geometry().block_count, byte_text(image.geometry().block_bytes).c_str(),
              static_cast<unsigned long long>(image.offset()), image.reader().segments().size());
}

void list_row(const flashlog::LogReader::Object& object, Table& table) {
  table.add({std::string(state_text(object)), std::to_string(object.bytes), printable(path_text(object))});
}

int run(const std::string& path, const Options& options, std::optional<std::uint64_t> offset) {
  FlashImage image;
  if (!image.open(path, offset)) {
    std::fprintf(stderr, "opdump: %s\n", image.error().c_str());
    return kExitFailed;
  }
  bool good = true;
  const auto error = [&good](const std::string& message) {
    std::fprintf(stderr, "opdump: %s\n", message.c_str());
    good = false;
  };
  if (image.missing_bytes() != 0)
    error(path + ": ends " + byte_text(image.missing_bytes()) + " before the log does");
  catch_interrupts();
  ImageTally tally;
  if (options.output) {
    tally = extract_image(image, *options.output, error);
  } else {
    Table table("", "lrl");
    tally = walk_image(image, [&](const flashlog::LogReader::Object& object) {
      if (options.list) list_row(object, table);
      if (object.state == flashlog::ObjectState::damaged && options.verify)
        error(path_text(object) + ": damaged");
    });
    table.print();
  }
  if (interrupted()) die_of_interrupt();
  if (image.reader().search_ended())
    error(path + ": so much of it is damaged that not all of it was searched for what is left");
  print_tally(image, tally);
  if (tally.damaged != 0 || tally.nameless != 0) good = false;
  return good ? kExitOk : kExitFailed;
}

}  // namespace

int run_extract(Words words) {
  Options options;
  const Option list[] = {
      {"-o", "--output", nullptr, &options.output},
      {"--offset", {}, nullptr, &options.offset},
      {"--list", {}, &options.list},
      {"--verify", {}, &options.verify},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"extract", kHelp, list}, words, rest)) return *end;
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
  return run(rest[0], options, offset);
}

}  // namespace opdump::tool
