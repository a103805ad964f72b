#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "opdump/impl/plan/privacy.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/plan.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/mindspore/constants.hpp"
#include "platform/posix/mindspore/files.hpp"
#include "platform/posix/tree_sink.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Writes the files of MindSpore's dumps besides tensors and statistics. In layouts with a folder per rank:
/// the order of execution; on CPU and GPU also the config and the steps that were run; on Ascend the
/// arguments of operators, if the config wants them. For whole graphs: the config that CANN gets. And the
/// constants passed to `write_constants`. Nothing in the layouts of CANN and MindSpore Lite. Has a sink of
/// its own, so that a drain thread may run meanwhile. For the control thread; allocates.
class MindSporeExtras {
 public:
  /// Whether dumps in that layout have any.
  static constexpr bool belong_to(Layout layout) {
    return has_rank_folder(layout) || layout == Layout::mindspore_graph;
  }

  /// What `config` refers to must stay until the last call; `config_text` is the file it was read from.
  /// Errors are the sink's.
  [[nodiscard]] Status begin(const DumpConfig& config, std::string_view config_text,
                             std::uint32_t device_id) {
    device_config_ = config;
    device_config_.form.rank = folder_rank(config, device_id);
    config_ = belong_to(config.form.layout) ? &device_config_ : nullptr;
    device_id_ = device_id;
    if (config_ == nullptr || !is_cpu(config.form.layout)) return Status::ok;
    return write_dump_metadata(sink_, *config_, config_text, "CPU", "opdump");
  }

  /// Call it after a model has been loaded.
  [[nodiscard]] Status loaded(const ModelPlan& plan) {
    const bool applies = applies_to(plan) && has_rank_folder(config_->form.layout);
    return applies ? write_execution_order(sink_, *config_, *plan.model) : Status::ok;
  }

  /// The same, for a graph with constants. Each is written once; a file that exists already stays as it is.
  /// Errors also as `write_constant`, and those of reading the folder.
  template <class Memory>
  [[nodiscard]] Status write_constants(const ModelPlan& plan, std::span<const ConstantDesc> constants,
                                       Memory& memory, std::uint64_t unix_us) {
    if (!applies_to(plan) || !wants_constants(*config_)) return Status::ok;
    const std::size_t path_bytes = mindspore_name_bytes(config_->net_name.size(), 0, 0);
    names_.resize(std::max(names_.size(), path_bytes));
    TextWriter directory(names_);
    add_constants_directory(directory, *config_, plan.model->id);
    const std::string path = std::string(config_->dump_path) + '/' + std::string(directory.text());
    std::string there;
    Status status = list_files(path, there);
    for (const ConstantDesc& constant : constants) {
      if (status != Status::ok) break;
      names_.resize(std::max(names_.size(), path_bytes + constant.name.size()));
      if (there.find(start_of_file(constant)) != there.npos || !may_leave(plan, constant)) continue;
      status = write_constant(sink_, *config_, memory, npy_, plan.model->id, constant, unix_us, names_);
    }
    const Status synced = sink_.sync();
    return status == Status::ok ? synced : status;
  }

  /// Call it before a model is unloaded, when its last step has ended. The steps run from the config's first
  /// one to the plan's latest.
  [[nodiscard]] Status ended(const ModelPlan& plan) {
    if (!applies_to(plan)) return Status::ok;
    if (config_->form.layout == Layout::mindspore_graph) return write_latest(plan);
    Status status = Status::ok;
    for (std::uint64_t step = config_->first_step; step < plan.next_step && status == Status::ok; ++step) {
      if (!plan.steps.contains(step)) continue;
      if (is_cpu(config_->form.layout)) status = append_executed_step(sink_, *config_, plan.model->id, step);
      if (config_->save_kernel_args && status == Status::ok) status = write_arguments(plan, step);
    }
    const Status synced = sink_.sync();
    return status == Status::ok ? synced : status;
  }

 private:
  bool applies_to(const ModelPlan& plan) const { return config_ != nullptr && !plan.bits.empty(); }

  /// Whether the config's privacy keeps all of `constant`, which is the output of an operator `Parameter`
  /// there. Of others there is no file.
  bool may_leave(const ModelPlan& plan, const ConstantDesc& constant) const {
    const OpDesc op = {.name = constant.name, .type = "Parameter"};
    const PrivacyRule* const rule = rule_of(privacy_rules(*config_), plan.model, op, true, 0);
    return rule == nullptr || keeps_whole(*rule);
  }

  /// The beginning of the name of a constant's file, which no other constant's file name contains.
  static std::string start_of_file(const ConstantDesc& constant) {
    std::string name(constant.name.size() + 1, '\0');
    TextWriter writer(name);
    writer.add_sanitised(constant.name);
    return "Parameter." + std::string(writer.text()) + ".0.0.";
  }

  /// Adds the names of the files at `path` to `names`, and the real names that mapping.csv gives for files
  /// with a number. Adds none when there is no such folder.
  static Status list_files(const std::string& path, std::string& names) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (folder == nullptr) return errno == ENOENT ? Status::ok : status_of(errno);
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(folder.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (!name.ends_with(".part")) names.append(name).append("\n");
    }
    if (errno != 0) return status_of(errno);
    const UniqueFd mapping(open((path + "/mapping.csv").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    char piece[4096];
    ssize_t got = 0;
    while (mapping && (got = read(mapping.get(), piece, sizeof piece)) > 0)
      names.append(piece, static_cast<std::size_t>(got));
    return got == 0 && (mapping || errno == ENOENT) ? Status::ok : status_of(errno);
  }

  /// For a whole graph, once one of its steps was wanted.
  Status write_latest(const ModelPlan& plan) {
    std::uint64_t step = plan.next_step;
    while (step > config_->first_step && !plan.steps.contains(step - 1)) --step;
    if (step <= config_->first_step) return Status::ok;
    const Status status = write_acl_dump(sink_, *config_, plan, device_id_, step - 1);
    const Status synced = sink_.sync();
    return status == Status::ok ? synced : status;
  }

  Status write_arguments(const ModelPlan& plan, std::uint64_t step) {
    Status status = Status::ok;
    for (std::size_t i = 0; i < plan.bits.size() && status == Status::ok; ++i) {
      const OpDesc& op = plan.model->ops[i];
      if (plan.bits[i] == 0) continue;
      names_.resize(std::max(names_.size(),
                             mindspore_name_bytes(config_->net_name.size(),
                                                  std::max(op.type.size(), op.name.size()), op.name.size())));
      status = write_kernel_args(sink_, *config_, plan.model->id, op, step, names_);
    }
    return status;
  }

  const DumpConfig* config_ = nullptr;  ///< null: there are no extras
  DumpConfig device_config_;            ///< the config, with the rank folder of the device
  TreeSink sink_;
  NpyFormat npy_;
  std::string names_;
  std::uint32_t device_id_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
