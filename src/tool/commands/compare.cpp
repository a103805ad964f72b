#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "platform/posix/base/unique_fd.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_report.hpp"
#include "src/tool/judge/compare/dump_comparison.hpp"
#include "src/tool/judge/compare/verdict_report.hpp"
#include "src/tool/judge/why/judgement.hpp"

namespace opdump::tool {
namespace {

constexpr char kCompareHelp[] =
    R"(opdump compare - compares a dump with a golden one, tensor by tensor

usage: opdump compare -m MINE -g GOLDEN [-out DIRECTORY]
       opdump compare MINE GOLDEN [-out DIRECTORY]

  -m, --my_dump_path PATH  a dump file, an .npy file, a .bin file of MindSpore Lite, a directory with all that is
                           below it, or a flash image
  -out, --output DIRECTORY
                           where 'result_{time}.csv' goes, with the columns of msaccucmp; made if missing; without
                           it no file is written. Where another result has the name, the time is that of the next
                           second that is free
  -alg, --algorithm LIST   the measures of csv and json: numbers 0 to 9 or names, with commas between; all of them
                           by default
)";

constexpr char kCompareAbout[] =
    R"(      --golden_dump_path PATH, --fail-under LIST
                           as -g and as --limits
      --json               everything as JSON on stdout, instead of the summary

Tensors go together by operator, role and index, and by model and step where both dumps tell them, by step alone
where each has one model; an output also by the name of the framework's operator that a record of either dump
holds. Of several operators of one name those with the same task, type and shape go together, then by their turn.
Numbers are compared as they are: integers by their exact difference, float64 in float64, complex ones by |x-y|
(their means are of magnitudes). NaN, or the same infinity, on both sides is left out, and told. Sums are float64,
of large tensors over runs of 16 terms. The ten columns of the csv are msaccucmp's, which takes all as float32.
Measures, with x mine, y golden and r = |x-y|/|y|, 0 where y is 0 (or below 2.2e-16, if others are not so small):

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

A limit that is crossed proves nothing. The headline is that of 'opdump why', which tells how it is known.

Besides: the share of equal elements, the largest distance in units in the last place ("ulp") where both have one
floating dtype, and where the largest absolute error lies.

  opdump compare -m dump -g golden
  opdump compare -m dump/20260131130559/0/digits/1/9 -g framework_npy -out results
  opdump compare -m a.npy -g b.npy --json
  opdump compare -m npu_fp16 -g cpu_fp32 -e cpu_fp16
  opdump compare -m dump -g golden --limits cosine=0.999 || echo 'not good enough'

exit status
  0  all tensors of mine were compared, and keep the limits; of a golden dump that has outputs alone, all outputs
  1  one does not, has no golden tensor, or could not be compared; the summary and stderr say which
  2  the command line is wrong, or the dumps are of different models
)";

struct CompareOptions : CompareChoice {
  std::optional<std::string> output;
  std::optional<std::string> algorithm;
  std::optional<std::string> fail_under;
  bool json = false;
};

std::string result_name(time_t at) {
  tm local{};
  localtime_r(&at, &local);
  char text[64];
  strftime(text, sizeof text, "result_%Y%m%d%H%M%S.csv", &local);
  return text;
}

/// Makes an empty file whose name tells this second, or the next one that no other result has. Its path;
/// empty: `error` says why there is none.
std::string claim_result(const std::string& directory, std::string& error) {
  for (time_t at = time(nullptr);; ++at) {
    const std::string path = directory + '/' + result_name(at);
    if (posix::UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600))) return path;
    if (errno == EEXIST) continue;
    error = path + ": " + strerror(errno);
    return {};
  }
}

bool write_csv(const std::string& directory, const CompareReport& report) {
  if (const int error = make_directories(directory); error != 0) {
    say("opdump: " + directory + ": " + strerror(error));
    return false;
  }
  std::string error;
  const std::string path = claim_result(directory, error);
  if (path.empty() ||
      !write_file(
          path, [&report](const auto& put) { return write_compare_csv(report, put); }, error)) {
    if (!path.empty()) unlink(path.c_str());
    say("opdump: " + error);
    return false;
  }
  say(path);
  return true;
}

}  // namespace

int run_compare(Words words) {
  CompareOptions options;
  const std::string help = std::string(kCompareHelp).append(kCompareOptionsHelp).append(kCompareAbout);
  const std::vector<Option> list =
      compare_options(options, {
                                   {"-m", "--my_dump_path", nullptr, &options.mine},
                                   {"--golden_dump_path", {}, nullptr, &options.golden},
                                   {"-out", "--output", nullptr, &options.output},
                                   {"-alg", "--algorithm", nullptr, &options.algorithm},
                                   {"--fail-under", {}, nullptr, &options.fail_under},
                                   {"--json", {}, &options.json},
                               });
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"compare", help, list}, words, rest)) return *end;
  for (const std::string& path : rest) {
    std::optional<std::string>& side = !options.mine ? options.mine : options.golden;
    if (side) return usage_error("compare", "there are two dumps already, so '" + path + "' has no meaning");
    side = path;
  }
  if (options.mine.value_or("").empty()) return usage_error("compare", "'-m MINE' is missing");
  if (options.golden.value_or("").empty()) return usage_error("compare", "'-g GOLDEN' is missing");
  if (options.output && options.output->empty()) return usage_error("compare", "'-out' needs a directory");
  if (options.limits && options.fail_under)
    return usage_error("compare", "'--limits' and '--fail-under' exclude each other");
  if (options.fail_under) options.limits = options.fail_under;
  std::string error;
  std::vector<const Measure*> chosen;
  if (!choose_measures(options.algorithm.value_or("all"), chosen, error))
    return usage_error("compare", error);
  DumpComparison comparison;
  if (!comparison.choose(options, error)) return usage_error("compare", error);

  bool good = true;
  const SearchReport search = {.error =
                                   [&](const std::string& message) {
                                     say("opdump: " + message);
                                     good = false;
                                   },
                               .note = [](const std::string& message) { say("opdump: " + message); }};
  catch_interrupts();
  if (const std::optional<int> end = comparison.read(search)) return *end;
  comparison.compare(needs_detail(chosen, comparison.thresholds()));
  if (interrupted()) die_of_interrupt();
  const CompareReport report = comparison.report(chosen);
  if (!tell_problems(report, search)) good = false;
  VerdictReport verdicts(report);
  judge_by_expected(comparison, report, verdicts);
  if (options.json) {
    print_compare_json(report, verdicts);
  } else {
    print_comparison(report, verdicts);
  }
  if (options.output && !write_csv(*options.output, report)) good = false;
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
