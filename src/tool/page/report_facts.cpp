#include "src/tool/page/report_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "opdump/impl/stats/non_finite.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/judge/diverge/diverge_report.hpp"
#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"

namespace opdump::tool {
namespace {

ReportPlace place_of(const DumpFile& file) {
  ReportPlace place;
  place.text = (file.boot ? "boot " + std::to_string(*file.boot) + ' ' : std::string()) + file.place;
  const std::size_t slash = file.place.rfind('/');
  if (slash == std::string::npos) return place;
  place.model = file.place.substr(0, slash);
  place.step = parse_decimal(std::string_view(file.place).substr(slash + 1));
  return place;
}

/// Numbers runs, operators and places in the order of execution.
class RunFinder {
 public:
  explicit RunFinder(ReportFacts& facts) : facts_(facts), side_(facts.dumps.mine()) {}

  void find() {
    std::map<OpKey, std::size_t> runs;
    for (std::size_t number = 0; number < side_.tensors.size(); ++number) {
      const DumpTensor& tensor = side_.tensors[number];
      const auto [at, is_new] =
          runs.emplace(key_of(side_.files[tensor.file], tensor.file), facts_.runs.size());
      if (is_new) add_run(tensor.file);
      facts_.runs[at->second].tensors.push_back(number);
      facts_.run_of.push_back(static_cast<std::uint32_t>(at->second));
    }
    for (ReportRun& run : facts_.runs) {
      std::stable_sort(run.tensors.begin(), run.tensors.end(), [this](std::size_t a, std::size_t b) {
        const DumpTensor& x = side_.tensors[a];
        const DumpTensor& y = side_.tensors[b];
        return std::tie(x.is_output, x.index) < std::tie(y.is_output, y.index);
      });
    }
  }

 private:
  using Place = std::tuple<std::optional<std::uint32_t>, std::string_view>;
  /// How often an operator of that type and name ran at a place before.
  using Turns = std::map<std::tuple<std::size_t, std::string_view, std::string_view>, std::size_t>;
  using Op = std::tuple<std::string, std::string_view, std::string_view, std::size_t>;

  void add_run(std::size_t number) {
    const DumpFile& file = side_.files[number];
    const auto [place, is_new] = places_.emplace(Place(file.boot, file.place), facts_.places.size());
    if (is_new) {
      facts_.has_boots |= file.boot.has_value();
      facts_.places.push_back(place_of(file));
    }
    const std::string& model = facts_.places[place->second].model;
    const std::size_t turn = turns_[{place->second, file.type, file.op}]++;
    const auto [op, is_other] = ops_.emplace(Op(model, file.type, file.op, turn), facts_.ops.size());
    if (is_other) facts_.ops.push_back({.name = file.op, .type = file.type, .model = model});
    facts_.runs.push_back({.op = op->second, .place = place->second, .file = number});
  }

  ReportFacts& facts_;
  const DumpSide& side_;
  std::map<Place, std::size_t> places_;
  Turns turns_;
  std::map<Op, std::size_t> ops_;
};

/// What `opdump diverge` says of a run.
struct IsolatedError {
  double error = TensorFacts::kUnknown;  ///< the greatest of its outputs
  bool is_own_fault = false;             ///< that is more than it may be
};

/// Recomputes each run by `reference` from its own inputs, as `opdump diverge` does: the errors by the numbers
/// of the runs. `first` becomes the first run that is off by itself. Fills replayed, recomputed and own_fault.
/// Needs DumpComparison::stored. Holds what came of all runs in memory. Shows its progress on a terminal. Ends
/// early when interrupted.
std::vector<IsolatedError> find_isolated_errors(const ReplayModel& model, OpReference& reference,
                                                ReportFacts& facts, std::optional<std::size_t>& first) {
  constexpr std::size_t kMostReasons = 500;
  const DumpSide& side = facts.dumps.stored();
  const OpLimits limits;
  const ChosenSteps all_steps;
  std::vector<std::string> errors;  // of folders for operators that fail, of which there are none
  const std::vector<ReplayedOp> ops = replay_ops({.side = side,
                                                  .model = model,
                                                  .reference = reference,
                                                  .limits = limits,
                                                  .steps = all_steps,
                                                  .failing_directory = {}},
                                                 errors);
  const DivergeReport report = {side, ops, reference.name()};
  facts.recomputed = report.counts_text();
  const ReplayedOp* const worst = report.first_diverging();
  if (worst != nullptr) facts.own_fault = report.first_text(*worst);
  std::map<std::size_t, std::size_t> runs;
  std::size_t number = 0;
  for (const ReportRun& run : facts.runs) runs.emplace(run.file, number++);
  std::vector<IsolatedError> found(facts.runs.size());
  std::size_t told = 0;
  for (const ReplayedOp& op : ops) {
    const auto at = runs.find(op.file);
    if (at == runs.end()) continue;
    IsolatedError& run = found[at->second];
    run.is_own_fault = op.verdict == ReplayVerdict::culprit;
    for (const ReplayedOutput& output : op.outputs)
      run.error = std::isnan(run.error) ? output.error.euclid : std::max(run.error, output.error.euclid);
    if (run.is_own_fault || told++ < kMostReasons) facts.replayed[at->second] = report.evidence_of(op);
    if (&op == worst) first = at->second;
  }
  return found;
}

/// Fills places, ops, runs and run_of from the tensors of mine.
void find_runs(ReportFacts& facts) {
  RunFinder(facts).find();
}

constexpr std::size_t kMostPictures = 200;
constexpr std::size_t kMostFlagged = 2000;
constexpr std::size_t kMostWorst = 50;

void keep_greatest(double value, double& greatest) {
  if (std::isnan(greatest) || value > greatest) greatest = value;
}

/// Whether an error is known of the tensor; NaN counts as infinitely far.
double distance_of(const PairResult& result) {
  const compare::Comparison& c = *result.comparison;
  if (c.equal == c.elements) return 0;
  const double error = c.summary_distance ? *c.summary_distance : c.relative_euclidean_distance;
  return std::isnan(error) ? HUGE_VAL : error;
}

void sum_up(const ReportFacts& facts, ReportRun& run) {
  const DumpSide& side = facts.dumps.mine();
  const bool has_output = side.tensors[run.tensors.back()].is_output;
  std::uint64_t elements = 0, zeros = 0;
  for (const std::size_t i : run.tensors) {
    const DumpTensor& tensor = side.tensors[i];
    run.bytes += tensor.data_bytes;
    const PairResult* const result = facts.result_of(i);
    const bool compared = result && result->comparison;
    if (compared) keep_greatest(distance_of(*result), tensor.is_output ? run.error : run.input_error);
    if (compared && tensor.is_output) {
      const double cosine = result->comparison->equal == result->comparison->elements
                                ? 1.0
                                : result->comparison->cosine_similarity;
      if (std::isnan(run.cosine) || cosine < run.cosine) run.cosine = cosine;
      for (const Measure* const measure : facts.compared->measures) {
        if (measure->short_name == "by_expected")
          keep_greatest(measure->value(*result->comparison), run.by_expected);
      }
    }
    if (result && result->pair.golden)
      run.other_dtype |= facts.dumps.golden().tensors[*result->pair.golden].dtype != tensor.dtype;
    if (tensor.is_output != has_output) continue;
    const TensorFacts& own = facts.mine[i];
    if (!own.known) continue;
    run.nonfinite += own.nonfinite();
    if (!facts.golden.empty()) run.golden_nonfinite += facts.golden[i].nonfinite();
    if (!std::isnan(own.peak())) keep_greatest(own.peak(), run.peak);
    if (!std::isnan(own.saturated)) keep_greatest(own.saturated, run.saturated);
    if (!tensor.summary) {
      elements += tensor.elements;
      zeros += own.zeros;
    }
  }
  if (elements != 0) run.zeros = static_cast<double>(zeros) / static_cast<double>(elements);
}

/// Gives runs their verdicts, in the order of both, which is that of execution.
class VerdictTaker {
 public:
  explicit VerdictTaker(ReportFacts& facts) : facts_(facts) {
    if (facts.verdicts != nullptr) next();
  }

  void take(std::size_t number, ReportRun& run) {
    for (; op_ && run_ <= number; next()) {
      if (run_ < number) continue;
      run.verdict = op_->verdict;
      const std::optional<OpVerdict>& first = facts_.verdicts->first();
      if (first && first->first == op_->first) facts_.first = number;
      if (op_->verdict != Verdict::agrees && (told_++ < kMostEvidence || op_->verdict == Verdict::culprit))
        facts_.evidence[number] = facts_.verdicts->evidence_of(*op_);
    }
  }

 private:
  static constexpr std::size_t kMostEvidence = 500;

  /// Results of mine have the numbers of its tensors.
  void next() {
    op_.reset();
    if (number_ == facts_.verdicts->ops().size()) return;
    op_ = facts_.verdicts->ops()[number_++];
    run_ = facts_.run_of[op_->first];
  }

  ReportFacts& facts_;
  std::size_t number_ = 0;
  std::optional<OpVerdict> op_;
  std::size_t run_ = 0;  ///< of `op_`
  std::size_t told_ = 0;
};

/// Completes the runs by what is known of their tensors.
void sum_up_runs(ReportFacts& facts, const std::vector<IsolatedError>& isolated) {
  Progress progress(facts.runs.size(), "summing up records");
  VerdictTaker verdicts(facts);
  for (std::size_t number = 0; number < facts.runs.size(); ++number) {
    ReportRun& run = facts.runs[number];
    verdicts.take(number, run);
    if (number < isolated.size()) {
      run.isolated = isolated[number].error;
      run.is_own_fault = isolated[number].is_own_fault;
    }
    sum_up(facts, run);
    progress.add();
  }
}

/// Divergence first, then numbers that are none, then what is farthest apart, then the rest in order.
void flag_tensors(ReportFacts& facts) {
  struct Rank {
    int kind;
    double error;
    std::size_t tensor;
  };
  std::vector<Rank> ranks;
  const auto keep_worst = [&] {
    std::stable_sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
      return std::tie(a.kind, a.error) < std::tie(b.kind, b.error);
    });
    if (ranks.size() > kMostFlagged) ranks.resize(kMostFlagged);
  };
  Progress progress(facts.runs.size(), "looking for what stands out");
  for (const ReportRun& run : facts.runs) {
    const bool culprit = run.is_own_fault || run.verdict == Verdict::culprit;
    for (const std::size_t i : run.tensors) {
      const PairResult* const result = facts.result_of(i);
      const bool compared = result && result->comparison;
      const double error = compared ? distance_of(*result) : 0;
      const int kind = culprit                                         ? 0
                       : compared && facts.compared->diverges(*result) ? 1
                       : facts.mine[i].nonfinite() != 0                ? 2
                       : error > 0                                     ? 3
                                                                       : 4;
      ranks.push_back({kind, kind == 3 ? -error : 0, i});
      if (ranks.size() == 4 * kMostFlagged) keep_worst();
    }
    progress.add();
  }
  keep_worst();
  for (const Rank& rank : ranks) {
    if (facts.flagged.size() < (rank.kind < 3 ? kMostFlagged : kMostPictures))
      facts.flagged.push_back(rank.tensor);
  }
}

void draw_pictures(ReportFacts& facts) {
  const DumpSide& mine = facts.dumps.mine();
  TensorPairs pairs;
  for (const PairResult& result : facts.dumps.results()) pairs.push_back(result.pair);
  const std::optional<AssumedFormats> usual = usual_formats(mine, facts.dumps.golden(), pairs);
  std::uint64_t total = 0;
  for (const std::size_t i : facts.flagged) total += mine.tensors[i].data_bytes;
  Progress progress(total);
  for (const std::size_t i : facts.flagged) {
    progress.add(mine.tensors[i].data_bytes);
    if (facts.pictures.size() == kMostPictures || interrupted()) break;
    const DumpTensor& tensor = mine.tensors[i];
    if (!facts.mine[i].known || tensor.summary || tensor.elements < 2) continue;
    const PairResult* const result = facts.result_of(i);
    std::optional<PairPicture> picture;
    if (result && result->comparison && !result->comparison->summary_distance)
      picture = picture_of(mine, facts.dumps.golden(), *result, usual);
    else if (!result || !result->pair.golden)
      picture = picture_of(mine, tensor);
    if (picture) facts.pictures.push_back({i, *picture});
  }
}

void read_provenance(ReportFacts& facts) {
  ProvenanceReader reader(facts.dumps.beside());
  DumpProvenance provenance;
  for_each_directory(facts.dumps.mine(),
                     [&](const std::string& directory) { reader.add(directory, provenance); });
  facts.provenance = provenance_text(provenance);
}

Edges find_lineage(ReportFacts& facts) {
  const DumpSide& side = facts.dumps.mine();
  std::vector<std::string> errors;
  const CardedOps* card = facts.dumps.my_card();
  if (card == nullptr && !side.files.empty()) {
    const std::string path = side.files[0].path;
    card = facts.dumps.beside().of(path.substr(0, path.rfind('/') + 1));
  }
  std::size_t overwritten = 0;
  const Edges edges = find_edges(side, card, errors);
  for (const Edge& edge : edges) {
    facts.edges.push_back({.from = facts.run_of[edge.from],
                           .to = facts.run_of[edge.to],
                           .output = side.tensors[edge.from].index,
                           .input = side.tensors[edge.to].index,
                           .source = edge.source,
                           .bytes = edge.bytes});
    overwritten += edge.is_overwritten() ? 1 : 0;
  }
  if (overwritten != 0)
    facts.notes.push_back("Something wrote in between to the memory of outputs that are inputs later: " +
                          std::to_string(overwritten) + " hold other bytes there, as 'opdump edges' lists.");
  return edges;
}

/// What the dump alone tells, by what is known of its tensors.
void judge_without_golden(const Edges& edges, ReportFacts& facts) {
  constexpr std::size_t kMostOthers = 12;
  constexpr double kFew = 0.5;
  const DumpSide& side = facts.dumps.mine();
  facts.alone = judge_alone(side, edges, [&](std::size_t i) {
    const TensorFacts& own = facts.mine[i];
    const DumpTensor& tensor = side.tensors[i];
    return own.known && !tensor.summary && own.nonfinite() == 0 &&
           (can_be_non_finite(tensor.dtype) || own.saturated < kFew);
  });
  const std::vector<std::string>& others = facts.alone.others;
  facts.notes.insert(facts.notes.end(), others.begin(),
                     others.begin() + static_cast<std::ptrdiff_t>(std::min(others.size(), kMostOthers)));
  if (!facts.first && facts.alone.tensor) facts.first = facts.run_of[*facts.alone.tensor];
}

}  // namespace

/// Results of mine come first, in the order of its tensors.
const PairResult* ReportFacts::result_of(std::size_t tensor) const {
  return compared == nullptr ? nullptr : &dumps.results()[tensor];
}

std::vector<std::size_t> ReportFacts::worst_runs() const {
  using Rank = std::tuple<int, double, std::size_t>;
  const auto rank = [&](const ReportRun& run, std::size_t i) {
    const Verdict verdict = run.verdict.value_or(Verdict::agrees);
    const int kind = run.is_own_fault               ? -1
                     : verdict == Verdict::culprit  ? 0
                     : verdict == Verdict::diverges ? 1
                     : verdict == Verdict::victim   ? 2
                     : run.nonfinite != 0           ? 3
                     : verdict == Verdict::unpaired ? 4
                                                    : 5;
    const double size = kind < 3                                      ? 0
                        : kind == 3                                   ? -static_cast<double>(run.nonfinite)
                        : run.error > 0                               ? -run.error
                        : compared != nullptr || std::isnan(run.peak) ? 0
                                                                      : -run.peak;
    return Rank(kind, size, i);
  };
  std::set<Rank> worst;
  std::size_t number = 0;
  for (const ReportRun& run : runs) {
    worst.insert(rank(run, number++));
    if (worst.size() > kMostWorst) worst.erase(std::prev(worst.end()));
  }
  std::vector<std::size_t> numbers;
  for (const Rank& one : worst) numbers.push_back(std::get<std::size_t>(one));
  return numbers;
}

void gather_facts(ReportFacts& facts, const ReplayModel& model, OpReference* reference,
                  const SearchReport& search) {
  const DumpSide& mine = facts.dumps.mine();
  const DumpSide& golden = facts.dumps.golden();
  const std::size_t count = mine.tensors.size();
  find_runs(facts);
  std::uint64_t total = 0;
  for (const DumpSide* side : {&mine, &golden})
    for (const DumpTensor& tensor : side->tensors) total += tensor.data_bytes;
  {
    Progress progress(total);
    const bool compared = facts.compared != nullptr;
    facts.mine.resize(count);
    if (compared) facts.golden.resize(count);
    const auto work = [&](std::size_t i, std::size_t) {
      if (interrupted()) return;
      const DumpTensor& tensor = mine.tensors[i];
      facts.mine[i] = read_facts(mine, tensor);
      progress.add(tensor.data_bytes);
      const PairResult* const result = facts.result_of(i);
      if (!result || !result->pair.golden) return;
      const DumpTensor& partner = golden.tensors[*result->pair.golden];
      facts.golden[i] = read_facts(golden, partner);
      progress.add(partner.data_bytes);
    };
    run_in_order({.count = count, .work = work, .deliver = [](std::size_t) {}}, usable_workers());
  }
  if (interrupted()) return;
  constexpr std::size_t kMostTold = 10;
  std::uint64_t& unread = facts.unread_tensors;
  for (std::size_t i = 0; i < count && facts.compared == nullptr; ++i) {
    const TensorFacts& own = facts.mine[i];
    if (own.known || ++unread > kMostTold) continue;
    const DumpTensor& tensor = mine.tensors[i];
    search.error(mine.files[tensor.file].path + ": " + role_text(tensor) + ": " + own.problem);
  }
  if (unread > kMostTold)
    search.error("and " + std::to_string(unread - kMostTold) + " more; the page has all");
  std::vector<IsolatedError> isolated;
  std::optional<std::size_t> first_isolated;
  if (reference != nullptr) isolated = find_isolated_errors(model, *reference, facts, first_isolated);
  if (interrupted()) return;
  sum_up_runs(facts, isolated);
  if (!facts.first) facts.first = first_isolated;
  const Edges edges = find_lineage(facts);
  if (facts.compared == nullptr) judge_without_golden(edges, facts);
  read_provenance(facts);
  flag_tensors(facts);
  draw_pictures(facts);
}

}  // namespace opdump::tool
