#include "src/tool/report/report_facts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/compare/open_pair.hpp"
#include "src/tool/report/isolated_errors.hpp"
#include "src/tool/report/report_runs.hpp"
#include "src/tool/verify/dump_provenance.hpp"

namespace opdump::tool {
namespace {

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
    const DumpTensor tensor = side.tensors[i];
    run.bytes += tensor.data_bytes;
    const std::optional<PairResult> result = facts.result_of(i);
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
    const TensorFacts own = facts.mine[i];
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

void take_verdicts(ReportFacts& facts) {
  constexpr std::size_t kMostEvidence = 500;
  if (facts.verdicts == nullptr) return;
  const std::map<std::size_t, std::size_t> run_of_file = facts.runs_by_file();
  std::size_t told = 0;
  for (const OpVerdict& op : facts.verdicts->ops()) {
    const auto at = run_of_file.find(op.file);
    if (at == run_of_file.end()) continue;
    ReportRun& run = facts.runs[at->second];
    run.verdict = op.verdict;
    const std::optional<OpVerdict>& first = facts.verdicts->first();
    if (first && first->first == op.first) facts.first = at->second;
    if (op.verdict != Verdict::agrees && (told++ < kMostEvidence || op.verdict == Verdict::culprit))
      facts.evidence[at->second] = facts.verdicts->evidence_of(op);
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
  for (const ReportRun& run : facts.runs) {
    const bool culprit = run.is_own_fault || run.verdict == Verdict::culprit;
    for (const std::size_t i : run.tensors) {
      const std::optional<PairResult> result = facts.result_of(i);
      const bool compared = result && result->comparison;
      const double error = compared ? distance_of(*result) : 0;
      const int kind = culprit                                         ? 0
                       : compared && facts.compared->diverges(*result) ? 1
                       : facts.mine[i].nonfinite() != 0                ? 2
                       : error > 0                                     ? 3
                                                                       : 4;
      ranks.push_back({kind, kind == 3 ? -error : 0, i});
    }
  }
  std::stable_sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
    return std::tie(a.kind, a.error) < std::tie(b.kind, b.error);
  });
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
    const DumpTensor tensor = mine.tensors[i];
    if (!facts.mine[i].known || tensor.summary || tensor.elements < 2) continue;
    const std::optional<PairResult> result = facts.result_of(i);
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

void find_lineage(ReportFacts& facts) {
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
    overwritten += edge.bytes == EdgeBytes::differ && edge.source != EdgeSource::name ? 1 : 0;
  }
  if (overwritten != 0)
    facts.notes.push_back("Something wrote in between to the memory of outputs that are inputs later: " +
                          std::to_string(overwritten) + " hold other bytes there, as 'opdump edges' lists.");
}

}  // namespace

/// Results of mine come first, in the order of its tensors.
std::optional<PairResult> ReportFacts::result_of(std::size_t tensor) const {
  if (compared == nullptr) return std::nullopt;
  return dumps.results()[tensor];
}

std::map<std::size_t, std::size_t> ReportFacts::runs_by_file() const {
  std::map<std::size_t, std::size_t> found;
  for (std::size_t i = 0; i < runs.size(); ++i) found.emplace(runs[i].file, i);
  return found;
}

std::vector<std::size_t> ReportFacts::worst_runs() const {
  const auto rank = [&](std::size_t i) {
    const ReportRun& run = runs[i];
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
    return std::tuple(kind, size, i);
  };
  std::vector<std::size_t> worst(runs.size());
  for (std::size_t i = 0; i < worst.size(); ++i) worst[i] = i;
  const std::size_t most = std::min(kMostWorst, worst.size());
  std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(most), worst.end(),
                    [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  worst.resize(most);
  return worst;
}

void gather_facts(ReportFacts& facts, const ReplayModel* model, const SearchReport& search) {
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
    struct Both {
      TensorFacts mine, golden;
    };
    std::vector<Both> both(kOrderedWindow);
    const auto work = [&](std::size_t i, std::size_t) {
      Both& to = both[i % kOrderedWindow];
      to = {};
      if (interrupted()) return;
      const DumpTensor tensor = mine.tensors[i];
      to.mine = read_facts(mine, tensor);
      progress.add(tensor.data_bytes);
      const std::optional<PairResult> result = facts.result_of(i);
      if (!result || !result->pair.golden) return;
      const DumpTensor partner = golden.tensors[*result->pair.golden];
      to.golden = read_facts(golden, partner);
      progress.add(partner.data_bytes);
    };
    const auto deliver = [&](std::size_t i) {
      facts.mine.push_back(both[i % kOrderedWindow].mine);
      if (compared) facts.golden.push_back(both[i % kOrderedWindow].golden);
    };
    run_in_order({.count = count, .work = work, .deliver = deliver}, usable_workers());
  }
  if (interrupted()) return;
  constexpr std::size_t kMostTold = 10;
  std::size_t unread = 0;
  for (std::size_t i = 0; i < count && facts.compared == nullptr; ++i) {
    const TensorFacts own = facts.mine[i];
    if (own.known || ++unread > kMostTold) continue;
    const DumpTensor tensor = mine.tensors[i];
    search.error(mine.files[tensor.file].path + ": " + (tensor.is_output ? "output " : "input ") +
                 std::to_string(tensor.index) + ": " + own.problem);
  }
  if (unread > kMostTold)
    search.error("and " + std::to_string(unread - kMostTold) + " more; the page has all");
  take_verdicts(facts);
  if (model != nullptr) add_isolated_errors(*model, facts);
  if (interrupted()) return;
  for (ReportRun& run : facts.runs) sum_up(facts, run);
  for (std::size_t i = 0; i < facts.runs.size() && !facts.first; ++i) {
    if (facts.runs[i].nonfinite != 0) facts.first = i;
  }
  find_lineage(facts);
  for (const std::string& error : {facts.mine.error(), facts.golden.error(), facts.edges.error()}) {
    if (!error.empty()) search.error(error);
  }
  read_provenance(facts);
  flag_tensors(facts);
  draw_pictures(facts);
}

}  // namespace opdump::tool
