#pragma once
#include "platform/posix/file_dump.hpp"

#include "platform/posix/basic_file_dump.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

struct FileDump::Body final : BasicFileDump<HostMemory> {
  using BasicFileDump::BasicFileDump;
};

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::begin_step(ModelPlan& plan, std::uint64_t step) {
  const Status status = recorder_.begin_step(plan, step);
  bits_ = recorder_.bits();
  return status;
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::capture(std::size_t op, std::span<const TensorView> inputs,
                                                           std::span<const TensorView> outputs) {
  return recorder_.capture(op, inputs, outputs);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::refuse(std::size_t op, Status cause) {
  return recorder_.refuse(op, cause);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::capture_overflow(std::size_t op,
                                                                    std::span<const TensorView> inputs,
                                                                    std::span<const TensorView> outputs,
                                                                    const OverflowReport& report) {
  return recorder_.capture_overflow(op, inputs, outputs, report);
}

OPDUMP_FILE_DUMP_INLINE void FileDump::Recorder::begin_op(std::size_t op, std::span<const TensorView> inputs,
                                                          std::span<const TensorView> outputs,
                                                          const OpMemory* memory) {
  recorder_.begin_op(op, inputs, outputs, memory);
}

OPDUMP_FILE_DUMP_INLINE void FileDump::Recorder::end_op() {
  recorder_.end_op();
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::capture_failure() {
  return recorder_.capture_failure();
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::end_step() {
  bits_ = nullptr;
  return recorder_.end_step();
}

OPDUMP_FILE_DUMP_INLINE bool FileDump::Recorder::wants_single_ops() const {
  return recorder_.wants_single_ops();
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::capture_single_op(const OpDesc& op,
                                                                     std::span<const TensorView> inputs,
                                                                     std::span<const TensorView> outputs) {
  return recorder_.capture_single_op(op, inputs, outputs);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::Recorder::refuse_single_op(const OpDesc& op, Status cause) {
  return recorder_.refuse_single_op(op, cause);
}

OPDUMP_FILE_DUMP_INLINE const ModelPlan* FileDump::Recorder::open_plan() const {
  return recorder_.open_plan();
}

OPDUMP_FILE_DUMP_INLINE FileDump::FileDump(HostMemory& memory, std::uint32_t device_id, WhenFull when_full)
    : body_(std::make_unique<Body>(memory, device_id, when_full)), recorder_(body_->recorder()) {}

OPDUMP_FILE_DUMP_INLINE FileDump::~FileDump() = default;

OPDUMP_FILE_DUMP_INLINE void FileDump::log_to(LogHook hook, void* context) {
  body_->log_to(hook, context);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::set_provenance(const Provenance& provenance) {
  return body_->set_provenance(provenance);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::tell_clock(const ClockStep& step) {
  return body_->tell_clock(step);
}

OPDUMP_FILE_DUMP_INLINE void FileDump::on_crash(OnCrash on_crash) {
  body_->on_crash(on_crash);
}

OPDUMP_FILE_DUMP_INLINE void FileDump::follow_thread() {
  body_->follow_thread();
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::start(const char* config_path, const ConfigContext& context) {
  return body_->start(config_path, context);
}

OPDUMP_FILE_DUMP_INLINE bool FileDump::active() const {
  return body_->active();
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::load_model(ModelPlan& plan, const ModelDesc& model,
                                                    std::span<std::uint8_t> bits) {
  return body_->load_model(plan, model, bits);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::write_constants(const ModelPlan& plan,
                                                         std::span<const ConstantDesc> constants) {
  return body_->write_constants(plan, constants);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::unload_model(ModelPlan& plan) {
  return body_->unload_model(plan);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::describe(const char* path) {
  return body_->describe(path);
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::stop() {
  return body_->stop();
}

OPDUMP_FILE_DUMP_INLINE void FileDump::trigger_history() {
  body_->trigger_history();
}

OPDUMP_FILE_DUMP_INLINE Status FileDump::fire(std::string_view name) {
  return body_->fire(name);
}

OPDUMP_FILE_DUMP_INLINE FiringCounts FileDump::firings() const {
  return body_->firings();
}

OPDUMP_FILE_DUMP_INLINE const std::string& FileDump::error() const {
  return body_->error();
}

OPDUMP_FILE_DUMP_INLINE std::uint32_t FileDump::overflows() const {
  return body_->overflows();
}

OPDUMP_FILE_DUMP_INLINE FirstBadOp FileDump::first_bad_op() const {
  return body_->first_bad_op();
}

OPDUMP_FILE_DUMP_INLINE std::uint32_t FileDump::overwrites() const {
  return body_->overwrites();
}

OPDUMP_FILE_DUMP_INLINE Overwrite FileDump::first_overwrite() const {
  return body_->first_overwrite();
}

OPDUMP_FILE_DUMP_INLINE DumpCounts FileDump::counts() const {
  return body_->counts();
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
