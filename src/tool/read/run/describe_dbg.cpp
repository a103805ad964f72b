#include "src/tool/read/run/describe_dbg.hpp"

#include <string>
#include <vector>

#include "platform/posix/run_description.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/read/run/described_models.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {
namespace {

std::string summary_of(const ModelDesc& model) {
  std::size_t tensors = 0;
  for (const CapturedTensors& op : model.tensors) tensors += op.size();
  return "model \"" + printable(model.name) + "\": " + count_text(model.ops.size(), "operator") + ", " +
         count_text(tensors, "tensor");
}

}  // namespace

int describe_dbg(const std::string& path, const std::string& output) {
  RunFile run;
  if (!load_or_say(path, run)) return kExitFailed;
  const DescribedModels described(run.models);
  std::vector<const ModelDesc*> models;
  for (const ModelDesc& model : described.all()) models.push_back(&model);
  if (const Status status = posix::describe_models(output.c_str(), models, run.device_id);
      status != Status::ok) {
    say(output + ": " +
        (status == Status::invalid_argument ? "a name of the model is not UTF-8, which JSON cannot hold"
                                            : std::string(to_string(status))));
    return kExitFailed;
  }
  for (const ModelDesc& model : described.all()) print_line(printable(output) + ": " + summary_of(model));
  return kExitOk;
}

}  // namespace opdump::tool
