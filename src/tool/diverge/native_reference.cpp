#include "src/tool/diverge/native_reference.hpp"

#include <algorithm>

#include "src/tool/diverge/native_ops.hpp"

namespace opdump::tool {
namespace {

template <class Take>
void for_each_op(Take take) {
  for (const auto ops : {unary_ops, binary_ops, reduction_ops, reshaping_ops, movement_ops, gathering_ops,
                         product_ops, window_ops, normalising_ops, quantising_ops}) {
    for (const NativeOp& op : ops()) take(op);
  }
}

const NativeOp* find_op(std::string_view type) {
  const NativeOp* found = nullptr;
  for_each_op([&](const NativeOp& op) {
    if (op.type == type) found = &op;
  });
  return found;
}

bool can_run(const ReplayOp& op, const NativeOp& native, std::string& reason) {
  if (op.opset < native.first_opset) {
    reason = op.type + " of opset " + std::to_string(op.opset) + " is not computed natively";
    return false;
  }
  for (const ReplayAttribute& attribute : op.attributes) {
    if (native.attributes.find(' ' + attribute.name + ' ') == std::string_view::npos) {
      reason = "attribute '" + attribute.name + "' is not known";
      return false;
    }
  }
  for (std::size_t i = 0; i < std::max(op.inputs.size(), native.inputs); ++i) {
    const bool given = i < op.inputs.size() && op.inputs[i];
    if (i < native.inputs && !given) reason = "input " + std::to_string(i) + " is missing";
    if (given && !is_whole(*op.inputs[i]))
      reason = "the bytes of input " + std::to_string(i) + " do not fill its shape";
  }
  if (op.wanted.empty()) reason = "it has no output";
  return reason.empty();
}

}  // namespace

bool NativeReference::run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) {
  reason.clear();
  const NativeOp* const native = op.domain.empty() ? find_op(op.type) : nullptr;
  if (native == nullptr) {
    reason = (op.domain.empty() ? "" : op.domain + '.') + op.type + " is not computed natively";
    return false;
  }
  outputs.assign(op.wanted.size(), {});
  if (!can_run(op, *native, reason)) return false;
  NativeCall call(op, outputs, reason);
  if (!native->compute(call)) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].name = op.wanted[i].first;
    if (call.is_wanted(i) && outputs[i].dtype == DType::undefined) {
      reason = "output " + std::to_string(i) + " is not computed";
      return false;
    }
  }
  return true;
}

bool NativeReference::knows_without_attributes(std::string_view type) {
  const NativeOp* const op = find_op(type);
  return op != nullptr && op->attributes.empty();
}

}  // namespace opdump::tool
