#include <algorithm>
#include <array>
#include <cstdio>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/judge/diff/run_reader.hpp"
#include "src/tool/judge/diff/run_table.hpp"
#include "src/tool/judge/diff/run_verdicts.hpp"
#include "src/tool/judge/diff/signature.hpp"
#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {
namespace {

constexpr char kDiffHelp[] =
    R"(opdump diff - names the first tensor that differs between runs, bit by bit

usage: opdump diff RUN RUN... [--against RUN]... [--write SIGNATURE] [--json]
       opdump diff RUN... --write SIGNATURE
       opdump diff --fleet RUN RUN RUN... [--json]

  RUN                a dump with digests ("opdump": {"digest": ...}), with tensors, with statistics or with what a
                     privacy keeps, a flash image, or a signature. Of tensors the digests are computed, in the
                     algorithm of the other runs (NumPy files have other bytes where elements are smaller than one).
                     A directory with several dumps of digests has as many runs
      --against RUN  a run of the other side; may come several times
      --write FILE   writes a signature: a text with the digest of each tensor, and "~" for each that is not the
                     same in all runs. Later it may stand in place of a run
      --fleet        each RUN is a device: names those that have something else than most at a tensor, and the
                     first tensor where they leave the others; and those that were not compared at all tensors
      --any-model    compares dumps that have no model in common, or whose cards ('opdump.*.model.json' beside the
                     journal) or journals tell of another file of a model
      --json         everything as JSON on stdout

The first tensor is the first by step, then in the order in which the first run captured it. It is

  different  where the runs of each side agree, and the sides do not
  flaky      where runs of one side do not agree
  missing    where some runs have it and others do not

Statistics are compared with statistics of the same kind: dtype, shape, least and greatest number, mean, norm, counts of
NaNs and infinities. Equal ones do not make the tensors the same, and are told apart. MD5 and SHA-1 among them are
compared as digests. Tensors of which one run has statistics and another one elements, or a run has neither, are
not compared, and counted; 'opdump compare' holds statistics against elements.

Where journals or cards tell of other builds of the program, other configs, runtimes or versions of opdump, stderr
says so, and nothing is refused.

Sides are what '--against' says or, where a RUN has several runs, each RUN. Runs that no side is told of are
different where they fall into the same two groups in most places, as two builds do, and flaky elsewhere. Of two runs
nothing is flaky.

  opdump diff monday tuesday
  opdump diff runs_of_old_build --against runs_of_new_build
  opdump diff runs/* --write golden.sig && git add golden.sig
  opdump diff golden.sig flash.img || echo 'the firmware computes something else'

exit status
  0  all tensors, or their statistics, are the same in all runs
  1  some are not or could not be compared, or something of a run could not be read; stdout or stderr says which
  2  the command line is wrong, a run is of another model, nothing of the runs can be compared, or a signature is
     wanted of a run that lacks digests of elements
)";

struct DiffOptions {
  std::vector<std::string> against;
  std::optional<std::string> write;
  bool any_model = false;
  bool fleet = false;
  bool json = false;
};

/// Rows of one tensor.
struct DifferingTensor {
  std::uint32_t tensor = 0;
  RunVerdict verdict = RunVerdict::same;
  StepRanges steps{};
};

/// The first tensors that differ, in the order in which they do so first, and how many there are in all.
class DifferingTensors {
 public:
  DifferingTensors(const RunTable& table, std::size_t most) : most_(most), known_(table.tensors().size()) {}

  void add(const RunPlace& place, RunVerdict verdict) {
    if (!known_[place.tensor]) {
      known_[place.tensor] = true;
      if (++count_ <= most_) first_.push_back({place.tensor, verdict, {}});
    }
    const auto tensor = std::find_if(first_.begin(), first_.end(),
                                     [&](const DifferingTensor& one) { return one.tensor == place.tensor; });
    if (tensor == first_.end()) return;
    // A tensor that is flaky once is flaky.
    if (verdict == RunVerdict::flaky) tensor->verdict = RunVerdict::flaky;
    tensor->steps.add(place.step);
  }

  std::vector<DifferingTensor>& first() { return first_; }
  std::size_t count() const { return count_; }

 private:
  const std::size_t most_;
  std::vector<bool> known_;
  std::vector<DifferingTensor> first_;
  std::size_t count_ = 0;
};

/// Words with a count before them, where there are any.
class CountWords {
 public:
  CountWords& add(std::size_t count, std::string_view before, std::string_view after) {
    if (count != 0)
      text_ += (text_.empty() ? "" : ", ") + std::string(before) + std::to_string(count) + std::string(after);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool statistics_differ(const RunTable& table, const RunDifference& difference) {
  return difference.verdict == RunVerdict::different && are_statistics(table, difference.place);
}

/// `complete`: each run was read whole.
void print_text(const RunTable& table, const RunDifferences& differences, const RunCounts& counts,
                bool complete) {
  constexpr std::size_t kMostRows = 20;
  const std::string all =
      count_text(table.runs().size(), "run") + ", " + count_text(table.places().size(), "tensor");
  if (table.runs().size() == 1) return print_line(all);
  if (complete && counts.same == table.places().size()) return print_line(all + ": all the same");
  std::array<std::size_t, 4> verdicts{};
  std::size_t statistics = 0;
  DifferingTensors tensors(table, kMostRows);
  for (const RunDifference& difference : differences) {
    if (statistics_differ(table, difference)) {
      ++statistics;
    } else {
      ++verdicts[static_cast<std::size_t>(difference.verdict)];
    }
    tensors.add(table.places()[difference.place], difference.verdict);
  }
  CountWords words;
  for (const RunVerdict verdict : {RunVerdict::different, RunVerdict::flaky, RunVerdict::missing})
    words.add(verdicts[static_cast<std::size_t>(verdict)], "", ' ' + std::string(word_of(verdict)));
  words.add(statistics, "statistics of ", statistics == 1 ? " differs" : " differ");
  words.add(counts.same, "", " the same").add(counts.statistics, "statistics of ", " equal");
  words.add(counts.empty, "", " without elements");
  words.add(counts.not_held, "", " not held against a run, as '~' in a signature");
  words.add(counts.not_compared, "", " not compared");
  print_line(all + ": " + words.text() + (complete ? "" : ", without those that could not be read"));
  if (differences.empty()) return;
  const RunDifference& first = differences[0];
  const std::string verdict = statistics_differ(table, first) ? " has other statistics"
                                                              : " is " + std::string(word_of(first.verdict));
  print_line("first: " + place_text(table, first.place) + verdict + ": " + groups_text(first));
  for (std::size_t run = 0; run < table.runs().size() && table.runs().size() <= kMostRows; ++run)
    print_line("  run " + std::to_string(run + 1) + "  " + table.runs()[run].name);
  std::printf("\n");
  Table rows("", "lllll");
  rows.add({"TENSOR", "MODEL", "DTYPE AND SHAPE", "VERDICT", "AT"});
  for (DifferingTensor& one : tensors.first()) {
    const SummedTensor& tensor = table.tensors()[one.tensor];
    rows.add({tensor.text(), tensor.model, table.forms_text(one.tensor), std::string(word_of(one.verdict)),
              one.steps.text()});
  }
  rows.print();
  if (tensors.count() > kMostRows)
    print_line("and " + count_text(tensors.count() - kMostRows, "more tensor") + "; '--json' has all");
}

void print_json(const RunTable& table, const RunDifferences& differences, const RunCounts& counts,
                std::string_view algorithm, bool complete) {
  const bool same = counts.same + counts.empty + counts.not_held == table.places().size();
  JsonWriter json;
  json.open('{').key("algorithm").text(algorithm).key("tensors").number(table.places().size());
  json.key("complete").flag(complete).key("same").flag(complete && same);
  json.key("statistics_equal").number(counts.statistics).key("without_elements").number(counts.empty);
  json.key("not_held").number(counts.not_held).key("not_compared").number(counts.not_compared);
  json.line().key("runs").open('[');
  for (const Run& run : table.runs())
    json.line(2).open('{').key("name").text(run.name).key("side").number(run.side).close('}');
  json.line().close(']');
  json.line().key("differences").open('[');
  for (const RunDifference& difference : differences) {
    json.line(2).open('{').key("verdict").text(word_of(difference.verdict));
    write_place(json, table, difference.place);
    json.key("what").text(table.forms_text(table.places()[difference.place].tensor));
    json.key("statistics").flag(statistics_differ(table, difference));
    json.key("groups").open('[');
    for (const std::uint16_t group : difference.groups)
      json.json(group == kNoGroup ? "null" : std::to_string(group));
    json.close(']').key("digests").open('[');
    for (std::size_t run = 0; run < table.runs().size(); ++run)
      json.text(digest_text(table.at(run, difference.place), algorithm));
    json.close(']').close('}');
    std::fputs(json.take().c_str(), stdout);
  }
  if (!differences.empty()) json.line();
  json.close(']').close('}');
  std::puts(json.take().c_str());
}

/// Names the runs that leave the others, those that do so first in front, then those that were not compared at all
/// places; returns the exit status.
int print_fleet(const RunTable& table, const RunDigest& nothing, bool complete, bool json) {
  const std::vector<FleetRun> fleet = judge_fleet(table, nothing);
  std::vector<std::size_t> place_in_order(table.places().size());
  for (std::size_t i = 0; i < table.order().size(); ++i) place_in_order[table.order()[i]] = i;
  std::vector<std::size_t> outliers, partial;
  std::size_t none = 0;
  for (std::size_t run = 0; run < fleet.size(); ++run) {
    const FleetRun& one = fleet[run];
    if (one.differs != 0) outliers.push_back(run);
    if (one.differs == 0 && one.agrees != table.places().size()) partial.push_back(run);
    none += one.agrees + one.differs == 0 ? 1 : 0;
  }
  std::stable_sort(outliers.begin(), outliers.end(), [&](std::size_t a, std::size_t b) {
    return place_in_order[fleet[a].first] < place_in_order[fleet[b].first];
  });
  const std::size_t whole = fleet.size() - outliers.size() - partial.size();
  JsonWriter out;
  out.open('{').key("runs").number(fleet.size()).key("tensors").number(table.places().size());
  out.key("agree").number(whole).key("not_compared").number(none).key("complete").flag(complete);
  if (!json) {
    print_line(
        count_text(fleet.size(), "run") + ", " + count_text(table.places().size(), "tensor") + ": " +
        CountWords()
            .add(outliers.size(), "", outliers.size() == 1 ? " leaves the others" : " leave the others")
            .add(whole, "", " as most are at all tensors")
            .add(partial.size() - none, "", " as most are where they could be compared")
            .add(none, "", " not compared")
            .text() +
        (complete ? "" : ", without what could not be read"));
  }
  const auto tell = [&](const char* key, const std::vector<std::size_t>& runs) {
    constexpr std::size_t kMostRows = 20;
    out.key(key).open('[');
    for (const std::size_t run : runs) {
      const FleetRun& one = fleet[run];
      const std::string& name = table.runs()[run].name;
      const bool leaves = one.differs != 0;
      out.line(2).open('{').key("name").text(name);
      if (leaves) write_place(out, table, one.first).key("differs").number(one.differs);
      out.key("agrees").number(one.agrees).key("lacks").number(one.lacks);
      out.key("not_compared").number(one.not_compared).close('}');
      if (json || (!leaves && run > runs[std::min(kMostRows, runs.size()) - 1])) continue;
      print_line("  " + name + (leaves ? " from " + place_text(table, one.first) + " on: " : ": ") +
                 CountWords()
                     .add(one.differs, "", " differ")
                     .add(one.agrees, "", " as most")
                     .add(one.lacks, "", " missing")
                     .add(one.not_compared, "", " not compared")
                     .text());
    }
    out.line().close(']');
    if (!json && runs.size() > kMostRows && fleet[runs.back()].differs == 0)
      print_line("  and " + std::to_string(runs.size() - kMostRows) + " more; '--json' has all");
  };
  tell("outliers", outliers);
  tell("partial", partial);
  if (json) std::puts(out.close('}').take().c_str());
  if (none == fleet.size()) return kExitUsage;
  return complete && whole == fleet.size() ? kExitOk : kExitFailed;
}

}  // namespace

int run_diff(Words words) {
  DiffOptions options;
  std::vector<std::string> rest;
  const Option list[] = {
      {.name = "--against", .texts = &options.against},    {.name = "--write", .text = &options.write},
      {.name = "--any-model", .flag = &options.any_model}, {.name = "--fleet", .flag = &options.fleet},
      {.name = "--json", .flag = &options.json},
  };
  if (const std::optional<int> exit_code = read_options({"diff", kDiffHelp, list}, words, rest))
    return *exit_code;
  if (rest.empty()) return usage_error("diff", "a RUN is missing");
  if (options.fleet && (options.write || !options.against.empty()))
    return usage_error("diff", "'--fleet' has no sides and writes no signature");

  const SearchReport report = {[](const std::string& message) { say("opdump: " + message); },
                               [](const std::string& message) { say("opdump: " + message); }};
  RunReader reader(report);
  bool good = true;
  std::list<ExtractedImage> images;
  const auto look = [&](const std::string& path, std::size_t side) {
    const std::string dump = images.emplace_back().open(path, reader.report());
    good = reader.look(dump, path, side) && good;
  };
  const bool has_sides = !options.against.empty();
  for (std::size_t i = 0; i < rest.size(); ++i) look(rest[i], has_sides ? 0 : i);
  for (const std::string& path : options.against) look(path, 1);
  RunTable table;
  if (!good || !reader.read(table)) return reader.failed();
  if (table.runs().size() < 2 && !options.write)
    return usage_error("diff", "one run alone: a second RUN, or '--write FILE', is missing");
  if (std::string error; !options.any_model && !have_common_model(table, error)) {
    say("opdump: " + error + "; '--any-model' compares them");
    return kExitUsage;
  }
  for (const std::string& unlike : unlike_runs(table)) say("opdump: " + unlike);
  if (options.fleet && table.runs().size() < 3)
    return usage_error("diff", "'--fleet' takes three runs or more: of two, none is the other one");
  if (options.fleet)
    return print_fleet(table, sum_of_nothing(reader.algorithm()), reader.complete(), options.json);
  const bool one_each = !has_sides && table.runs().size() == rest.size();
  RunCounts counts;
  const RunDifferences differences = judge_runs(table, one_each, sum_of_nothing(reader.algorithm()), counts);
  if (options.write && reader.without_elements() != 0) {
    say("opdump: " + *options.write + ": not written: the runs lack digests of all elements of " +
        count_text(reader.without_elements(), "tensor"));
    return kExitUsage;
  }
  if (table.runs().size() > 1 && differences.empty() && counts.not_compared == table.places().size()) {
    say("opdump: nothing is compared: of no tensor have two runs elements, digests or statistics of one kind");
    return kExitUsage;
  }
  if (options.write && !reader.complete()) {
    say("opdump: " + *options.write + ": not written, as a run could not be read whole");
    return kExitFailed;
  }
  if (std::string error;
      options.write &&
      !write_file(
          *options.write, [&](const PutText& put) { return write_signature(table, reader.algorithm(), put); },
          error)) {
    say("opdump: " + error);
    return kExitFailed;
  }
  if (options.json) {
    print_json(table, differences, counts, reader.algorithm(), reader.complete());
  } else {
    print_text(table, differences, counts, reader.complete());
  }
  return reader.complete() && differences.empty() && counts.not_compared == 0 ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
