#include <fnmatch.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "compare_report.hpp"
#include "exit_code.hpp"
#include "extracted_image.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output_file.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump compare - compares a dump with a golden one, tensor by tensor

usage: opdump compare -m MINE -g GOLDEN [-out DIRECTORY]

  -m, --my_dump_path PATH      a dump file, an .npy file, a directory with all that is below it, or a flash image
  -g, --golden_dump_path PATH  what it should be like: a dump in any layout, or a framework's .npy files
  -out, --output DIRECTORY     where 'result_{time}.csv' goes, with the columns of msaccucmp; made if missing;
                               without it no file is written
  -alg, --algorithm LIST       the measures of csv and json: numbers 0 to 9 or names, with commas between; all
                               of them by default
      --op GLOB                only operators whose name matches, such as 'conv*'
      --fail-under LIST        limits that every tensor has to keep, as 'cosine=0.99,max_abs=0.001'; the exit
                               status tells. Unless given, tensors with a cosine below 0.99 or a Euclidean
                               distance over 0.05 are called diverging, and the exit status does not mind.
                               Equal tensors keep every limit, also with NaNs in them
      --json                   everything as JSON on stdout, instead of the summary

Tensors go together by operator, role and index, and by model and step where both dumps tell them; an output also
by the name of the framework's operator that its record holds. Both are taken as float32, as msaccucmp takes them,
and sums are float64, of large tensors over runs of 16 terms. Measures, with x mine, y golden and r = |x/y-1|,
0 where y is 0:

  0  cosine    CosineSimilarity           5  std       StandardDeviation: means and deviations
  1  max_abs   MaxAbsoluteError           6  mean_abs  MeanAbsoluteError
  2  sum_rel   AccumulatedRelativeError   7  rmse      RootMeanSquareError
  3  euclid    RelativeEuclideanDistance  8  max_rel   MaxRelativeError
  4  kl        KullbackLeiblerDivergence  9  mean_rel  MeanRelativeError

Besides: the share of equal elements, the largest distance in units in the last place ("ulp") where both have one
floating dtype, and where the largest absolute error lies.

  opdump compare -m dump -g golden
  opdump compare -m dump/20260131130559/0/digits/1/9 -g framework_npy -out results
  opdump compare -m a.npy -g b.npy --json
  opdump compare -m dump -g golden --fail-under cosine=0.999 || echo 'not good enough'

exit status
  0  all tensors of mine were compared, and keep the limits of --fail-under
  1  one does not, has no golden tensor, or could not be compared; the summary and stderr say which
  2  the command line is wrong
)";

struct Options {
  std::optional<std::string> mine;
  std::optional<std::string> golden;
  std::optional<std::string> output;
  std::optional<std::string> algorithm;
  std::optional<std::string> op;
  std::optional<std::string> limits;
  bool json = false;
};

/// Tensors of other operators go away.
void keep_ops(const std::string& glob, DumpSide& side) {
  std::erase_if(side.tensors, [&](const DumpTensor& tensor) {
    return fnmatch(glob.c_str(), side.files[tensor.file].op.c_str(), 0) != 0;
  });
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
    std::fprintf(stderr, "opdump: %s: %s\n", directory.c_str(), strerror(error));
    return false;
  }
  OutputFile file;
  const std::string name = result_name();
  const Bytes parts[] = {as_bytes(csv)};
  if (!file.create(directory, name) || !file.write(parts) || !file.commit()) {
    std::fprintf(stderr, "opdump: %s\n", file.error().c_str());
    return false;
  }
  std::fprintf(stderr, "%s/%s\n", directory.c_str(), name.c_str());
  return true;
}

}  // namespace

int run_compare(Words words) {
  Options options;
  const Option list[] = {
      {"-m", "--my_dump_path", nullptr, &options.mine},
      {"-g", "--golden_dump_path", nullptr, &options.golden},
      {"-out", "--output", nullptr, &options.output},
      {"-alg", "--algorithm", nullptr, &options.algorithm},
      {"--op", {}, nullptr, &options.op},
      {"--fail-under", {}, nullptr, &options.limits},
      {"--json", {}, &options.json},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"compare", kHelp, list}, words, rest)) return *end;
  if (!rest.empty())
    return usage_error("compare", "dumps are named with -m and -g, so '" + rest[0] + "' has no meaning");
  if (options.mine.value_or("").empty()) return usage_error("compare", "'-m MINE' is missing");
  if (options.golden.value_or("").empty()) return usage_error("compare", "'-g GOLDEN' is missing");
  if (options.output && options.output->empty()) return usage_error("compare", "'-out' needs a directory");
  std::string error;
  std::vector<const Measure*> chosen;
  if (!choose_measures(options.algorithm.value_or("all"), chosen, error))
    return usage_error("compare", error);
  std::vector<Threshold> thresholds;
  if (options.limits && !read_thresholds(*options.limits, thresholds, error))
    return usage_error("compare", error);
  if (!options.limits) thresholds = usual_thresholds();

  bool good = true;
  const SearchReport search = {
      .error =
          [&](const std::string& message) {
            std::fprintf(stderr, "opdump: %s\n", message.c_str());
            good = false;
          },
      .note = [](const std::string& message) { std::fprintf(stderr, "opdump: %s\n", message.c_str()); }};
  catch_interrupts();
  ExtractedImage my_image, golden_image;
  DumpSide mine = read_side(my_image.open(*options.mine, search), search);
  DumpSide golden = read_side(golden_image.open(*options.golden, search), search);
  if (options.op) {
    keep_ops(*options.op, mine);
    keep_ops(*options.op, golden);
  }
  if (mine.tensors.empty()) search.error(*options.mine + ": there is no tensor to compare");
  if (golden.tensors.empty()) search.error(*options.golden + ": there is no tensor to compare with");
  if (mine.tensors.empty() || golden.tensors.empty()) return kExitFailed;

  const std::vector<PairResult> results = compare_pairs(mine, golden, pair_tensors(mine, golden));
  if (interrupted()) die_of_interrupt();
  const CompareReport report = {mine, golden, results, chosen, thresholds};
  for (const PairResult& result : results) {
    if (!result.pair.mine) continue;
    if (!result.comparison) search.error(report.tensor_name(result) + ": " + result.problem);
    if (options.limits && report.diverges(result)) good = false;
  }
  if (options.json) {
    std::fputs(compare_json(report).c_str(), stdout);
  } else {
    print_comparison(report);
  }
  if (options.output && !write_csv(*options.output, compare_csv(report))) good = false;
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
