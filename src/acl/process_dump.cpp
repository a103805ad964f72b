#include "src/acl/process_dump.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "opdump/impl/drain/dump_name.hpp"
#include "platform/posix/exception_environment.hpp"
#include "platform/posix/impl/loss_text.hpp"
#include "platform/posix/impl/make_directories.hpp"

namespace opdump::acl {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr char kExceptionDirectory[] = "extra-info/data-dump";

bool is_none(const char* path) {
  return path == nullptr || *path == '\0';
}

/// Whether it is there, or can be made, and can be written to.
bool make_usable(const std::string& path) {
  return posix::make_directories(path) == 0 && access(path.c_str(), W_OK) == 0;
}

std::string with_slash(std::string_view path) {
  std::string text(path);
  if (text.empty() || text.back() != '/') text += '/';
  return text;
}

}  // namespace

ProcessDump& ProcessDump::instance() {
  // Never destroyed: a drain thread may still run when the process ends without aclFinalize.
  static ProcessDump& dump = *new ProcessDump;
  return dump;
}

ProcessDump::ProcessDump()
    : kit_(memory_, {.scratch = scratch_, .watch_memory = watch_, .more_configs = more_configs_}) {}

void ProcessDump::log_to(LogHook hook, void* context) {
  const std::lock_guard lock(mutex_);
  kit_.log_to(hook, context);
}

void ProcessDump::use_product(Product product) {
  const std::lock_guard lock(mutex_);
  product_ = product;
}

aclError ProcessDump::init(const char* path) {
  const std::lock_guard lock(mutex_);
  if (product_ == Product::server) return init_once(path);
  if (inits_ == 0 && init_once(path) != ACL_SUCCESS) return ACL_ERROR_INTERNAL_ERROR;
  ++inits_;
  return ACL_SUCCESS;
}

aclError ProcessDump::init_once(const char* path) {
  if (initialised_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before");
  std::string content;
  if (!is_none(path)) {
    const bool read = read_content(path, content);
    if (read && ever_initialised_ && content != first_content_)
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclInit after aclFinalize needs the config of the first time, and " + std::string(path) +
                      " differs");
    if (const aclError error = use_config(path); error != ACL_SUCCESS) {
      // On a nano product a config that is refused leaves the dump off.
      if (product_ == Product::server || error == ACL_ERROR_INTERNAL_ERROR) return error;
      kit_.say(error_ + "; nothing is dumped");
    }
  }
  if (!ever_initialised_) first_content_ = content;
  initialised_ = ever_initialised_ = true;
  finalized_ = false;
  return ACL_SUCCESS;
}

aclError ProcessDump::finalize() {
  const std::lock_guard lock(mutex_);
  if (product_ == Product::server) return finalize_once();
  if (inits_ == 0) return fail(ACL_ERROR_INTERNAL_ERROR, "aclFinalize was called more often than aclInit");
  if (inits_ == 1) {
    if (const aclError error = finalize_once(); error != ACL_SUCCESS) return error;
    // Such a product takes any config the next time.
    ever_initialised_ = false;
  }
  --inits_;
  return ACL_SUCCESS;
}

aclError ProcessDump::finalize_once() {
  if (finalized_) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before");
  if (const aclError error = stop(); error != ACL_SUCCESS) return error;
  finalized_ = true;
  initialised_ = dump_ready_ = false;
  return ACL_SUCCESS;
}

aclError ProcessDump::init_dump() {
  const std::lock_guard lock(mutex_);
  if (const aclError error = check_ready("aclmdlInitDump"); error != ACL_SUCCESS) return error;
  if (dump_ready_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclmdlInitDump was called before");
  if (const aclError error = start(); error != ACL_SUCCESS) return error;
  dump_ready_ = true;
  return ACL_SUCCESS;
}

aclError ProcessDump::set_dump(const char* path) {
  const std::lock_guard lock(mutex_);
  if (const aclError error = check_ready("aclmdlSetDump"); error != ACL_SUCCESS) return error;
  if (!dump_ready_) return fail(ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump has to be called first");
  if (path == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlSetDump: the path is NULL");
  return use_config(path);
}

aclError ProcessDump::finalize_dump() {
  const std::lock_guard lock(mutex_);
  if (const aclError error = check_ready("aclmdlFinalizeDump"); error != ACL_SUCCESS) return error;
  if (!dump_ready_) return fail(ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump has to be called first");
  if (const aclError error = stop(); error != ACL_SUCCESS) return error;
  dump_ready_ = false;
  return ACL_SUCCESS;
}

/// What the three calls that set a dump at run time have in common.
aclError ProcessDump::check_ready(const char* call) {
  if (product_ == Product::nano)
    return fail(ACL_ERROR_API_NOT_SUPPORT,
                std::string(call) + ": a nano product dumps what aclInit's config says");
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "aclInit has to be called first");
  return ACL_SUCCESS;
}

aclError ProcessDump::register_callback(ChunkCallback callback, std::int32_t flag) {
  const std::lock_guard lock(mutex_);
  if (callback == nullptr) return fail(ACL_ERROR_FAILURE, "acldumpRegCallback: the callback is NULL");
  if (flag != 0)
    return fail(ACL_ERROR_FAILURE,
                "acldumpRegCallback: flag " + std::to_string(flag) + " has no meaning, only 0 has");
  ChunkWriter& writer = kit_.store().writer();
  if (writer.callback() == nullptr) writer.set_callback(callback);
  return ACL_SUCCESS;
}

void ProcessDump::unregister_callback() {
  const std::lock_guard lock(mutex_);
  kit_.store().writer().set_callback(nullptr);
}

const char* ProcessDump::path_of(acldumpType type) {
  // Of the thread's own, so that another thread's call leaves the text alone.
  thread_local std::string path;
  {
    const std::lock_guard lock(mutex_);
    path = directory_of(type);
  }
  if (path.empty() || !make_usable(path)) return nullptr;
  path += '/';
  return path.c_str();
}

/// Without '/' at the end; empty when nobody dumps there.
std::string ProcessDump::directory_of(acldumpType type) const {
  switch (type) {
    case AIC_ERR_BRIEF_DUMP:
    case AIC_ERR_NORM_DUMP:
    case AIC_ERR_DETAIL_DUMP: {
      const DumpConfig& config = kit_.config();
      if (config.exception != ExceptionDump::none) return with_slash(config.dump_path) + kExceptionDirectory;
      posix::ProcessEnvironment environment(true);
      const ExceptionPlan plan = plan_exceptions(config, environment);
      return plan.dump == ExceptionDump::none ? std::string()
                                              : with_slash(plan.directory) + kExceptionDirectory;
    }
    case DATA_DUMP:
    case OVERFLOW_DUMP: {
      const DumpConfig& config = kit_.config();
      const DumpTarget target = {.time = kit_.session().dump_time(), .form = config.form};
      if (target.time == 0 || config.exception != ExceptionDump::none) return {};
      char directory[kMaxDumpDirectoryBytes];
      return with_slash(config.dump_path).append(directory, put_dump_directory(directory, target));
    }
  }
  return {};
}

std::string ProcessDump::last_error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

aclError ProcessDump::fail(aclError code, std::string reason) {
  error_ = std::move(reason);
  return code;
}

Status ProcessDump::use_memory(const c_api::CarriedMemory& memory) {
  const std::lock_guard lock(mutex_);
  if (kit_.session().initialised()) {
    error_ =
        "use_memory has to be called while nothing dumps, such as before aclInit; tensors lie where they did";
    return Status::already_initialised;
  }
  carried_ = memory;
  return Status::ok;
}

/// Takes the memory's rules and device, which it may have found out meanwhile, until dumping ends.
void ProcessDump::follow_memory() {
  if (kit_.session().initialised()) return;
  const c_api::MemoryAbilities& abilities = carried_.abilities();
  memory_ = c_api::PortMemory(carried_.port(), carried_.is_any() ? &abilities : nullptr);
  const std::uint32_t device = abilities.device_id == nullptr ? 0 : abilities.device_id(carried_.context());
  static_cast<void>(kit_.session().set_device(device));
}

aclError ProcessDump::start() {
  follow_memory();
  const Status status = kit_.session().initialised() ? Status::ok : kit_.begin();
  if (status == Status::ok) return ACL_SUCCESS;
  return fail(ACL_ERROR_INTERNAL_ERROR, "dumping cannot start: " + std::string(to_string(status)));
}

aclError ProcessDump::stop() {
  if (!kit_.session().initialised()) return ACL_SUCCESS;
  Status status = kit_.end();
  tell_losses();
  if (kit_.session().initialised())
    return fail(ACL_ERROR_INTERNAL_ERROR, "dumping cannot end: " + std::string(to_string(status)));
  configs_.clear();
  const Status ended = kit_.store().end_journals();
  if (status == Status::ok) status = ended;
  if (status == Status::ok) return ACL_SUCCESS;
  const bool untold = status == kit_.session().journal_failure();
  return fail(ACL_ERROR_INTERNAL_ERROR, "dumping has ended, but: " + std::string(to_string(status)) +
                                            (untold ? ": the journal lacks lines" : ""));
}

void ProcessDump::tell_losses() {
  const DumpCounts counts = kit_.session().counts();
  if (counts.lost() == lost_told_) return;
  lost_told_ = counts.lost();
  const c_api::MemoryAbilities& abilities = carried_.abilities();
  const DriverError said =
      abilities.driver_error == nullptr ? DriverError() : abilities.driver_error(carried_.context());
  kit_.say(posix::loss_text(kit_.session(), counts, said));
}

void ProcessDump::note_line(const std::string& line) {
  if (!error_.empty()) error_ += '\n';
  error_ += line;
}

/// Reads, checks and applies a config.
aclError ProcessDump::use_config(const char* path) {
  auto memory = std::make_unique<posix::ConfigMemory>();
  ConfigOutcome outcome;
  // Who wrote for CANN gets what CANN would do as far as this build goes, and is told of the rest.
  if (posix::load_config_file(path, *memory, outcome, {.nano = product_ == Product::nano}) != Status::ok)
    return fail(acl_error(outcome.error), to_string(outcome.error, path));
  posix::ProcessEnvironment environment(true);
  if (const Status status = posix::follow_environment(environment, *memory, outcome); status != Status::ok)
    return fail(ACL_ERROR_BAD_ALLOC, std::string(path) + ": " + std::string(to_string(status)));
  error_.clear();
  for (const ConfigNote& note : outcome.notes) note_line(to_string(note, path));
  const DumpConfig& config = outcome.config;
  if (!config.asked) return ACL_SUCCESS;
  const char* const refused = config.options.history_steps != 0 ? "history_steps: dumps are written at once"
                              : config.options.dump_on_crash    ? "on_crash: no signal is handled"
                                                                : nullptr;
  if (refused != nullptr)
    return fail(ACL_ERROR_INVALID_DUMP_CONFIG,
                std::string(path) + ": opdump." + refused + " in the ACL; leave it out");
  const DumpOptions& options = config.options;
  if (kit_.session().initialised() && (options.when_full || options.block_limit_ms || options.journal))
    note_line(
        std::string(path) +
        ": note: opdump: its options count for configs that aclInit reads, and this session runs already");
  if (options.ring_bytes)
    note_line(std::string(path) +
              ": note: opdump.ring_bytes: the rings are those of the program's recorders");
  follow_memory();
  if (const Status status = kit_.apply(config); status != Status::ok)
    return fail(ACL_ERROR_INTERNAL_ERROR, std::string(path) + ": " + std::string(to_string(status)) +
                                              (kit_.store_error().empty() ? "" : ": " + kit_.store_error()));
  configs_.push_back(std::move(memory));
  return ACL_SUCCESS;
}

bool ProcessDump::read_content(const char* path, std::string& content) {
  FILE* file = fopen(path, "rbe");
  if (file == nullptr) return false;
  char block[4096];
  for (std::size_t got; (got = fread(block, 1, sizeof block, file)) != 0;) {
    if (content.size() + got > kMaxConfigBytes) break;
    content.append(block, got);
  }
  const bool good = ferror(file) == 0;
  fclose(file);
  return good;
}

Session& session() {
  return ProcessDump::instance().session();
}
void use_product(Product product) {
  ProcessDump::instance().use_product(product);
}
void log_to(LogHook hook, void* context) {
  ProcessDump::instance().log_to(hook, context);
}
Status use_carried_memory(const c_api::CarriedMemory& memory) {
  return ProcessDump::instance().use_memory(memory);
}
std::string last_error() {
  return ProcessDump::instance().last_error();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::acl
