#include "platform/ascend/nano/model_dump.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "opdump/impl/plan/remaining_tensors.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/impl/op_index_memory.hpp"
#include "src/config/refusal.hpp"
#include "src/config/text/model_match.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kMostNames = 20;

std::string with_slash(std::string_view path) {
  std::string text(path);
  if (!text.ends_with('/')) text += '/';
  return text;
}

/// Now, as it names the directory of a dump.
std::string time_text() {
  const time_t now = time(nullptr);
  tm local{};
  char text[32] = "";
  if (localtime_r(&now, &local) == nullptr || strftime(text, sizeof text, "%Y%m%d%H%M%S", &local) == 0)
    return "0";
  return text;
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i)
    text += (i == 0 ? "" : ", ") + config::in_quotes(names[i]);
  if (names.size() > kMostNames) text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

std::string steps_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " step" : " steps");
}

}  // namespace

Code ModelDump::prepare(ModelLoad& load, std::size_t task_bytes, std::string_view name) {
  name_ = name;
  if (!read_file(with_slash(config_->config.dump_path) + name_ + ".dbg")) return kInternalError;
  if (const Code code = resolve(load.total_tasks); code != kOk) return code;
  if (config_->config.overflow) load.overflow_en = 1;
  if (!has_scene()) mark_tasks(load, task_bytes);
  return kOk;
}

std::string ModelDump::who() const {
  return "model " + config::in_quotes(name_) + (started_ ? " (id " + std::to_string(model_id_) + ")" : "");
}

/// For overflows and failures the vendor's executor looks at the head of the file only.
bool ModelDump::read_file(const std::string& path) {
  const auto fail = [&](const std::string& reason) {
    config_->tell(who() + " cannot be loaded: " + path + ": " + reason +
                  ". While a dump is configured, the executor needs the .dbg file of every model there");
    return false;
  };
  // Without O_NONBLOCK a pipe would hang the load.
  const posix::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return fail(strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail("not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > std::numeric_limits<std::int32_t>::max())
    return fail("longer than 2 GiB");
  content_.resize(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; at < content_.size();) {
    const ssize_t got = read(file.get(), content_.data() + at, content_.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(got == 0 ? "has become shorter" : strerror(errno));
    at += static_cast<std::size_t>(got);
  }
  if (!DbgFile::is_dbg(content_)) return fail("lacks the magic number of a .dbg file");
  std::vector<DbgFault> faults;
  const bool good = file_.read(content_, faults);
  for (const DbgFault& fault : faults) {
    if (fault.fatal && !has_scene())
      return fail("byte " + std::to_string(fault.offset) + ": " + fault.reason);
    config_->tell(path + ": byte " + std::to_string(fault.offset) + ": " + fault.reason);
  }
  return good || has_scene();
}

Code ModelDump::resolve(std::uint32_t total_tasks) {
  model_ = file_.model(name_);
  if (!has_scene()) {
    for (const OpDesc& op : model_.ops) {
      if (op.task_id < total_tasks) continue;
      config_->tell(who() + " cannot be loaded: its .dbg file has operator " + config::in_quotes(op.name) +
                    " as task " + std::to_string(op.task_id) + ", and the model has " +
                    std::to_string(total_tasks) + " tasks: is the .dbg file that of another model?");
      return kInternalError;
    }
  }
  bits_.assign(model_.ops.size(), 0);
  const posix::OpIndexMemory index(model_.ops);
  static_cast<void>(
      resolve_plan(config_->config, model_, bits_, plan_, index.index()));  // there are enough bits
  plan_.model = &model_;
  rules_ = RulesOfModel(config_->config.models, model_);
  if (!has_scene() && rules_.none()) {
    tell_unnamed();
  } else {
    tell_match();
  }
  return kOk;
}

void ModelDump::tell_unnamed() const {
  std::vector<std::string_view> names;
  for (const ModelRule& rule : config_->config.models) names.push_back(rule.model_name);
  std::string line = who();
  if (!model_.graph_name.empty()) line += ", whose graph is " + config::in_quotes(model_.graph_name) + ",";
  line += " is not dumped: the config does not name it";
  std::string_view near = config::closest(model_.name, names);
  if (near.empty()) near = config::closest(model_.graph_name, names);
  config_->tell(line + (near.empty() ? "" : "; is it meant by " + config::in_quotes(near) + "?"));
}

void ModelDump::tell_match() const {
  config_->log.model_loaded(config_->config, plan_);
  if (has_scene()) return;
  std::vector<ModelRule> rules;
  rules_.for_each([&rules](const ModelRule& rule) { rules.push_back(rule); });
  DumpConfig own = config_->config;
  own.models = rules;
  const tool::MatchReport report = tool::match_models(own, {&model_, 1});
  for (const std::string& name : report.stand_ins) config_->tell(name);
  for (const tool::Miss& miss : report.misses) config_->tell(tool::miss_text(miss));
}

bool ModelDump::leaves_out(std::size_t op, bool is_output, std::uint32_t index) const {
  return (bits_[op] & kLeaveOut) != 0 &&
         RemainingTensors::leaves_out(plan_, model_.ops[op], is_output, index);
}

/// Whether the blacklists leave any tensor that the mode asks for. Unknown tensors may be there.
bool ModelDump::keeps_any(std::size_t op) const {
  if ((bits_[op] & kLeaveOut) == 0) return true;
  bool any = false;
  bool none = true;
  model_.tensors[op].for_each_tensor([&](const TensorView&, bool is_output, std::uint32_t index) {
    if ((bits_[op] & (is_output ? kCaptureOutputs : kCaptureInputs)) == 0) return;
    none = false;
    any = any || !leaves_out(op, is_output, index);
  });
  return any || none;
}

void ModelDump::mark_tasks(ModelLoad& load, std::size_t task_bytes) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < plan_.bits.size(); ++i) {
    if (plan_.bits[i] == 0) continue;
    const OpDesc& op = model_.ops[i];
    if (!keeps_any(i)) {
      config_->tell("operator " + config::in_quotes(op.name) + " of " + who() +
                    " is not dumped: the blacklists leave out every tensor that is asked for");
      continue;
    }
    const Code code = runtime_.set_dump_flag(load.tasks, task_bytes, op.task_id);
    // The vendor's executor goes on too.
    ++marked_;
    if (code != kOk) {
      config_->tell("operator " + config::in_quotes(op.name) + " of " + who() +
                    " is not dumped: rtSetTaskDescDumpFlag of task " + std::to_string(op.task_id) +
                    " returned " + std::to_string(code));
    } else {
      names.push_back(op.name);
    }
  }
  if (!names.empty()) config_->tell(who() + ": asked for are " + listed(names));
}

/// Both lie ready, so that no step waits for memory.
void ModelDump::make_messages() {
  const DumpConfig& config = config_->config;
  bool filtered = false;
  for (std::size_t i = 0; i < plan_.bits.size(); ++i) filtered = filtered || (bits_[i] & kLeaveOut) != 0;
  const std::vector<std::byte> less =
      filtered ? file_.without([this](std::size_t op, bool is_output, std::uint32_t index) {
        return leaves_out(op, is_output, index);
      })
               : std::vector<std::byte>();
  const std::string directory =
      with_slash(config.dump_path) + time_text() + '/' + std::to_string(runtime_.device()) + '/';
  LoadMessage message;
  message.description = filtered ? Bytes(less) : Bytes(content_);
  message.model_id = model_id_;
  message.step = step_;
  message.mode = static_cast<std::uint32_t>(config.mode);
  const bool statistics = config.form.data == DumpData::statistics && digest_bytes(config.form) == 0;
  message.data = statistics ? kDataStatistics : kDataTensors;
  message.directory = directory;
  description_bytes_ = static_cast<std::uint32_t>(message.description.size());
  for (const bool load : {false, true}) {
    message.load = load;
    messages_[load].resize(load_message_bytes(message));
    write_load_message(messages_[load].data(), message);
  }
}

Code ModelDump::start(std::uint32_t model_id, std::uint64_t* step) {
  if (!has_scene() && marked_ == 0) return kOk;
  model_id_ = model_id;
  step_ = step;
  started_ = true;
  first_step_ = *step;
  make_messages();
  return is_wanted(*step) ? send(true) : kOk;
}

Code ModelDump::send(bool load) {
  const Code code = runtime_.send(messages_[load].data(), description_bytes_);
  if (code == kOk) {
    loaded_ = load;
  } else if (send_error_ == kOk) {
    send_error_ = code;
    config_->tell(
        who() + ": rtMsgSend returned " + std::to_string(code) + " before step " + std::to_string(*step_) +
        (load ? ", which is wanted and is not dumped" : ", which is dumped although it is not wanted") +
        "; the same is tried again at the steps that follow, and told no more");
  }
  return code;
}

void ModelDump::step_done() {
  if (!started_) return;
  ++steps_;
  steps_asked_ += loaded_ ? 1 : 0;
  steps_missed_ += !loaded_ && is_wanted(*step_) ? 1 : 0;
  ++*step_;
  if (is_wanted(*step_) != loaded_) static_cast<void>(send(!loaded_));
}

void ModelDump::stop(bool sends) {
  if (!started_) return;
  if (loaded_ && sends) static_cast<void>(send(false));
  std::string line = who() + ": " + steps_text(steps_) + " ran, and " + std::to_string(steps_asked_) +
                     " of them " + (steps_asked_ == 1 ? "was" : "were") + " asked for";
  if (steps_missed_ != 0)
    line += "; " + steps_text(steps_missed_) + " more could not be, as rtMsgSend failed";
  config_->tell(line);
  const std::uint64_t end = first_step_ + steps_;
  for (const StepRange& range : config_->config.steps.ranges) {
    if (range.last < end || range.last < range.first) continue;
    config_->log.never_captured({.cause = NeverCause::steps,
                                 .model_id = model_id_,
                                 .model = name_,
                                 .steps = {range.first < end ? end : range.first, range.last}});
  }
  started_ = loaded_ = false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
