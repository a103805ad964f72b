#include "src/tool/judge/compare/dump_comparison.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {
namespace {

/// Tensors of other operators go away.
void keep_chosen(const std::optional<std::string>& op, const ChosenSteps& steps, DumpSide& side) {
  change_tensors(side, [&](const DumpTensor& tensor) {
    const DumpFile& file = side.files[tensor.file];
    return steps.takes(file.place) && (!op || is_asked_for(*op, file.op));
  });
}

/// What `side` has for each golden tensor; of several, the last.
void expect(const DumpSide& side, const DumpSide& golden, const PairingOptions& pairing,
            ExpectedErrors& expected) {
  expected.side = &side;
  expected.tensors.assign(golden.tensors.size(), std::nullopt);
  for (const TensorPair& pair : pair_tensors(side, golden, pairing)) {
    if (pair.mine && pair.golden) expected.tensors[*pair.golden] = pair.mine;
  }
}

/// NumPy writes a dtype that it does not know as raw items: they are of the other side's dtype, if that is one. Integers
/// that only one side has a card of are taken by that card on both.
void take_from_other(DumpSide& mine, DumpSide& golden, const TensorPairs& pairs) {
  const auto take = [](const DumpTensor& other, DumpTensor& tensor) {
    const bool is_raw = tensor.dtype == DType::undefined && tensor.form.item_bytes != 0;
    if (is_raw && info(other.dtype).npy_descr.empty()) take_dtype(other.dtype, tensor.shape, tensor);
    if (tensor.quant != nullptr || other.quant == nullptr || other.quant->scheme == QuantScheme::block ||
        tensor.dtype != other.dtype || (tensor.shape != other.shape && !is_uniform(*other.quant)))
      return;
    tensor.quant = other.quant;
    tensor.by_other_card = true;
  };
  for (const TensorPair& pair : pairs) {
    if (!pair.mine || !pair.golden) continue;
    take(golden.tensors[*pair.golden], mine.tensors[*pair.mine]);
    take(mine.tensors[*pair.mine], golden.tensors[*pair.golden]);
  }
}

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
    const std::size_t i = side == &golden ? 1 : 0;
    for_each_directory(*side, [&](const std::string& directory) {
      add_model_sums(beside, directory, sums[i]);
      reader.add(directory, provenances[i]);
    });
  }
  others = unlike_provenance(kMine, provenances[0], kGolden, provenances[1]);
  const std::string unlike = unlike_models(kMine, sums[0], kGolden, sums[1]);
  return unlike.empty() ? unlike_models(kMine, provenances[0], kGolden, provenances[1]) : unlike;
}

bool is_pair(const PairResult& result) {
  return result.pair.mine && result.pair.golden;
}

/// "'conv1', 'relu1' and 3 more".
std::string some_names(const std::vector<std::string>& names, std::size_t most = 10) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() <= most ? text : text + " and " + std::to_string(names.size() - most) + " more";
}

std::string some_of(const DumpSide& side, const std::string DumpFile::*text) {
  std::vector<std::string> names;
  for (const DumpTensor& tensor : side.tensors) names.push_back(side.files[tensor.file].*text);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return some_names(names, 3);
}

/// Says of how many tensors the integers are taken by the card of the other side.
void tell_other_cards(const CompareReport& report, const SearchReport& search) {
  const auto tell = [&](const DumpSide& side, const char* whose, const char* other, const char* option) {
    const auto count = std::count_if(side.tensors.begin(), side.tensors.end(),
                                     [](const DumpTensor& tensor) { return tensor.by_other_card; });
    if (count == 0) return;
    search.note("no card tells what the integers of " +
                count_text(static_cast<std::uint64_t>(count), "tensor") + " of " + whose +
                " stand for: they are taken by that of " + other + "; '" + option + " CARD' tells another");
  };
  tell(report.mine, "mine", "golden", "--model");
  tell(report.golden, "golden", "mine", "--golden-model");
}

DumpSide read_dump(ExtractedImage& image, const std::string& path, const SearchReport& search,
                   std::optional<std::uint32_t> boot, std::string& there) {
  there = image.open(path, search, boot);
  return read_side(there, search, there == path ? boot : std::nullopt);
}

}  // namespace

const std::string_view kCompareOptionsHelp =
    R"(  -g, --golden PATH        what the dump should be like: a dump in any layout, statistics too, or arrays: .npy and
                           .npz files (compressed ones too, if built with zlib; raw items, as bfloat16's V2, are
                           of the other side's dtype), .safetensors, or ONNX tensors (.pb, .tensorproto), or
                           msprobe's folders with their dump.json; so may mine be
  -e, --expected PATH      a dump of the precision of mine that is known to be good: a tensor of mine may be 4
                           times as far from golden as its own, or as --limits by_expected=N says; 'rounded'
                           instead of a path: as golden, rounded to my dtype, float16, bfloat16, or one that a
                           card gives scales. Where no error is to be expected, the usual limits count. The
                           first cause is sought by that dump too, as operators of integers have no golden in floats
      --limits LIST        what a tensor has to keep or is called diverging, as 'cosine=0.99,max_abs=0.001'; or
                           the limits of another tool: cann, msprobe, litert, polygraphy; unless given,
                           'default', a cosine of 0.99 and a Euclidean distance of 0.05, and of integers of 32
                           and 64 bits without a scale that they are equal. Equal tensors keep every limit, also
                           with NaNs in them; a NaN or infinity on one side alone keeps none
      --model CARD         what my integers stand for, and which inputs are constants, by the model, ONNX or
                           TFLite, a card, as 'opdump describe' writes it, RUN.json, or a dump with cards: quantised
                           tensors are compared by their real values. Without it, by the cards that lie beside the
                           journal, 'opdump.*.model.json'
      --golden-model CARD  the same of GOLDEN
      --any-model          compares dumps whose cards or journals tell of another file of a model, by its SHA-256.
                           Other builds, configs, runtimes or versions of opdump are told on stderr and refused
                           nowhere
      --op GLOB            only operators whose name matches, such as 'conv*'
      --step STEPS         only these steps of every dump, such as 3, 3-5 or 0,3-5
      --boot N             of mine only boot N, where it is a flash image or what 'opdump extract' wrote
      --golden-boot N      the same of GOLDEN
      --map FILE           what my operators are called in the golden dump: rows 'name,golden name', or in a .yaml
                           file 'name: golden name', as msprobe's data_mapping.yaml
      --by-order           operators go together by their turn within a step, whatever their names
      --align              what names leave over goes together by type, shape and values in the order of execution,
                           as between two runtimes; what one of them has fused stays over
)";

std::vector<Option> compare_options(CompareChoice& choice, std::initializer_list<Option> own) {
  std::vector<Option> options = {
      {"-g", "--golden", nullptr, &choice.golden},
      {"-e", "--expected", nullptr, &choice.expected},
      {"--limits", {}, nullptr, &choice.limits},
      {"--model", {}, nullptr, &choice.model},
      {"--golden-model", {}, nullptr, &choice.golden_model},
      {"--any-model", {}, &choice.any_model},
      {"--op", {}, nullptr, &choice.op},
      {"--step", {}, nullptr, &choice.step},
      {"--boot", {}, nullptr, &choice.boot},
      {"--golden-boot", {}, nullptr, &choice.golden_boot},
      {"--map", {}, nullptr, &choice.map},
      {"--by-order", {}, &choice.by_order},
      {"--align", {}, &choice.align},
  };
  options.insert(options.end(), own);
  return options;
}

bool DumpComparison::choose(const CompareChoice& choice, std::string& error) {
  choice_ = &choice;
  if (choice.expected && !choice.golden) {
    error = "'--expected' needs '-g GOLDEN'";
    return false;
  }
  if (choice.step && !steps_.read(*choice.step, error)) {
    error = "'--step " + *choice.step + "': " + error;
    return false;
  }
  boot_ = parse_boot(choice.boot.value_or(""));
  golden_boot_ = parse_boot(choice.golden_boot.value_or(""));
  for (const auto& [text, boot] : {std::pair(choice.boot, boot_), {choice.golden_boot, golden_boot_}}) {
    if (!text || boot) continue;
    error = "'" + *text + "' is no number of a boot";
    return false;
  }
  if (choice.limits) {
    if (!read_thresholds(*choice.limits, thresholds_, error)) return false;
  } else {
    thresholds_ = usual_thresholds(choice.expected ? Evidence::expected_error : Evidence::elements);
  }
  if (!choice.expected && std::any_of(thresholds_.begin(), thresholds_.end(),
                                      [](const Threshold& limit) { return limit.is_by_expected(); })) {
    error = "the limit 'by_expected' needs '--expected PATH'";
  } else if (choice.map && choice.by_order) {
    error = "'--map' and '--by-order' exclude each other";
  } else if (choice.align && choice.by_order) {
    error = "'--align' and '--by-order' exclude each other";
  }
  pairing_ = {.names = choice.map ? &names_ : nullptr, .by_order = choice.by_order, .align = choice.align};
  return error.empty();
}

std::optional<int> DumpComparison::read(const SearchReport& search) {
  const CompareChoice& choice = *choice_;
  if (std::string error; choice.map && !names_.load(*choice.map, error)) {
    search.error(error);
    return kExitFailed;
  }
  if ((choice.model && !load_or_say(*choice.model, card_)) ||
      (choice.golden_model && !load_or_say(*choice.golden_model, golden_card_)))
    return kExitFailed;
  if (choice.model) carded_.emplace(card_);
  if (choice.golden_model) golden_carded_.emplace(golden_card_);
  beside_ = std::make_unique<BesideCards>(search.note);
  std::string there;
  mine_ = read_dump(my_image_, *choice.mine, search, boot_, my_path_);
  if (choice.golden) golden_ = read_dump(golden_image_, *choice.golden, search, golden_boot_, there);
  if (choice.golden) {
    std::vector<std::string> others;
    const std::string unlike = unlike_sides(*beside_, mine_, golden_, others);
    if (!unlike.empty() && !choice.any_model) {
      search.error(unlike + "; '--any-model' compares them");
      return kExitUsage;
    }
    for (const std::string& other : others) search.note(other);
  }
  if (choice.stored) stored_ = mine_;
  if (const std::vector<std::string> names = names_.unmatched(mine_); !names.empty())
    search.note(*choice.map + ": no operator of mine is called " + some_names(names));
  if (const std::vector<std::string> names = names_.unmatched_golden(golden_); !names.empty())
    search.note(*choice.map + ": no golden operator is called " + some_names(names));
  for (const std::string& note :
       {add_cards(my_card(), *beside_, mine_, "mine"),
        add_cards(golden_carded_ ? &*golden_carded_ : nullptr, *beside_, golden_, "golden")}) {
    if (!note.empty()) search.note(note);
  }
  for (DumpSide* side : {&mine_, &golden_, &stored_}) keep_chosen(choice.op, steps_, *side);
  const std::string chosen = (choice.op ? " that '--op " + *choice.op + "' takes" : "") +
                             (choice.step ? " at steps " + *choice.step : "");
  if (mine_.tensors.empty())
    search.error(*choice.mine + ": there is no tensor" + (choice.golden ? " to compare" : "") + chosen);
  if (choice.golden && golden_.tensors.empty())
    search.error(*choice.golden + ": there is no tensor to compare with" + chosen);
  if (mine_.tensors.empty() || (choice.golden && golden_.tensors.empty())) return kExitFailed;
  if (choice.golden && !read_expected(search)) return kExitFailed;
  return std::nullopt;
}

bool DumpComparison::read_expected(const SearchReport& search) {
  const std::optional<std::string>& path = choice_->expected;
  errors_.rounded = path == "rounded";
  if (!path || errors_.rounded) return true;
  std::string there;
  expected_ = read_dump(expected_image_, *path, search, std::nullopt, there);
  if (expected_.tensors.empty()) {
    search.error(*path + ": there is no tensor to expect errors of");
    return false;
  }
  add_cards(my_card(), *beside_, expected_, "the expected one");
  keep_chosen(choice_->op, steps_, expected_);
  expect(expected_, golden_, pairing_, errors_);
  return true;
}

void DumpComparison::compare(bool detail) {
  const TensorPairs pairs = pair_tensors(mine_, golden_, pairing_);
  take_from_other(mine_, golden_, pairs);
  results_ = compare_pairs(mine_, golden_, pairs, detail, errors_);
}

std::optional<CompareReport> DumpComparison::compare_expected(bool detail,
                                                              const std::vector<const Measure*>& measures) {
  if (expected_.tensors.empty()) return std::nullopt;
  const TensorPairs pairs =
      pair_tensors(mine_, expected_, {.by_order = pairing_.by_order, .align = pairing_.align});
  take_from_other(mine_, expected_, pairs);
  expected_results_ = compare_pairs(mine_, expected_, pairs, detail);
  return CompareReport{mine_, expected_, expected_results_, measures, thresholds_};
}

std::string no_pair_text(const CompareReport& report) {
  const std::string unlike = unlike_places(report.mine, "mine", report.golden, "the golden dump");
  if (!unlike.empty()) return unlike;
  const std::string mine = some_of(report.mine, &DumpFile::op),
                    golden = some_of(report.golden, &DumpFile::op);
  const std::string place = some_of(report.mine, &DumpFile::place),
                    other = some_of(report.golden, &DumpFile::place);
  if (mine == golden && place != other)
    return "no tensor of mine has the model, step, role and index of a golden one: " + mine + " is at " +
           place + ", and the golden one at " + other +
           "; name the directory of one model of each, as DUMP/TIME/DEVICE/MODEL";
  if (mine == golden) return "no tensor of mine has the role and index of a golden one of " + mine;
  return "no tensor of mine has the name, role and index of a golden one: mine has " + mine +
         ", the golden dump " + golden +
         "; '--map FILE' says what is called how, '--align' takes operators by what they are like, '--by-order' by "
         "their turn";
}

bool tell_problems(const CompareReport& report, const SearchReport& search) {
  constexpr std::uint64_t kMostProblems = 10;
  const bool has_inputs = std::any_of(report.golden.tensors.begin(), report.golden.tensors.end(),
                                      [](const DumpTensor& tensor) { return !tensor.is_output; });
  bool good = true;
  std::uint64_t problems = 0, inputs = 0;
  for (const PairResult& result : report.results) {
    if (!result.pair.mine) continue;
    if (!has_inputs && !report.mine.tensors[*result.pair.mine].is_output) {
      ++inputs;
    } else if (!result.comparison) {
      good = false;
      if (++problems <= kMostProblems) search.error(report.tensor_name(result) + ": " + result.problem);
    } else if (report.diverges(result)) {
      good = false;
    }
  }
  if (problems > kMostProblems)
    search.error("and " + std::to_string(problems - kMostProblems) + " more; --json and -out have all");
  tell_other_cards(report, search);
  if (inputs != 0)
    search.note("the golden dump has outputs alone: " + count_text(inputs, "input") + " of mine " +
                (inputs == 1 ? "is" : "are") + " not compared");
  if (std::none_of(report.results.begin(), report.results.end(), is_pair)) search.error(no_pair_text(report));
  return good;
}

}  // namespace opdump::tool
