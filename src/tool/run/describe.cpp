#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "platform/posix/run_description.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/run/described_models.hpp"
#include "src/tool/run/run_file.hpp"

namespace opdump::tool {
namespace {

constexpr char kDescribeHelp[] =
    R"(opdump describe - writes what a model's file says of its operators, for check, replay and verify

usage: opdump describe MODEL.dbg -o RUN.json

  -o RUN.json       the file to write

MODEL.dbg is the file that CANN's converter writes beside a model for its nano products. RUN.json has the names,
types and tasks of its operators, the names of those that were fused into them, and their tensors, filled with
zeros: what 'opdump check --model', 'replay' and 'verify --model' read. These commands also read MODEL.dbg itself;
RUN.json is for looking into and for changing. The model is called as the file is, and in its graph as the file
says.

A tensor whose bytes do not hold its elements, or whose dtype is not known, is described as bytes, with its dims
as the original shape.

  $ opdump describe net.dbg -o run.json
  run.json: model "net": 4 operators, 10 tensors

exit status
  0  written
  1  MODEL.dbg is damaged or not readable, or RUN.json cannot be written; stderr says where and why
  2  the command line is wrong
)";

std::string summary_of(const ModelDesc& model) {
  std::size_t tensors = 0;
  for (const CapturedTensors& op : model.tensors) tensors += op.size();
  return "model \"" + printable(model.name) + "\": " + count_text(model.ops.size(), "operator") + ", " +
         count_text(tensors, "tensor");
}

}  // namespace

int run_describe(Words words) {
  std::optional<std::string> output;
  const Option options[] = {{"-o", "--output", nullptr, &output}};
  std::vector<std::string> files;
  if (const std::optional<int> exit_code = read_options({"describe", kDescribeHelp, options}, words, files))
    return *exit_code;
  if (files.empty()) return usage_error("describe", "a MODEL.dbg is missing");
  if (files.size() > 1)
    return usage_error("describe", "one MODEL.dbg at a time, not also '" + files[1] + "'");
  if (!output || output->empty()) return usage_error("describe", "name the file to write with -o RUN.json");

  RunFile run;
  ConfigError error;
  const bool read = run.load(files[0], error);
  if (!run.is_dbg() && error.fault != ConfigFault::unreadable) {
    say(files[0] + ": no .dbg file, as it lacks their magic number");
    return kExitFailed;
  }
  if (!read) {
    print_refusal(files[0], error, run.text());
    return kExitFailed;
  }
  const DescribedModels described(run.models);
  std::vector<const ModelDesc*> models;
  for (const ModelDesc& model : described.all()) models.push_back(&model);
  if (const Status status = posix::describe_models(output->c_str(), models, run.device_id);
      status != Status::ok) {
    say(*output + ": " +
        (status == Status::invalid_argument ? "a name of the model is not UTF-8, which JSON cannot hold"
                                            : std::string(to_string(status))));
    return kExitFailed;
  }
  for (const ModelDesc& model : described.all()) print_line(printable(*output) + ": " + summary_of(model));
  return kExitOk;
}

}  // namespace opdump::tool
