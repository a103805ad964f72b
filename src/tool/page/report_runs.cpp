#include "src/tool/page/report_runs.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/op_key.hpp"
#include "src/tool/read/dump/numbered_texts.hpp"
#include "src/tool/read/dump/spilled_sort.hpp"

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

/// A tensor, by which run it is of. Behind this lie the type of its operator, and the key of the run.
struct FoundTensor {
  std::uint64_t number;
  std::uint64_t file;
  bool is_output;
  std::uint32_t index;

  bool comes_before(const FoundTensor& other) const {
    return is_output != other.is_output ? other.is_output
           : index != other.index       ? index < other.index
                                        : number < other.number;
  }
};

/// The text without its first bytes.
std::string_view without_first(std::string_view text, std::size_t bytes) {
  return text.substr(std::min(bytes, text.size()));
}

std::string_view key_of_run(std::string_view text) {
  return without_first(text, sizeof(FoundTensor) + sizeof(std::uint32_t) +
                                 FieldReader(without_first(text, sizeof(FoundTensor))).text().size());
}

bool by_run(std::string_view a, std::string_view b) {
  const int order = key_of_run(a).compare(key_of_run(b));
  if (order != 0) return order < 0;
  return FieldReader(a).next<FoundTensor>().comes_before(FieldReader(b).next<FoundTensor>());
}

/// A run, with the operator and the place that its turn is counted of.
struct FoundRun {
  std::uint64_t first = UINT64_MAX;  ///< of its tensors, in the order of execution
  std::uint64_t file = 0;            ///< of that
  std::uint64_t turn = 0;            ///< how often the operator ran at that place before
  std::string place{};               ///< with its boot
  std::string type{};
  std::string op{};
  std::vector<std::size_t> tensors{};
};

void write_fields(FieldWriter& to, const FoundRun& run) {
  to.put(run.first).text(run.place).text(run.type).text(run.op);
  to.put(run.file).put(run.turn).list(run.tensors);
}

void read_fields(FieldReader& from, FoundRun& run) {
  from.get(run.first).get(run.place).get(run.type).get(run.op);
  from.get(run.file).get(run.turn).list(run.tensors);
}

bool runs_first(std::string_view a, std::string_view b) {
  return FieldReader(a).next<std::uint64_t>() < FieldReader(b).next<std::uint64_t>();
}

/// By place, type and operator, then in the order of execution.
bool by_operator(std::string_view a, std::string_view b) {
  FieldReader x(a), y(b);
  const auto first_x = x.next<std::uint64_t>(), first_y = y.next<std::uint64_t>();
  for (int i = 0; i < 3; ++i) {
    if (const int order = x.text().compare(y.text()); order != 0) return order < 0;
  }
  return first_x < first_y;
}

/// Finds runs, operators and places by sorting, in bounded memory but for 8 to 16 bytes for each operator and
/// each place.
class RunFinder {
 public:
  explicit RunFinder(ReportFacts& facts)
      : facts_(facts), side_(facts.dumps.mine()), progress_(5 * side_.tensors.size(), "sorting records") {}

  std::string find() {
    sort_tensors_by_run();
    SpilledSort turns(by_operator);
    take_runs(turns);
    tensors_.reset();
    SpilledSort runs(runs_first);
    count_turns(turns, runs);
    number_runs(runs);
    for (const std::string* const error :
         {&turns.error(), &runs.error(), &places_.error(), &ops_.error(), &facts_.runs.error(),
          &facts_.run_of.error(), &facts_.places.error(), &facts_.ops.error()}) {
      if (error_.empty()) error_ = *error;
    }
    return error_;
  }

 private:
  void sort_tensors_by_run() {
    std::string text;
    std::uint64_t number = 0;
    tensors_.emplace(by_run);
    for (const DumpTensor& tensor : side_.tensors) {
      const DumpFile file = side_.files[tensor.file];
      text.clear();
      FieldWriter(text)
          .put(FoundTensor{number++, tensor.file, tensor.is_output, tensor.index})
          .text(file.type);
      write_op_key(file, tensor.file, text);
      if (!tensors_->add(text)) break;
      progress_.add();
    }
    static_cast<void>(tensors_->finish());
  }

  /// Gives each run to `turns`.
  void take_runs(SpilledSort& turns) {
    FoundRun run;
    std::string key;
    SpilledSort::Reader reader(*tensors_);
    for (std::string_view text; reader.next(text);) {
      if (run.tensors.empty() || key_of_run(text) != key) {
        put(run, turns);
        run = {};
        key = key_of_run(text);
      }
      const auto tensor = FieldReader(text).next<FoundTensor>();
      run.tensors.push_back(static_cast<std::size_t>(tensor.number));
      if (tensor.number < run.first) {
        run.first = tensor.number;
        run.file = tensor.file;
        read_op(text, run);
      }
      progress_.add();
    }
    put(run, turns);
    static_cast<void>(turns.finish());
    error_ = tensors_->error();
  }

  /// What `write_op_key` wrote first, and the type before it.
  static void read_op(std::string_view text, FoundRun& run) {
    run.type = FieldReader(without_first(text, sizeof(FoundTensor))).text();
    FieldReader key(key_of_run(text));
    const auto boot = key.next<std::uint64_t>();
    run.place = std::to_string(boot == 0 ? 0 : boot - 1) + ' ';
    run.place += key.text();
    run.op = key.text();
  }

  static void put(const FoundRun& run, SpilledSort& to) {
    if (run.tensors.empty()) return;
    std::string text;
    FieldWriter fields(text);
    write_fields(fields, run);
    static_cast<void>(to.add(text));
  }

  static FoundRun run_in(std::string_view text) {
    FoundRun run;
    FieldReader fields(text);
    read_fields(fields, run);
    return run;
  }

  void count_turns(const SpilledSort& turns, SpilledSort& runs) {
    FoundRun before;
    SpilledSort::Reader reader(turns);
    for (std::string_view text; reader.next(text);) {
      FoundRun run = run_in(text);
      if (run.op == before.op && run.type == before.type && run.place == before.place)
        run.turn = before.turn + 1;
      put(run, runs);
      progress_.add(run.tensors.size());
      before = std::move(run);
    }
    static_cast<void>(runs.finish());
  }

  void number_runs(const SpilledSort& runs) {
    SpilledSort of_tensors(runs_first);
    SpilledSort::Reader reader(runs);
    for (std::string_view text; reader.next(text);) {
      const FoundRun run = run_in(text);
      for (const std::size_t tensor : run.tensors) {
        std::string number;
        FieldWriter(number).put(std::uint64_t{tensor}).put(static_cast<std::uint32_t>(facts_.runs.size()));
        static_cast<void>(of_tensors.add(number));
      }
      add_run(run);
      progress_.add(run.tensors.size());
    }
    static_cast<void>(of_tensors.finish());
    SpilledSort::Reader numbers(of_tensors);
    for (std::string_view text; numbers.next(text);) {
      FieldReader fields(text);
      static_cast<void>(fields.next<std::uint64_t>());
      facts_.run_of.push_back(fields.next<std::uint32_t>());
      progress_.add();
    }
    if (error_.empty()) error_ = of_tensors.error();
  }

  void add_run(const FoundRun& run) {
    bool is_new = false;
    const std::uint32_t place = places_.number(run.place, is_new);
    if (is_new) {
      const DumpFile file = side_.files[static_cast<std::size_t>(run.file)];
      facts_.has_boots |= file.boot.has_value();
      facts_.places.push_back(place_of(file));
      model_ = facts_.places.back().model;
    } else if (place != place_) {
      model_ = facts_.places[place].model;
    }
    place_ = place;
    std::string key;
    FieldWriter(key).text(model_).text(run.type).text(run.op).put(run.turn);
    const std::uint32_t op = ops_.number(key, is_new);
    if (is_new) facts_.ops.push_back({.name = run.op, .type = run.type, .model = model_});
    facts_.runs.push_back(
        {.op = op, .place = place, .file = static_cast<std::size_t>(run.file), .tensors = run.tensors});
  }

  ReportFacts& facts_;
  const DumpSide& side_;
  Progress progress_;
  std::optional<SpilledSort> tensors_;  ///< by run
  NumberedTexts places_, ops_;
  std::uint32_t place_ = UINT32_MAX;  ///< of the last run
  std::string model_;                 ///< of that place
  std::string error_;
};

}  // namespace

std::string find_runs(ReportFacts& facts) {
  return RunFinder(facts).find();
}

}  // namespace opdump::tool
