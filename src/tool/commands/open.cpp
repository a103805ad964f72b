#include <string.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/sealed_head.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/read/seal/opened_tree.hpp"

namespace opdump::tool {
namespace {

constexpr char kOpenHelp[] =
    R"(opdump open - opens a sealed dump

usage: opdump open --key FILE PATH... -o DIR [--partial]

  --key FILE         the private key that the dump was sealed for, as 'opdump key new' and openssl write it
  -o, --output DIR   writes the dump as it was before it was sealed below DIR; made if it is missing, and nothing
                     in it is replaced
  --partial          writes also what is whole of an object whose end is missing, as of FILE.part, which a loss of
                     power has left; name such a file as PATH

PATH is a directory, a file or the image of a flash log. A config with "seal" makes sealed dumps; directories and
names of files stay in clear there, and 'opdump extract' works on them.

What was done to a dump is named: a key that it was not sealed for; a byte that was changed; chunks, or pieces of a
journal, that are missing, repeated or swapped, within a file or between files; a file that was moved or renamed; one
that was cut short; one of another session than the journal of its dump; and one that is not sealed. Such an object
is not written, and of lines all that opens is. A file that was removed as a whole, and the end of a journal, 'opdump
verify' misses in what was opened.

Sealing hides and does not prove: the device holds a public key, and who has that can seal. Whoever can write to the
storage can put a dump of his own, journal and all, in the place of this one. Lines that 'opdump extract' and 'opdump
receive' add are not sealed, and are believed.

  $ opdump open --key key dump -o opened
  17 files opened, 20.4 KiB, with key 9fbe0c5d21b9ef42
  $ opdump verify opened && opdump show opened

exit status
  0  all files were opened, and each is as somebody sealed it who had the public key
  1  the key is wrong or not readable, or something of the dump was changed or is missing; stderr says what
  2  the command line is wrong
)";

}  // namespace

int run_open(Words words) {
  std::optional<std::string> key_path;
  std::optional<std::string> output;
  bool partial = false;
  std::vector<std::string> paths;
  const Option table[] = {{"--key", {}, nullptr, &key_path},
                          {"-o", "--output", nullptr, &output},
                          {"--partial", {}, &partial},
                          {"-d", "--dump_file", nullptr, nullptr, &paths}};
  if (const std::optional<int> end = read_options({"open", kOpenHelp, table}, words, paths)) return *end;
  if (paths.empty()) return usage_error("open", "a PATH is missing");
  if (!key_path) return usage_error("open", "name the private key with --key FILE");
  if (!output || output->empty()) return usage_error("open", "name the directory to write to with -o DIR");

  SealKeyBytes private_key;
  std::string reason;
  if (!read_private_key(*key_path, private_key, reason)) {
    say("opdump open: " + reason);
    return kExitFailed;
  }
  const std::unique_ptr<Unsealer> key = make_unsealer(private_key);
  if (key == nullptr) {
    say(std::string("opdump open: ") + kWithoutSodium);
    return kExitFailed;
  }

  std::uint64_t faults = 0;
  const SearchReport report = said_by("open", faults);
  if (const int problem = make_directories(*output); problem != 0) {
    say("opdump open: " + *output + ": " + strerror(problem));
    return kExitFailed;
  }
  FoundDump dump;
  for (const std::string& path : paths) dump.add(path, true, report, std::nullopt, SealedFiles::wanted);
  catch_interrupts();
  OpenedTree tree(*key, *output, partial, report);
  const std::vector<FoundFile>& files = dump.files();
  for (const FoundFile& file : files) tree.learn(file);
  Progress progress(Progress::is_seen() ? total_bytes(files) : 0);
  for (const FoundFile& file : files) {
    if (interrupted()) break;
    tree.add(file);
    if (tree.wrong_key()) break;  // the others say the same
    if (Progress::is_seen()) progress.add(bytes_of(file));
  }
  tree.finish();
  progress.wipe();
  if (interrupted()) die_of_interrupt();
  if (tree.files() == 0 && faults == 0) report.error("nothing to open in " + paths[0]);
  print_line(count_text(tree.files(), "file") + " opened, " + byte_text(tree.bytes()) + ", with key " +
             key_id_text(key->recipient()));
  return faults == 0 ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
