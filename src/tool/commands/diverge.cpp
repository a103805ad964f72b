#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/diverge/diverge_report.hpp"
#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {
namespace {

constexpr char kDivergeHelp[] =
    R"(opdump diverge - recomputes each operator of a dump from its own inputs, and names those that went wrong

usage: opdump diverge MINE --model MODEL.onnx|CARD

  --model FILE        what the operators are: the ONNX model that ran, with its weights, or a card, as 'opdump
                      describe' writes it
  --reference ENGINE  what recomputes: ort, ONNX Runtime 1.11 or later, whose library OPDUMP_ORT or the system's
                      search path names, which is the default; 'ort:/path/libonnxruntime.so' names it here
  --save-failing DIR  writes of each culprit a folder with an ONNX model of that one operator, its inputs, and
                      what the reference and what the device made of them: a report for who wrote the operator
  --step LIST         only these steps, as '0,3-5'
  --limits LIST       what is allowed in place of the limits below, as 'float16=0.002,accumulate=1e-5,steps=2'
  --json              everything as JSON on stdout

MINE is a directory with all that is below it, a file, or a flash image. Its records have to hold the outputs of
operators. Inputs that they lack ("dump_mode": "output") are taken from MODEL.onnx, if they are constants, and
from outputs of operators before, at the same step. An operator is found in the model by its name, or by that of
one of its outputs.

The error of an operator apart from all others tells whether it is to blame:

  culprit       its output is not what its inputs make, or a constant it got is not that of the model
  agrees        it is
  not replayed  it could not be recomputed; the reason is told

What an element may be off, with y the right one, K the number of terms of a sum, s their usual sum:

  exact         nothing: Relu, MaxPool, Concat, Gather, comparisons, integers
  rounded       float32: 2^-20 y   float16: 2^-10 y   bfloat16: 2^-8 y   float64: 2^-44 y   and a little near 0
  accumulated   also accumulate * sqrt(K) * s, with accumulate = 2^-20: Conv, MatMul, ReduceSum, Softmax, ...
                Sums are to be made in float32 or better; for sums in float16 say 'accumulate=0.0005'
  quantised     steps = 1 step, and no more than step_share = 0.001 of the elements at all: QLinearConv, ...

Each operator is recomputed alone, in one thread, without optimisations and in a process of its own. What ONNX Runtime
says of one that it does not compute is the reason. A card has no elements of constants, so those have to be in the
dump; operators of CANN and TensorFlow Lite are recomputed where they need neither attributes nor a layout.

  $ opdump diverge dump --model net.onnx
  first diverging operator: Conv "conv3" at net/0, culprit: output 0 is not what its inputs make: 64 of 512 elements
  beyond the limit, the worst 1.5 for 0.25 at [0,3,0,0], which may be 1e-05 off
  ...
  $ opdump diverge dump --model net.onnx --save-failing failing

exit status
  0  no operator that could be recomputed diverges
  1  one does; or nothing could be recomputed or read, stderr says what
  2  the command line is wrong, or ONNX Runtime is not there; stderr says what to install or to set
)";

/// Null: it has been said why.
std::unique_ptr<OpReference> open_reference(const std::string& engine) {
  std::string reason;
  std::unique_ptr<OpReference> reference = open_ort(engine.size() > 4 ? engine.substr(4) : "", reason);
  if (reference == nullptr) say("opdump diverge: " + reason);
  return reference;
}

bool is_engine(std::string_view engine) {
  return engine == "ort" || (engine.starts_with("ort:") && engine.size() > 4);
}

}  // namespace

int run_diverge(Words words) {
  std::optional<std::string> model_path, engine, failing, step_text, limit_text;
  bool json = false;
  const Option options[] = {{"--model", {}, nullptr, &model_path},     {"--reference", {}, nullptr, &engine},
                            {"--save-failing", {}, nullptr, &failing}, {"--step", {}, nullptr, &step_text},
                            {"--limits", {}, nullptr, &limit_text},    {"--json", {}, &json}};
  std::vector<std::string> paths;
  if (const std::optional<int> end = read_options({"diverge", kDivergeHelp, options}, words, paths))
    return *end;
  if (paths.empty()) return usage_error("diverge", "the dump, MINE, is missing");
  if (paths.size() > 1) return usage_error("diverge", "one dump at a time, not also '" + paths[1] + "'");
  if (model_path.value_or("").empty())
    return usage_error("diverge", "say what the operators are with '--model MODEL.onnx' or '--model CARD'");
  if (engine && !is_engine(*engine))
    return usage_error("diverge", "--reference takes ort or ort:PATH, not '" + *engine + "'");
  if (failing && failing->empty()) return usage_error("diverge", "'--save-failing' needs a directory");
  std::string error;
  ChosenSteps steps;
  OpLimits limits;
  if (step_text && !steps.read(*step_text, error)) return usage_error("diverge", error);
  if (limit_text && !read_op_limits(*limit_text, limits, error)) return usage_error("diverge", error);

  const std::unique_ptr<OpReference> reference = open_reference(engine.value_or("ort"));
  if (reference == nullptr) return kExitUsage;
  ReplayModel model;
  if (!model.load(*model_path)) return kExitFailed;
  bool good = true;
  const auto fail = [&good](const std::string& message) {
    say("opdump diverge: " + message);
    good = false;
  };
  const SearchReport search = {.error = fail,
                               .note = [](const std::string& message) { say("opdump diverge: " + message); }};
  catch_interrupts();
  ExtractedImage image;
  const DumpSide mine = read_side(image.open(paths[0], search, std::nullopt), search);
  if (mine.tensors.empty()) {
    fail(paths[0] + ": there is no tensor");
    return kExitFailed;
  }
  std::vector<std::string> errors;
  const std::vector<ReplayedOp> ops = replay_ops({.side = mine,
                                                  .model = model,
                                                  .reference = *reference,
                                                  .limits = limits,
                                                  .steps = steps,
                                                  .failing_directory = failing.value_or("")},
                                                 errors);
  if (interrupted()) die_of_interrupt();
  for (const std::string& message : errors) fail(message);
  const DivergeReport report = {mine, ops, reference->name()};
  if (ops.empty()) fail(paths[0] + ": it has no operator at steps " + step_text.value_or(""));
  if (json) {
    std::fputs(report.json().c_str(), stdout);
  } else if (!ops.empty()) {
    report.print();
  }
  bool any = false;
  for (const ReplayedOp& op : ops) any = any || op.verdict != ReplayVerdict::not_replayed;
  if (!any && !ops.empty()) fail("no operator could be recomputed");
  return good && report.first_diverging() == nullptr ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
