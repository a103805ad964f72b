#include <sys/stat.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/judge/diff/run_reader.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/verify/dump_check.hpp"
#include "src/tool/verify/findings.hpp"
#include "src/tool/verify/journaled_dumps.hpp"
#include "src/tool/verify/wanted_records.hpp"

namespace opdump::tool {
namespace {

constexpr char kVerifyHelp[] =
    R"(opdump verify - proves that a dump is complete, or lists what is missing and why

usage: opdump verify DIR|IMAGE [--config CONFIG [--model MODEL]] [--quick] [--json]
       opdump verify --observer RUN RUN [--json]

  --config CONFIG     what the device was asked for, in CANN's acl.json format
  --model MODEL       the models that ran: RUN.json, or what 'opdump describe' says; "steps" says how many.
                      An operator is expected with the bytes of its tensors; one without any leaves no record. Where a
                      history or trigger chose what was kept, none is expected.
                      Without it, the cards that lie beside the journals, 'opdump.*.model.json'. With RUN.json, or
                      where these are all models, names that no operator there and no record has are told too
  --quick             sizes only: does not open the files
  --json              all findings, for programs; otherwise the first 50 lines of each kind
  --observer          whether dumping changed the result: two runs of one input, such as one with digests of the
                      last outputs alone and one with the dump, are equal in all tensors that both have. A RUN is
                      one of 'opdump diff'; exit status 0 says that it did not, 1 that it did, or where nothing or
                      not all is proved. Equal statistics prove nothing; status 2 where there is nothing else

DIR, also as '-d DIR', is the dump_path, one of the time directories in it, or anything above. IMAGE is what was
read out of a flash log, or its block device; the findings then name files of a copy that is gone afterwards. The
proof is the journal that each dump keeps, '{time}/opdump.{device}.{id}.journal': every record has a number there,
and a line that says where it was written or why it was lost. A dump is complete when every journal was closed,
leaves no number out and counts no loss, and every file it names is there, with its bytes and in the form of a
record. A journal made with '--journal gaps' names no files; then they are counted, and so are
records with digests. Files that no closed journal
names are wrong too.
What a dump comes from, such as the build of the program, is told where its journal has it.
Where a call of the device's driver failed, the journal has the latest one and what it returned.
What was lost without a name is told once more by operator, where the program had them counted (count_ops).
The journal also tells what the config asked for and no call ever brought: a model that was not loaded, a name, a
kernel type, a pattern or a blacklist entry that no operator has, an operator that did not run, that dump_level left
out, or that was given no inputs or no outputs, steps that were not reached or that were skipped, operators outside
models. What one loading of a model captured is not missing in another. An operator that was captured at some of its
model's steps only, as one that runs under a condition, is noted, and nothing stands against it.
Where nothing else is wrong, the verdict then is 'complete, but ... never captured'. Small code (OPDUMP_SMALL_CODE)
keeps no such account; there, '--config' and '--model' tell it.

Where a flash log has gone round, newer records took the beginning of the oldest dump: how many, and from which
sequence number on it is complete, is told apart from what is missing for other reasons. Of a dump of which it took
all, nothing is left to tell.

Where "keep" is "newest", a long journal is shortened: of what was removed to make room it then tells how many
records of which numbers, no longer their names. Of those, one that is missing for another reason counts as removed.
A journal that runs short of room, as on a full disk, likewise tells how many records were lost, and why.

Bytes inside tensors are not checked: the journal holds the files' sizes, not their sums.

Is all of the dump there, and all that the config asks for?

  opdump verify dump
  opdump verify dump/20260131130559 --config acl.json --model run.json

What is missing, as a list for a script:

  opdump verify dump --json | python3 -c 'import json, sys
  for f in json.load(sys.stdin)["findings"]: print(f["kind"], f.get("path", f.get("op")))'

exit status
  0  complete
  1  not complete, or it cannot be proved; the list says what is missing and why, also what was removed to make room
     or overwritten by newer records, or never arrived over a wire; and what '--model' or a card has and the
     config wants, if nothing in the dump tells what became of it
  2  the command line is wrong
  4  all that was captured is there, but something that the config asked for was never captured, as
     the journal itself says, or as no operator has the name
)";

struct VerifyOptions {
  std::optional<std::string> config;
  std::optional<std::string> model;
  bool observer = false;
  bool quick = false;
  bool json = false;
};

void write_journals(JsonWriter& json, const std::vector<JournalSummary>& journals) {
  json.line().key("journals").open('[');
  for (const JournalSummary& journal : journals) {
    json.line(2).open('{').key("path").text(journal.path);
    json.key("detail").text(journal.records ? "records" : "gaps").key("closed").flag(journal.closed);
    json.key("written").number(journal.written).key("lost").number(journal.lost).close('}');
  }
  if (!journals.empty()) json.line();
  json.close(']');
}

void print_json(JsonWriter& json, const VerifyContext& context) {
  write_journals(json, context.journals);
  json.line().key("files").number(context.files).key("bytes").number(context.bytes);
  json.key("complete").flag(context.findings.complete());
  json.key("never_captured").flag(context.findings.has_never()).close('}');
  std::puts(json.take().c_str());
}

void print_summary(const VerifyContext& context) {
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  for (const JournalSummary& journal : context.journals) {
    written += journal.written;
    lost += journal.lost;
  }
  std::printf("%s: %s written, %s lost; %s there as written, %s%s\n",
              count_text(context.journals.size(), "journal").c_str(), count_text(written, "record").c_str(),
              std::to_string(lost).c_str(), count_text(context.files, "file").c_str(),
              byte_text(context.bytes).c_str(), context.quick ? ", not opened" : "");
  if (context.builds.size() > 1)
    std::printf("%s of the program: the journals are not of one\n",
                count_text(context.builds.size(), "build").c_str());
}

std::optional<int> check_usage(const VerifyOptions& options, const std::vector<std::string>& rest) {
  if (options.observer) {
    if (rest.size() != 2) return usage_error("verify", "'--observer' takes two RUNs");
    if (options.config || options.model || options.quick)
      return usage_error("verify", "'--observer' goes with '--json' alone");
    return std::nullopt;
  }
  if (rest.empty()) return usage_error("verify", "a DIR is missing");
  if (rest.size() > 1) return usage_error("verify", "one DIR at a time, not also '" + rest[1] + "'");
  if (options.model && !options.config) return usage_error("verify", "'--config CONFIG' is missing");
  struct stat status {};
  if (stat(rest[0].c_str(), &status) == 0 && !S_ISDIR(status.st_mode) && !FlashImage::is_image(rest[0]))
    return usage_error("verify", "'" + rest[0] + "' is neither a directory nor a flash image");
  return std::nullopt;
}

/// The key id that a dump is sealed for, by its journals; empty: none is.
std::string sealed_journal(const std::vector<JournaledDump>& dumps) {
  for (const JournaledDump& dump : dumps) {
    for (const std::string& journal : dump.journals) {
      if (std::string key = sealed_for(path_of(dump.directory, journal)); !key.empty()) return key;
    }
  }
  return {};
}

}  // namespace

int run_verify(Words words) {
  VerifyOptions options;
  std::vector<std::string> rest;
  const Option table[] = {
      {"--config", {}, nullptr, &options.config},
      {"--model", {}, nullptr, &options.model},
      {"--observer", {}, &options.observer},
      {"--quick", {}, &options.quick},
      {"--json", {}, &options.json},
      {"-d", "--dump_file", nullptr, nullptr, &rest},
  };
  if (const std::optional<int> exit_code = read_options({"verify", kVerifyHelp, table}, words, rest))
    return *exit_code;
  if (const std::optional<int> exit_code = check_usage(options, rest)) return *exit_code;
  if (options.observer) return run_observer(rest[0], rest[1], options.json);

  WantedRecords wanted;
  std::string error;
  const bool wants_cards = options.config && !options.model;
  if (options.config && !(wants_cards ? wanted.load(*options.config, error)
                                      : wanted.load(*options.config, *options.model, error))) {
    say(error);
    return kExitFailed;
  }
  JsonWriter json;
  Findings findings(options.json ? &json : nullptr);
  std::vector<JournaledDump> dumps;
  std::uint64_t journal_bytes = 0;
  ExtractedImage image;
  const auto add_damage = [&](const std::string& message) {
    findings.add(FindingKind::damage, true, {rest[0], message}, {{"path", rest[0]}, {"message", message}});
  };
  const auto add_note = [](const std::string& message) { say("opdump: " + message); };
  const std::string dump = image.open(rest[0], {add_damage, add_note});
  find_dumps(dump, dumps, journal_bytes, findings);
  const std::string key = sealed_journal(dumps);
  if (!key.empty()) dumps.clear();
  {
    Progress progress(journal_bytes);
    BesideCards cards(add_note);
    VerifyContext context = {.findings = findings,
                             .progress = progress,
                             .cards = cards,
                             .wanted = options.config ? &wanted : nullptr,
                             .wants_cards = wants_cards,
                             .quick = options.quick};
    for (const JournaledDump& dump : dumps) DumpCheck(context, dump.directory).check(dump.journals);
    progress.wipe();
    const auto none = [&](const std::string& message, FindingKind kind = FindingKind::none) {
      findings.add(kind, true, {rest[0], message}, {{"path", rest[0]}, {"message", message}});
    };
    if (!key.empty()) {
      none("sealed for key " + key + ": 'opdump open --key FILE " + rest[0] + " -o DIR' opens it first",
           FindingKind::sealed);
    } else if (context.journals.empty()) {
      none(
          "no journal: nothing to prove completeness with. It is 'opdump.{device}.{id}.journal' in the "
          "directory of the time, unless the session was told to keep none");
    } else if (options.config && !context.is_of_wanted) {
      none(wants_cards ? "no card beside a journal of its device; name the models with --model"
                       : "no journal of the device that RUN.json is of");
    }
    findings.print();
    if (options.json) {
      print_json(json, context);
    } else {
      print_summary(context);
    }
  }
  if (!findings.complete()) return kExitFailed;
  return findings.has_never() ? kExitNever : kExitOk;
}

}  // namespace opdump::tool
