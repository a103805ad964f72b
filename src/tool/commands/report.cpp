#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"
#include "src/tool/judge/why/judgement.hpp"
#include "src/tool/page/page.hpp"

namespace opdump::tool {
namespace {

constexpr char kReportHelp[] =
    R"(opdump report - writes a dump, and how it differs from a golden one, as a page for any browser

usage: opdump report DUMP [-g GOLDEN] [-e EXPECTED] [--model FILE] [--step STEPS] [--limits LIST] -o report.html

  -o, --output FILE        the page
)";

constexpr char kReportAbout[] =
    R"(      --config CONFIG      what the dump was asked for with: told in words, as by 'opdump check'; and what of it the
                           dump lacks, as by 'opdump verify'
      --histograms WHICH   'all', 'flagged': only of tensors that stand out, or 'none'; all as far as there is room
                           unless told
      --max-bytes BYTES    how large the page may be, such as 8M, which it is unless told. It leaves out histograms,
                           then inputs, tensors and pictures where nothing stands out, and says so. About 40 bytes
                           for each record are the least: of more than 200 000 records there is a page of 8M only
                           with '--step' or '--op'

DUMP, which is mine above, and GOLDEN are what 'opdump compare' takes. '--model' takes an ONNX file, too. Where ONNX
Runtime is there, in the system or where OPDUMP_ORT names it, each operator is then recomputed from its own inputs, as
by 'opdump diverge': its isolated error. A card also tells which output an input is.

The page is one file. It holds the verdict in one sentence, all operators by steps, their errors, tables to filter and
sort, of each tensor statistics and a histogram, of up to 200 that stand out pictures, which output each input is,
and what the journal says was lost. It holds no whole tensor, loads nothing and sends nothing, so it can be mailed
and opened offline. Without JavaScript it shows the verdict, the 50 worst operators and the losses. The same dump
gives the same bytes.

  opdump report dump -g golden -o report.html
  opdump report dump -g golden --step 0-9 --limits cann -o report.html
  opdump report dump --model net.onnx --config acl.json -o report.html
  opdump report flash.img -o report.html --max-bytes 2M

exit status
  0  the page was written; with a golden dump, all tensors of mine were compared, and keep the limits (the outputs,
     where the golden dump has outputs alone); with --model, no operator that could be recomputed is off by itself
  1  it could not be written, something could not be read, an operator is off by itself, or, with a golden dump, a
     tensor does not keep the limits, has no golden tensor, or could not be compared; stderr says which
  2  the command line is wrong, the dumps are of different models, or what OPDUMP_ORT names is no ONNX Runtime
)";

struct ReportOptions : CompareChoice {
  std::optional<std::string> histograms;
  std::optional<std::string> max_bytes;
  std::optional<std::string> output;
  std::optional<std::string> config;
  std::optional<std::string> model_file;  ///< a card or an ONNX model
  std::string command;                    ///< but for the name of the page
};

/// A path as who reads the page may see it: an absolute one tells of the machine that made the page, so that its
/// last name stays.
std::string shown_path(std::string path) {
  if (path.empty() || path[0] != '/') return path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

/// With `shown_path` in place of each path that the command names.
void show_paths(const ReportOptions& options, std::string& text) {
  for (const std::optional<std::string>* path :
       {&options.mine, &options.golden, &options.expected, &options.model_file, &options.golden_model,
        &options.map, &options.config}) {
    const std::string from = path->value_or(""), to = shown_path(from);
    if (from == to) continue;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
}

/// A word as a shell takes it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=,:+@%") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + '\'';
}

/// What was asked for, without the name of the page.
std::string command_of(const ReportOptions& options, const std::vector<Option>& list) {
  std::string text = "opdump report " + quoted(shown_path(*options.mine));
  for (const Option& option : list) {
    const std::string name = ' ' + std::string(option.name);
    if (option.flag != nullptr) {
      text += *option.flag ? name : "";
    } else if (*option.text && option.text != &options.mine && option.text != &options.output) {
      text += name + ' ' + quoted(shown_path(**option.text));
    }
  }
  return text;
}

std::optional<PageDetail> parse_histograms(const std::string& text) {
  if (text == "all") return PageDetail::all;
  if (text == "flagged") return PageDetail::flagged;
  if (text == "none") return PageDetail::none;
  return std::nullopt;
}

/// What a search could not read, for the page.
struct Unread {
  void add(const std::string& message) {
    constexpr std::size_t kMostTold = 50;
    if (++files <= kMostTold) messages.push_back("Could not be read: " + message);
  }

  std::uint64_t files = 0;
  std::vector<std::string> messages;  ///< of the first ones
};

bool write_report(const ReportFacts& facts, const ReportOptions& options, PageDetail detail,
                  std::uint64_t max_bytes, const SearchReport& search) {
  const PageHead head = {.dump = shown_path(*options.mine),
                         .golden = shown_path(options.golden.value_or("")),
                         .command = options.command,
                         .max_bytes = max_bytes};
  std::string error;
  if (!write_page(*options.output, facts, head, detail, error)) {
    search.error(error);
    return false;
  }
  print_line(verdict_text(facts));
  print_line(*options.output);
  return true;
}

}  // namespace

int run_report(Words words) {
  ReportOptions options;
  const std::string help = std::string(kReportHelp).append(kCompareOptionsHelp).append(kReportAbout);
  const std::vector<Option> list =
      compare_options(options, {
                                   {"--config", {}, nullptr, &options.config},
                                   {"--histograms", {}, nullptr, &options.histograms},
                                   {"--max-bytes", {}, nullptr, &options.max_bytes},
                                   {"-o", "--output", nullptr, &options.output},
                                   {"-d", "--dump_file", nullptr, &options.mine},
                               });
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"report", help, list}, words, rest)) return *end;
  for (const std::string& path : rest) {
    if (options.mine) return usage_error("report", "one DUMP at a time, not also '" + path + "'");
    options.mine = path;
  }
  if (options.mine.value_or("").empty()) return usage_error("report", "a DUMP is missing");
  if (options.output.value_or("").empty()) return usage_error("report", "'-o FILE' is missing");
  const std::optional<PageDetail> detail = parse_histograms(options.histograms.value_or("all"));
  if (!detail)
    return usage_error("report", "'--histograms " + *options.histograms + "' is none of all, flagged, none");
  const std::optional<std::uint64_t> most = parse_byte_size(options.max_bytes.value_or("8M"));
  if (!most) return usage_error("report", "'--max-bytes " + *options.max_bytes + "' is no size, such as 8M");
  std::string error;
  options.command = command_of(options, list);
  options.model_file = std::exchange(options.model, std::nullopt);
  ReplayModel model;
  std::unique_ptr<OpReference> reference;
  if (options.model_file) {
    if (!model.load(*options.model_file, "report")) return kExitFailed;
    options.model = options.model_file;
    std::string reason;
    reference = open_ort({}, reason);
    if (reference == nullptr && is_ort_named()) {
      say("opdump report: " + reason);
      return kExitUsage;
    }
    options.stored = reference != nullptr;
  }
  DumpComparison dumps;
  if (!dumps.choose(options, error)) return usage_error("report", error);
  std::vector<const Measure*> measures;
  const std::string wanted = "cosine,euclid,max_abs,max_rel";
  if (!choose_measures(options.expected ? wanted + ",by_expected" : wanted, measures, error))
    return usage_error("report", error);

  catch_interrupts();
  bool good = true;
  const SearchReport search = {.error =
                                   [&](const std::string& message) {
                                     say("opdump report: " + message);
                                     good = false;
                                   },
                               .note = [](const std::string& message) { say("opdump report: " + message); }};
  Unread unread;
  const SearchReport reading = {.error =
                                    [&](const std::string& message) {
                                      unread.add(message);
                                      search.error(message);
                                    },
                                .note = search.note};
  if (const std::optional<int> end = dumps.read(reading)) return *end;
  std::optional<CompareReport> compared;
  std::optional<VerdictReport> verdicts;
  if (options.golden) {
    dumps.compare(needs_detail(measures, dumps.thresholds()));
    if (interrupted()) die_of_interrupt();
    compared.emplace(dumps.report(measures));
    verdicts.emplace(*compared);
    judge_by_expected(dumps, *compared, *verdicts);
    good &= tell_problems(*compared, search);
  }
  WantedRecords asked;
  ConfigFacts config;
  if (options.config) {
    config = read_config_facts(*options.config);
    if (!asked.load(*options.config, error)) search.error(error);
  }
  const bool is_image = dumps.my_path() != *options.mine;
  ReportFacts facts = {.dumps = dumps,
                       .compared = compared ? &*compared : nullptr,
                       .verdicts = verdicts ? &*verdicts : nullptr,
                       .journal = read_journals(dumps.my_path(), config.valid ? &asked : nullptr),
                       .config = std::move(config),
                       .root = is_image ? std::string() : shown_path(*options.mine),
                       .image = is_image ? shown_path(*options.mine) : std::string(),
                       .unread_files = unread.files,
                       .notes = std::move(unread.messages)};
  gather_facts(facts, model, reference.get(), search);
  if (interrupted()) die_of_interrupt();
  for (std::vector<std::string>* const notes : {&facts.notes, &facts.config.notes})
    for (std::string& note : *notes) show_paths(options, note);
  good &= facts.own_fault.empty();
  return write_report(facts, options, *detail, *most, search) && good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
