#include "src/tool/read/run/run_fault_reader.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "opdump/impl/stats/non_finite.hpp"

namespace opdump::tool {

using config::JsonNode;
using config::KeyPath;

bool RunFaultReader::read(const JsonNode& node, const KeyPath& path, RunFault& fault) {
  constexpr std::array<std::string_view, 8> kKeys = {"step",   "model",  "op",     "kind",
                                                     "status", "victim", "offset", "bytes"};
  constexpr std::array<std::string_view, 4> kKinds = {"overflow", "nan", "exception", "trample"};
  constexpr std::uint64_t kDefaultStatus = 0x20;
  std::size_t kind = 0;
  fault.status = kDefaultStatus;
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_number(node, path, "step", fault.step) ||
      !fields_.read_word(node, path, "kind", kKinds, kind) ||
      !fields_.read_number(node, path, "status", fault.status) ||
      !fields_.read_number(node, path, "offset", fault.offset) ||
      !fields_.read_number(node, path, "bytes", fault.bytes))
    return false;
  if (node.member("kind") == nullptr)
    return fields_.missing(node, path.key("kind"), "one of " + config::listed(kKinds));
  fault.kind = static_cast<RunFault::Kind>(kind);
  return check_step(node, path, fault) && find_model(node, path, fault.model) &&
         find_op(node, path, "op", run_.models[fault.model], fault.op) &&
         (fault.kind != RunFault::Kind::nan || check_floats(node, path, fault)) &&
         (fault.kind != RunFault::Kind::trample || check_victim(node, path, fault));
}

bool RunFaultReader::check_step(const JsonNode& node, const KeyPath& path, const RunFault& fault) {
  const JsonNode* const step = node.member("step");
  if (step == nullptr || fault.step < run_.steps) return true;
  const std::string steps = ", as \"steps\" is " + std::to_string(run_.steps);
  return fields_.refuse(
      *step, path.key("step"),
      (run_.steps == 0 ? "no step is run" : "the last step is " + std::to_string(run_.steps - 1)) + steps);
}

bool RunFaultReader::find_model(const JsonNode& node, const KeyPath& path, std::size_t& index) {
  std::string_view name;
  if (!fields_.read_text(node, path, "model", name)) return false;
  if (run_.models.empty()) return fields_.refuse(node, path, "there is no model to go wrong");
  const auto found = std::find_if(run_.models.begin(), run_.models.end(),
                                  [&](const RunModel& model) { return name.empty() || model.name == name; });
  if (found == run_.models.end())
    return fields_.refuse(*node.member("model"), path.key("model"),
                          "no model is called " + config::in_quotes(name));
  index = static_cast<std::size_t>(found - run_.models.begin());
  return true;
}

bool RunFaultReader::find_op(const JsonNode& node, const KeyPath& path, std::string_view key,
                             const RunModel& model, std::size_t& index) {
  std::string_view name;
  if (node.member(key) == nullptr) return fields_.missing(node, path.key(key), "the name of an operator");
  if (!fields_.read_text(node, path, key, name)) return false;
  const auto found =
      std::find_if(model.ops.begin(), model.ops.end(), [&](const RunOp& op) { return op.desc.name == name; });
  if (found == model.ops.end())
    return fields_.refuse(
        *node.member(key), path.key(key),
        "no operator of " + config::in_quotes(model.name) + " is called " + config::in_quotes(name));
  index = static_cast<std::size_t>(found - model.ops.begin());
  return true;
}

bool RunFaultReader::check_floats(const JsonNode& node, const KeyPath& path, const RunFault& fault) {
  for (const RunTensor& output : run_.models[fault.model].ops[fault.op].outputs) {
    if (can_be_non_finite(output.dtype) && output.bytes != 0) return true;
  }
  return fields_.refuse(*node.member("op"), path.key("op"), "has no output of a floating-point dtype");
}

bool RunFaultReader::check_victim(const JsonNode& node, const KeyPath& path, RunFault& fault) {
  const RunModel& model = run_.models[fault.model];
  if (!find_op(node, path, "victim", model, fault.victim)) return false;
  const std::vector<RunTensor>& outputs = model.ops[fault.victim].outputs;
  const std::uint64_t bytes = outputs.empty() ? 0 : outputs[0].bytes;
  if (fault.bytes != 0 && fault.offset < bytes && fault.bytes <= bytes - fault.offset) return true;
  return fields_.refuse(*node.member("victim"), path.key("victim"),
                        "its first output has " + std::to_string(bytes) +
                            " bytes, and \"offset\" and \"bytes\" have to lie within");
}

}  // namespace opdump::tool
