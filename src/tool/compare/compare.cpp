#include <fnmatch.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/compare/compare_report.hpp"
#include "src/tool/flash/extracted_image.hpp"
#include "src/tool/verify/dump_provenance.hpp"
#include "src/tool/run/model_sums.hpp"

namespace opdump::tool {
namespace {

constexpr char kCompareHelp[] =
    R"(opdump compare - compares a dump with a golden one, tensor by tensor

usage: opdump compare -m MINE -g GOLDEN [-out DIRECTORY]
       opdump compare MINE GOLDEN [-out DIRECTORY]

  -m, --my_dump_path PATH      a dump file, an .npy file, a .bin file of MindSpore Lite, a directory with all that is
                               below it, or a flash image
  -g, --golden_dump_path PATH  what it should be like: a dump in any layout, statistics too, or arrays: .npy and
                               .npz files, .safetensors, or ONNX tensors (.pb), or msprobe's folders with
                               their dump.json; so may be mine
  -e, --expected PATH          a dump of the precision of mine that is known to be good: a tensor of mine may be 4
                               times as far from golden as its own, or as --limits by_expected=N says; 'rounded'
                               instead of a path: as golden, rounded to my dtype, float16, bfloat16, or one
                               that a card gives scales. Where no error is to be expected, the usual limits
                               count
  -out, --output DIRECTORY     where 'result_{time}.csv' goes, with the columns of msaccucmp; made if missing;
                               without it no file is written
  -alg, --algorithm LIST       the measures of csv and json: numbers 0 to 9 or names, with commas between; all
                               of them by default
      --op GLOB                only operators whose name matches, such as 'conv*'
      --boot N                 of MINE only boot N, where it is a flash image or what 'opdump extract' wrote
      --golden-boot N          the same of GOLDEN
      --map FILE               what my operators are called in the golden dump: rows 'name,golden name',
                               or in a .yaml file 'name: golden name', as msprobe's data_mapping.yaml
      --model CARD             what my integers stand for, by a card of the model, as 'opdump describe' writes
                               it: quantised tensors are compared by their real values. Without it, by the
                               cards that lie beside the journal, 'opdump.*.model.json'
      --golden-model CARD      the same of GOLDEN
      --any-model              compares dumps whose cards or journals tell of another file of a model, by its
                               SHA-256. Other builds, configs, runtimes or versions of opdump are told on
                               stderr and refused nowhere
      --by-order               operators go together by their turn within a step, whatever their names
      --align                  what names leave over goes together by type, shape and values in the order of
                               execution, as between two runtimes; what one of them has fused stays over
      --limits LIST            what a tensor has to keep or is called diverging, as 'cosine=0.99,max_abs=0.001';
                               or the limits of another tool: cann, msprobe, litert, polygraphy; unless given,
                               'default', a cosine of 0.99 and a Euclidean distance of 0.05. The first tensor
                               that is not equal is told besides. Equal tensors keep every limit, also with
                               NaNs in them
      --fail-under LIST        as --limits
      --json                   everything as JSON on stdout, instead of the summary

Tensors go together by operator, role and index, and by model and step where both dumps tell them, by step alone
where each has one model; an output also by the name of the framework's operator that a record of either dump
holds. Of several operators of one name those with the same task, type and shape go together, then by their turn.
Both are taken as float32, as msaccucmp takes them, and sums are float64, of large tensors over runs of 16 terms.
Measures, with x mine, y golden and r = |x/y-1|, 0 where y is 0:

  0  cosine    CosineSimilarity           5  std       StandardDeviation: means and deviations
  1  max_abs   MaxAbsoluteError           6  mean_abs  MeanAbsoluteError
  2  sum_rel   AccumulatedRelativeError   7  rmse      RootMeanSquareError
  3  euclid    RelativeEuclideanDistance  8  max_rel   MaxRelativeError
  4  kl        KullbackLeiblerDivergence  9  mean_rel  MeanRelativeError

More measures, in csv, json and limits where they are named:

     snr       signal to noise in dB            within_0.001  share of elements at most 0.1 % away
     psnr      the same of the greatest value   within_0.005  the same for 0.5 %
     pearson   correlation                      q99_abs       of 100 elements, 99 are at most so far away
     unlike    NaN or Inf on one side alone     q99_rel       the same by the golden element
     statistics   of statistics files (CANN's, MindSpore's): the largest difference of max, min, mean and norm
                  by golden's range; 0.05 is its limit
     by_expected  the error (rmse) in units of the one that --expected has
     not_close elements more than 1e-5 and 1e-5 of the golden one away

An operator's inputs and outputs together give its verdict: a culprit's inputs agree and an output does not, a
victim's inputs diverge already. One sentence names the first operator that diverges. That needs the inputs in both
dumps ("dump_mode": "all").

Besides: the share of equal elements, the largest distance in units in the last place ("ulp") where both have one
floating dtype, and where the largest absolute error lies.

  opdump compare -m dump -g golden
  opdump compare -m dump/20260131130559/0/digits/1/9 -g framework_npy -out results
  opdump compare -m a.npy -g b.npy --json
  opdump compare -m npu_fp16 -g cpu_fp32 -e cpu_fp16
  opdump compare -m dump -g golden --limits cosine=0.999 || echo 'not good enough'

exit status
  0  all tensors of mine were compared, and keep the limits
  1  one does not, has no golden tensor, or could not be compared; the summary and stderr say which
  2  the command line is wrong, or the dumps are of different models
)";

struct CompareOptions {
  std::optional<std::string> mine;
  std::optional<std::string> golden;
  std::optional<std::string> expected;
  std::optional<std::string> output;
  std::optional<std::string> algorithm;
  std::optional<std::string> op;
  std::optional<std::string> limits;
  std::optional<std::string> fail_under;
  std::optional<std::string> map;
  std::optional<std::string> boot;
  std::optional<std::string> golden_boot;
  std::optional<std::string> model;
  std::optional<std::string> golden_model;
  bool any_model = false;
  bool by_order = false;
  bool align = false;
  bool json = false;
};

/// Tensors of other operators go away.
void keep_ops(const std::string& glob, DumpSide& side) {
  std::erase_if(side.tensors, [&](const DumpTensor& tensor) {
    return fnmatch(glob.c_str(), side.files[tensor.file].op.c_str(), 0) != 0;
  });
}

/// What `side` has for each golden tensor.
void expect(const DumpSide& side, const DumpSide& golden, const PairingOptions& pairing,
            ExpectedErrors& expected) {
  expected.side = &side;
  expected.tensors.resize(golden.tensors.size());
  for (const TensorPair& pair : pair_tensors(side, golden, pairing)) {
    if (pair.mine && pair.golden) expected.tensors[*pair.golden] = pair.mine;
  }
}

constexpr std::uint64_t kMostProblems = 10;

/// What the cards and journals beside both dumps tell of different models; empty: nothing. `others` becomes
/// what else of where they come from is different.
std::string unlike_sides(BesideCards& beside, const DumpSide& mine, const DumpSide& golden,
                         std::vector<std::string>& others) {
  constexpr char kMine[] = "my dump";
  constexpr char kGolden[] = "the golden one";
  ModelSums sums[2];
  DumpProvenance provenances[2];
  ProvenanceReader reader(beside);
  for (const DumpSide* side : {&mine, &golden}) {
    std::set<std::string> directories;
    for (const DumpFile& file : side->files)
      directories.insert(file.path.substr(0, std::min(file.path.rfind('/'), file.path.size())));
    for (const std::string& directory : directories) {
      add_model_sums(beside, directory, sums[side == &golden ? 1 : 0]);
      reader.add(directory, provenances[side == &golden ? 1 : 0]);
    }
  }
  others = unlike_provenance(kMine, provenances[0], kGolden, provenances[1]);
  const std::string unlike = unlike_models(kMine, sums[0], kGolden, sums[1]);
  return unlike.empty() ? unlike_models(kMine, provenances[0], kGolden, provenances[1]) : unlike;
}

bool is_pair(const PairResult& result) {
  return result.pair.mine && result.pair.golden;
}

/// "'conv1', 'relu1', 'fc' and 3 more".
std::string some_ops(const DumpSide& side) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> ops;
  for (const DumpTensor& tensor : side.tensors) {
    const std::string& op = side.files[tensor.file].op;
    if (ops.empty() || ops.back() != op) ops.push_back(op);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, ops.size()); ++i) text += (i == 0 ? "'" : ", '") + ops[i] + "'";
  return ops.size() <= kMost ? text : text + " and " + std::to_string(ops.size() - kMost) + " more";
}

std::string result_name() {
  const time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  char text[64];
  strftime(text, sizeof text, "result_%Y%m%d%H%M%S.csv", &local);
  return text;
}

bool write_csv(const std::string& directory, const std::string& csv) {
  if (const int error = make_directories(directory); error != 0) {
    say("opdump: " + directory + ": " + strerror(error));
    return false;
  }
  const std::string path = directory + '/' + result_name();
  std::string error;
  if (!write_file(path, as_bytes(csv), error)) {
    say("opdump: " + error);
    return false;
  }
  say(path);
  return true;
}

}  // namespace

int run_compare(Words words) {
  CompareOptions options;
  const Option list[] = {
      {"-m", "--my_dump_path", nullptr, &options.mine},
      {"-g", "--golden_dump_path", nullptr, &options.golden},
      {"-e", "--expected", nullptr, &options.expected},
      {"-out", "--output", nullptr, &options.output},
      {"-alg", "--algorithm", nullptr, &options.algorithm},
      {"--op", {}, nullptr, &options.op},
      {"--fail-under", {}, nullptr, &options.fail_under},
      {"--limits", {}, nullptr, &options.limits},
      {"--map", {}, nullptr, &options.map},
      {"--boot", {}, nullptr, &options.boot},
      {"--golden-boot", {}, nullptr, &options.golden_boot},
      {"--model", {}, nullptr, &options.model},
      {"--golden-model", {}, nullptr, &options.golden_model},
      {"--any-model", {}, &options.any_model},
      {"--by-order", {}, &options.by_order},
      {"--align", {}, &options.align},
      {"--json", {}, &options.json},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"compare", kCompareHelp, list}, words, rest)) return *end;
  for (const std::string& path : rest) {
    std::optional<std::string>& side = !options.mine ? options.mine : options.golden;
    if (side) return usage_error("compare", "there are two dumps already, so '" + path + "' has no meaning");
    side = path;
  }
  if (options.mine.value_or("").empty()) return usage_error("compare", "'-m MINE' is missing");
  if (options.golden.value_or("").empty()) return usage_error("compare", "'-g GOLDEN' is missing");
  if (options.output && options.output->empty()) return usage_error("compare", "'-out' needs a directory");
  const std::optional<std::uint32_t> boot = parse_boot(options.boot.value_or(""));
  const std::optional<std::uint32_t> golden_boot = parse_boot(options.golden_boot.value_or(""));
  if (options.boot && !boot) return usage_error("compare", "'" + *options.boot + "' is no number of a boot");
  if (options.golden_boot && !golden_boot)
    return usage_error("compare", "'" + *options.golden_boot + "' is no number of a boot");
  std::string error;
  std::vector<const Measure*> chosen;
  if (!choose_measures(options.algorithm.value_or("all"), chosen, error))
    return usage_error("compare", error);
  std::vector<Threshold> thresholds;
  if (options.limits && options.fail_under)
    return usage_error("compare", "'--limits' and '--fail-under' exclude each other");
  const std::optional<std::string>& limits = options.limits ? options.limits : options.fail_under;
  if (limits && !read_thresholds(*limits, thresholds, error)) return usage_error("compare", error);
  if (!limits)
    thresholds = usual_thresholds(options.expected ? Evidence::expected_error : Evidence::elements);
  if (!options.expected && std::any_of(thresholds.begin(), thresholds.end(),
                                       [](const Threshold& limit) { return limit.is_by_expected(); }))
    return usage_error("compare", "the limit 'by_expected' needs '--expected PATH'");
  NameMap names;
  if (options.map && options.by_order)
    return usage_error("compare", "'--map' and '--by-order' exclude each other");
  if (options.align && options.by_order)
    return usage_error("compare", "'--align' and '--by-order' exclude each other");
  if (options.map && !names.load(*options.map, error)) {
    say("opdump: " + error);
    return kExitFailed;
  }

  RunFile card, golden_card;
  if ((options.model && !load_or_say(*options.model, card)) ||
      (options.golden_model && !load_or_say(*options.golden_model, golden_card)))
    return kExitFailed;
  const CardedOps carded(card), golden_carded(golden_card);

  bool good = true;
  const SearchReport search = {.error =
                                   [&](const std::string& message) {
                                     say("opdump: " + message);
                                     good = false;
                                   },
                               .note = [](const std::string& message) { say("opdump: " + message); }};
  catch_interrupts();
  ExtractedImage my_image, golden_image, expected_image;
  const auto read = [&](ExtractedImage& image, const std::string& path,
                        std::optional<std::uint32_t> of_boot) {
    const std::string there = image.open(path, search, of_boot);
    return read_side(there, search, there == path ? of_boot : std::nullopt);
  };
  DumpSide mine = read(my_image, *options.mine, boot);
  DumpSide golden = read(golden_image, *options.golden, golden_boot);
  BesideCards beside(search.note);
  std::vector<std::string> others;
  const std::string unlike = unlike_sides(beside, mine, golden, others);
  if (!unlike.empty() && !options.any_model) {
    say("opdump: " + unlike + "; '--any-model' compares them");
    return kExitUsage;
  }
  for (const std::string& other : others) say("opdump: " + other);
  add_cards(options.model ? &carded : nullptr, beside, mine);
  add_cards(options.golden_model ? &golden_carded : nullptr, beside, golden);
  if (options.op) {
    keep_ops(*options.op, mine);
    keep_ops(*options.op, golden);
  }
  if (mine.tensors.empty()) search.error(*options.mine + ": there is no tensor to compare");
  if (golden.tensors.empty()) search.error(*options.golden + ": there is no tensor to compare with");
  if (mine.tensors.empty() || golden.tensors.empty()) return kExitFailed;

  const PairingOptions pairing = {
      .names = options.map ? &names : nullptr, .by_order = options.by_order, .align = options.align};
  const std::vector<TensorPair> pairs = pair_tensors(mine, golden, pairing);
  DumpSide expected_side;
  ExpectedErrors expected;
  expected.rounded = options.expected == "rounded";
  if (options.expected && !expected.rounded) {
    expected_side = read(expected_image, *options.expected, std::nullopt);
    if (expected_side.tensors.empty()) {
      search.error(*options.expected + ": there is no tensor to expect errors of");
      return kExitFailed;
    }
    add_cards(options.model ? &carded : nullptr, beside, expected_side);
    expect(expected_side, golden, pairing, expected);
  }
  const std::vector<PairResult> results =
      compare_pairs(mine, golden, pairs, needs_detail(chosen, thresholds), expected);
  if (interrupted()) die_of_interrupt();
  const CompareReport report = {mine, golden, results, chosen, thresholds};
  std::uint64_t problems = 0;
  for (const PairResult& result : results) {
    if (!result.pair.mine) continue;
    if (!result.comparison && ++problems <= kMostProblems)
      search.error(report.tensor_name(result) + ": " + result.problem);
    if (report.diverges(result)) good = false;
  }
  if (problems > kMostProblems)
    search.error("and " + std::to_string(problems - kMostProblems) + " more; --json and -out have all");
  if (std::none_of(results.begin(), results.end(), is_pair))
    search.error("no tensor of mine has the name, role and index of a golden one: mine has " +
                 some_ops(mine) + ", the golden dump " + some_ops(golden) +
                 "; '--map FILE' says what is called how, '--align' takes operators by what they are like, "
                 "'--by-order' by their turn");
  if (options.json) {
    std::fputs(compare_json(report).c_str(), stdout);
  } else {
    print_comparison(report);
  }
  if (options.output && !write_csv(*options.output, compare_csv(report))) good = false;
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
