#define OPDUMP_FILE_DUMP_IS_COMPILED
#include "platform/posix/file_dump.hpp"

#include "platform/posix/basic_file_dump.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

struct FileDump::Body final : BasicFileDump<HostMemory> {
  using BasicFileDump::BasicFileDump;
};

Status FileDump::Recorder::begin_step(ModelPlan& plan, std::uint64_t step) {
  const Status status = recorder_.begin_step(plan, step);
  bits_ = recorder_.bits();
  return status;
}

Status FileDump::Recorder::capture(std::size_t op, std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs) {
  return recorder_.capture(op, inputs, outputs);
}

Status FileDump::Recorder::refuse(std::size_t op, Status cause) {
  return recorder_.refuse(op, cause);
}

Status FileDump::Recorder::capture_overflow(std::size_t op, std::span<const TensorView> inputs,
                                            std::span<const TensorView> outputs,
                                            const OverflowReport& report) {
  return recorder_.capture_overflow(op, inputs, outputs, report);
}

void FileDump::Recorder::begin_op(std::size_t op, std::span<const TensorView> inputs,
                                  std::span<const TensorView> outputs, const OpMemory* memory) {
  recorder_.begin_op(op, inputs, outputs, memory);
}

void FileDump::Recorder::end_op() {
  recorder_.end_op();
}

Status FileDump::Recorder::capture_failure() {
  return recorder_.capture_failure();
}

Status FileDump::Recorder::end_step() {
  bits_ = nullptr;
  return recorder_.end_step();
}

bool FileDump::Recorder::wants_single_ops() const {
  return recorder_.wants_single_ops();
}

Status FileDump::Recorder::capture_single_op(const OpDesc& op, std::span<const TensorView> inputs,
                                             std::span<const TensorView> outputs) {
  return recorder_.capture_single_op(op, inputs, outputs);
}

Status FileDump::Recorder::refuse_single_op(const OpDesc& op, Status cause) {
  return recorder_.refuse_single_op(op, cause);
}

const ModelPlan* FileDump::Recorder::open_plan() const {
  return recorder_.open_plan();
}

FileDump::FileDump(HostMemory& memory, std::uint32_t device_id, WhenFull when_full)
    : body_(std::make_unique<Body>(memory, device_id, when_full)), recorder_(body_->recorder()) {}

FileDump::~FileDump() = default;

void FileDump::log_to(LogHook hook, void* context) {
  body_->log_to(hook, context);
}

Status FileDump::set_provenance(const Provenance& provenance) {
  return body_->set_provenance(provenance);
}

Status FileDump::tell_clock(const ClockStep& step) {
  return body_->tell_clock(step);
}

void FileDump::on_crash(OnCrash on_crash) {
  body_->on_crash(on_crash);
}

void FileDump::follow_thread() {
  body_->follow_thread();
}

Status FileDump::start(const char* config_path, const ConfigContext& context) {
  return body_->start(config_path, context);
}

bool FileDump::active() const {
  return body_->active();
}

Status FileDump::load_model(ModelPlan& plan, const ModelDesc& model, std::span<std::uint8_t> bits) {
  return body_->load_model(plan, model, bits);
}

Status FileDump::write_constants(const ModelPlan& plan, std::span<const ConstantDesc> constants) {
  return body_->write_constants(plan, constants);
}

Status FileDump::unload_model(ModelPlan& plan) {
  return body_->unload_model(plan);
}

Status FileDump::describe(const char* path) {
  return body_->describe(path);
}

Status FileDump::stop() {
  return body_->stop();
}

void FileDump::trigger_history() {
  body_->trigger_history();
}

Status FileDump::fire(std::string_view name) {
  return body_->fire(name);
}

FiringCounts FileDump::firings() const {
  return body_->firings();
}

const std::string& FileDump::error() const {
  return body_->error();
}

std::uint32_t FileDump::overflows() const {
  return body_->overflows();
}

FirstBadOp FileDump::first_bad_op() const {
  return body_->first_bad_op();
}

std::uint32_t FileDump::overwrites() const {
  return body_->overwrites();
}

Overwrite FileDump::first_overwrite() const {
  return body_->first_overwrite();
}

DumpCounts FileDump::counts() const {
  return body_->counts();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
