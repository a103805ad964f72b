#include "src/tool/verify/wanted_records.hpp"
#include "opdump/impl/plan/remaining_tensors.hpp"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>

#include "opdump/base/arena.hpp"
#include "opdump/config/parse.hpp"
#include "opdump/impl/plan/privacy.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/plan.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "src/config/text/human_text.hpp"
#include "src/config/text/model_match.hpp"
#include "src/tool/read/journal/journal_reader.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {
namespace {

std::string op_text(const OpDesc& op) {
  return sanitised(op.type) + '.' + sanitised(op.name);
}

std::vector<TensorView> views_of(const std::vector<RunTensor>& tensors) {
  std::vector<TensorView> views;
  for (const RunTensor& tensor : tensors) views.push_back(view_of(tensor));
  return views;
}

/// Whether the privacy of `config` lets a dump tell anything of that tensor.
bool may_tell(const DumpConfig& config, const ModelDesc* model, const OpDesc& op, bool is_output,
              std::uint32_t index) {
  const PrivacyRule* const rule = rule_of(privacy_rules(config), model, op, is_output, index);
  return rule == nullptr || rule->kept() < KeptAs::nothing;
}

/// What `plan` of `config` takes of operator `op` of `model`: without any role, no file and no row is written.
RecordContent wanted_of(const DumpConfig& config, const ModelPlan& plan, const ModelDesc& model,
                        std::size_t op, const RunOp& run) {
  const std::uint8_t bits = plan.bits[op];
  const std::vector<TensorView> inputs = views_of(run.inputs);
  const std::vector<TensorView> outputs = views_of(run.outputs);
  CapturedTensors tensors;
  if ((bits & kCaptureInputs) != 0) tensors.inputs = inputs;
  if ((bits & kCaptureOutputs) != 0) tensors.outputs = outputs;
  RecordContent wanted;
  wanted.digests = digest_bytes(config.form) != 0;
  wanted.statistics = config.form.data == DumpData::statistics && !wanted.digests;
  wanted.tensors = config.form.data != DumpData::statistics;
  const bool rows_only = config.form.data == DumpData::statistics && has_table(config.form.layout);
  tensors.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
    if ((bits & kLeaveOut) != 0 && RemainingTensors::leaves_out(plan, run.desc, is_output, index)) return;
    if (!may_tell(config, &model, run.desc, is_output, index)) return;
    if (tensor.bytes == 0 || (rows_only && !has_table_row(tensor.dtype))) return;
    wanted.add(is_output, index);
    const RunTensor& told = (is_output ? run.outputs : run.inputs)[index];
    if (told.sized && told.quant.scheme != QuantScheme::block)
      wanted.add_size(is_output, index, tensor.shape, tensor.original_shape, tensor.bytes);
  });
  return wanted;
}

/// What `held`, the files of a record, lack; empty: nothing, or it is not known.
std::string lacking_text(const RecordContent& wanted, const RecordContent* held) {
  if (held == nullptr || !(held->tensors || held->statistics || held->digests)) return {};
  if (wanted.digests && !held->digests) return "there, without the digests that are asked for";
  if (wanted.statistics && !held->statistics) return "there, without the statistics that are asked for";
  if (!wanted.tensors) return {};
  if (!held->tensors) return "there, without the elements that are asked for";
  for (const bool is_output : {false, true}) {
    const std::uint64_t lacking = wanted.roles[is_output ? 1 : 0] & ~held->roles[is_output ? 1 : 0];
    if (lacking != 0)
      return std::string("there, without ") + (is_output ? "output " : "input ") +
             std::to_string(std::countr_zero(lacking));
  }
  for (const RecordContent::Size& size : wanted.sizes) {
    for (const RecordContent::Size& there : held->sizes) {
      if (there.is_output != size.is_output || there.index != size.index || there.elements == size.elements ||
          there.bytes == size.bytes)
        continue;
      return "there, with " + count_text(there.elements, "element") + " of " +
             (size.is_output ? "output " : "input ") + std::to_string(size.index) + ", which has " +
             std::to_string(size.elements) + " in the model";
    }
  }
  return {};
}

/// Whether a card does not tell how much of the operator's tensors there is.
bool lacks_sizes(const RunOp& run) {
  const auto is_unsized = [](const RunTensor& tensor) { return !tensor.sized && !tensor.name.empty(); };
  return (run.inputs.empty() && run.outputs.empty()) ||
         std::any_of(run.inputs.begin(), run.inputs.end(), is_unsized) ||
         std::any_of(run.outputs.begin(), run.outputs.end(), is_unsized);
}

/// Whether one that runs outside any model has any byte that is wanted.
bool wants_bytes(const DumpConfig& config, const RunOp& run) {
  const std::uint8_t bits = capture_bits(config.mode);
  const auto has_bytes = [&](const std::vector<RunTensor>& tensors, bool is_output) {
    bool any = false;
    for (std::uint32_t i = 0; i < tensors.size(); ++i)
      any = any || (tensors[i].bytes != 0 && may_tell(config, nullptr, run.desc, is_output, i));
    return any;
  };
  return ((bits & kCaptureInputs) != 0 && has_bytes(run.inputs, false)) ||
         ((bits & kCaptureOutputs) != 0 && has_bytes(run.outputs, true));
}

/// Of a model, or of an operator of one or of any, as the paths of a dump leave the names.
std::string name_of(std::string_view model, std::string_view op) {
  return sanitised(model) + '/' + sanitised(op);
}

}  // namespace

void RecordContent::add_size(bool is_output, std::uint64_t index, Shape shape, Shape original,
                             std::uint64_t bytes) {
  const Result<std::uint64_t> count = element_count(shape);
  const Result<std::uint64_t> plain = original.empty() ? count : element_count(original);
  if (count.ok() && plain.ok() && count.value() == plain.value())
    sizes.push_back({is_output, index, count.value(), bytes});
}

std::uint64_t path_hash(std::string_view path) {
  return std::hash<std::string_view>()(path);
}

void KnownRecords::add(const JournalPath& path) {
  hashes_.insert(path_hash(path.record));
  if (!path.in_model) return;
  const std::string_view op = path.lite ? path.op : path.op.substr(path.op.find('.') + 1);
  for (const std::string& name : {name_of(path.model, {}), name_of({}, op), name_of(path.model, op)})
    names_.insert(path_hash(name));
  std::vector<std::uint64_t>& steps = steps_[{std::string(path.model), path.model_id}];
  if (steps.empty() || steps.back() != path.step) steps.push_back(path.step);
}

void KnownRecords::sort() {
  for (auto& [model, steps] : steps_) {
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  }
}

bool KnownRecords::has(std::string_view model, std::string_view op) const {
  return names_.contains(path_hash(name_of(model, op)));
}

std::size_t KnownRecords::count(std::string_view record) const {
  return hashes_.count(path_hash(record));
}

std::vector<std::uint64_t> KnownRecords::steps(std::string_view model, std::uint64_t model_id) const {
  const auto found = steps_.find(std::pair(std::string(model), model_id));
  return found == steps_.end() ? std::vector<std::uint64_t>() : found->second;
}

bool WantedRecords::load(const std::string& path, std::string& error) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::string text(kMaxConfigBytes + 1, '\0');
  const std::size_t got = file == nullptr ? 0 : std::fread(text.data(), 1, text.size(), file.get());
  if (file == nullptr || std::ferror(file.get()) != 0) {
    error = path + ": " + strerror(errno);
    return false;
  }
  text.resize(got);
  const std::size_t bytes = config_memory_bytes(text.size());
  memory_.reset(new std::byte[bytes]);
  Arena arena({memory_.get(), bytes});
  ConfigOutcome outcome;
  const ConfigContext context = {.nano = run_.is_dbg(),
                                 .privacy = privacy_reader(),
                                 .seal = seal_reader(),
                                 .triggers = trigger_reader()};
  if (parse_config({text, arena, nullptr, context}, outcome) != Status::ok) {
    error = to_string(outcome.error, path);
    return false;
  }
  config_ = outcome.config;
  if (!config_.active) error = path + ": valid, but it switches nothing on, so it wants nothing";
  return config_.active;
}

bool WantedRecords::load(const std::string& config_path, const std::string& run_path, std::string& error) {
  ConfigError refusal;
  const bool read = run_.load(run_path, refusal);
  has_run_ = read;
  if (!load(config_path, error)) return false;
  for (const RunModel& model : run_.models) {
    for (const std::uint32_t device : model.devices) models_.push_back({model, device});
  }
  if (read) return true;
  error = to_string(refusal, run_path);
  return false;
}

struct WantedRecords::Search {
  const KnownRecords& known;
  const std::string& directory;
  Findings& findings;

  void add(const std::string& op, const std::string& model, StepRanges* steps, const std::string& how_many) {
    std::string note = how_many;
    if (known.nameless() != 0)
      note += "; may be among the " + count_text(known.nameless(), "record") + " lost without a name";
    std::vector<FindingField> fields = {{"dump", directory}, {"op", op}, {"message", note}};
    if (!model.empty()) fields.push_back({"model", model});
    if (steps != nullptr) fields.push_back({"steps", steps->text()});
    findings.add(FindingKind::absent, true,
                 {op, model.empty() ? "single operator" : model, steps == nullptr ? "" : steps->text(), note},
                 fields);
  }
};

void WantedRecords::take(const BesideCards::Cards& cards) {
  models_.clear();
  for (const std::unique_ptr<BesideCard>& card : cards) models_.push_back({card->model(), card->name.device});
}

bool WantedRecords::is_of(const std::function<bool(std::uint64_t)>& has) const {
  return (has_run_ && has(run_.device_id)) ||
         std::any_of(models_.begin(), models_.end(),
                     [&](const WantedModel& model) { return has(model.device); });
}

void WantedRecords::find_absent_model(Search& search, const WantedModel& wanted_model) const {
  const RunModel& model = wanted_model.model;
  std::vector<OpDesc> descs;
  for (const RunOp& op : model.ops) descs.push_back(op.desc);
  std::vector<std::uint8_t> bits(descs.size());
  const ModelDesc desc = {model.name, model.graph_name, model.id, descs};
  ModelPlan plan;
  const posix::OpIndexMemory index(descs);
  if (resolve_plan(config_, desc, bits, plan, index.index()) != Status::ok || plan.bits.empty()) return;
  std::vector<std::size_t> wanted;
  std::vector<RecordContent> contents;
  // What a privacy keeps instead, and what is written when something happens, is not as the config says here.
  const bool tells_content = privacy_rules(config_).empty() && !config_.watch && !config_.overflow &&
                             config_.exception == ExceptionDump::none;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const bool untold = model.from_card && bits[i] != 0 && lacks_sizes(model.ops[i]);
    contents.push_back(wanted_of(config_, plan, desc, i, model.ops[i]));
    if (untold || contents[i].roles[0] != 0 || contents[i].roles[1] != 0) wanted.push_back(i);
  }
  if (wanted.empty()) return;

  const std::string directory = sanitised(plan.directory_name);
  const std::string model_text = directory + " (" + std::to_string(model.id) + ")";
  RecordPaths paths(config_.form, static_cast<std::uint32_t>(wanted_model.device));
  const auto path_at = [&](std::size_t op, std::uint64_t step) -> const JournalPath& {
    return paths.in_model(descs[op], plan.directory_name, model.id, step);
  };
  const JournalPath& any_path = path_at(wanted.front(), 0);
  const std::vector<std::uint64_t> seen = search.known.steps(any_path.model, any_path.model_id);
  const std::string every = "any of its " + count_text(wanted.size(), "wanted operator");
  if (seen.empty() && !run_.has_steps) return search.add(every, model_text, nullptr, "at no step");
  const std::uint64_t first = run_.has_steps ? 0 : seen.front();
  if (run_.has_steps && run_.steps == 0) return;
  const std::uint64_t last = run_.has_steps ? run_.steps - 1 : seen.back();

  StepRanges asked;
  if (config_.steps.every_step()) asked.add(first, last);
  for (const StepRange& range : config_.steps.ranges) {
    if (range.first <= last && range.last >= first)
      asked.add(std::max(range.first, first), std::min(range.last, last));
  }
  // Steps of which nothing is known are told in one line, and not walked: there may be 2^64 of them.
  StepRanges unseen;
  std::vector<std::uint64_t> steps;
  for (const StepRange& range : asked.merged()) {
    std::uint64_t next = range.first;
    bool ended = false;
    for (auto step = std::lower_bound(seen.begin(), seen.end(), range.first);
         step != seen.end() && *step <= range.last; ++step) {
      if (*step > next) unseen.add(next, *step - 1);
      steps.push_back(*step);
      ended = *step == range.last;
      next = *step + 1;
    }
    if (!ended) unseen.add(next, range.last);
  }
  if (!unseen.merged().empty()) search.add(every, model_text, &unseen, "at none of these steps");

  // Operators that share what the layout has of type, name, task and stream share their paths.
  std::map<std::string, std::size_t> same;
  for (const std::size_t i : wanted) ++same[std::string(path_at(i, 0).record)];
  for (const std::size_t i : wanted) {
    const auto times = same.find(std::string(path_at(i, 0).record));
    if (times == same.end()) continue;
    StepRanges absent;
    std::map<std::string, StepRanges> partial;
    std::uint64_t records = 0;
    for (const std::uint64_t step : steps) {
      const std::size_t known = search.known.count(path_at(i, step).record);
      if (known >= times->second) {
        const RecordContent* const held = search.known.find_content(path_at(i, step).record);
        const std::string lacking =
            tells_content && times->second == 1 ? lacking_text(contents[i], held) : std::string();
        if (!lacking.empty()) partial[lacking].add(step);
        continue;
      }
      absent.add(step);
      records += times->second - known;
    }
    if (records != 0)
      search.add(op_text(model.ops[i].desc), model_text, &absent, count_text(records, "record"));
    for (auto& [lacking, at] : partial) search.add(op_text(model.ops[i].desc), model_text, &at, lacking);
    same.erase(times);
  }
}

void WantedRecords::find_absent_single(Search& search) const {
  // As the session has it: without a step counter, a filter of steps never holds.
  if (!config_.single_ops || !config_.steps.every_step()) return;
  const std::uint64_t runs = run_.has_steps ? run_.steps : 1;
  RecordPaths paths(config_.form, run_.device_id);
  std::map<std::string, std::uint64_t> wanted;
  std::map<std::string, std::string> names;
  for (const RunOp& op : run_.single_ops) {
    if (!wants_bytes(config_, op)) continue;
    const std::string path(paths.outside(op.desc).record);
    wanted[path] += runs;
    names[path] = op_text(op.desc);
  }
  for (const auto& [path, count] : wanted) {
    const std::uint64_t known = search.known.count(path);
    if (known < count) search.add(names[path], {}, nullptr, count_text(count - known, "record"));
  }
}

void WantedRecords::find_absent(const KnownRecords& known, const std::string& directory,
                                const std::function<bool(std::uint64_t)>& has, Findings& findings) const {
  Search search = {known, directory, findings};
  const auto keeps_all = [&](std::uint64_t device) { return has(device) && !known.has_history(device); };
  for (const WantedModel& model : models_) {
    if (keeps_all(model.device)) find_absent_model(search, model);
  }
  if (has_run_ && keeps_all(run_.device_id)) find_absent_single(search);
}

void WantedRecords::find_misses(const KnownRecords& known, Findings& findings) const {
  std::vector<std::vector<OpDesc>> ops;
  std::vector<ModelDesc> models;
  ops.reserve(models_.size());  // the models refer to them
  for (const auto& [model, device] : models_) {
    if (!has_run_ && !model.from_card) return;
    std::vector<OpDesc>& descs = ops.emplace_back();
    for (const RunOp& op : model.ops) descs.push_back(op.desc);
    models.push_back({model.name, model.graph_name, model.id, descs});
  }
  if (models.empty()) return;
  for (const Miss& miss : match_models(config_, models).misses) {
    if (known.has(miss.model, miss.op)) continue;
    findings.add_never({miss_text(miss)}, {{"what", miss.what}, {"closest", miss.closest}},
                       FindingKind::no_such);
  }
}

}  // namespace opdump::tool
