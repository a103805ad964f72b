#include <optional>
#include <string>
#include <vector>

#include "platform/ascend/nano/dbg_file.hpp"
#include "platform/posix/run_description.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/read/card/model_file.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

using namespace cards;

namespace {

constexpr char kDescribeHelp[] =
    R"(opdump describe - writes what a model's file says of its operators and tensors

usage: opdump describe MODEL -o CARD.json [--name NAME] [--id N] [--dim NAME=N]
       opdump describe MODEL.dbg -o RUN.json

  -o CARD.json   the file to write
  --name NAME    what the model is called in dumps; otherwise as its file, without the ending, or as CANN's graph
  --id N         the model's number in dumps; otherwise 0
  --dim NAME=N   the extent of a dim that the model gives a name, such as "batch"; may be given several times

MODEL is an ONNX file, a model of TensorFlow Lite, or a graph that CANN has written with DUMP_GE_GRAPH=1
(ge_proto_*_Build.txt: no tasks, and no attributes).
The card has its operators in the order in which they run, with their attributes, and their tensors: names,
dtypes, shapes as far as the file tells them (-1 is a dim that is known only when the model runs), which of them
are constant, and how integers stand for real numbers.

'--model' of every command, and 'opdump replay', take the card or MODEL itself, a RUN.json, or a dump: the cards
that lie in it.

MODEL.dbg is the file that CANN's converter writes beside a model for its nano products. RUN.json has the names,
types and tasks of its operators, the names of those that were fused into them, and their tensors, filled with
zeros. RUN.json is for looking into and for changing. The model is
called as the file is, and in its graph as the file says. A tensor whose bytes do not hold its elements, or whose
dtype is not known, is described as bytes, with its dims as the original shape.

  $ opdump describe net.tflite -o card.json
  card.json: model "net": 5 operators, 20 tensors, 16 of them quantised
  left out: scales of 2 tensors, in another file
  $ opdump describe net.dbg -o run.json
  run.json: model "net": 4 operators, 10 tensors

exit status
  0  written
  1  MODEL is damaged or not readable, or CARD.json cannot be written; stderr says why
  2  the command line is wrong
)";

bool read_dim(std::string_view text, NamedDims& dims) {
  const std::size_t sign = text.rfind('=');
  if (sign == std::string_view::npos || sign == 0) return false;
  const std::optional<std::uint64_t> extent = parse_decimal(text.substr(sign + 1));
  if (!extent || *extent > INT64_MAX) return false;
  dims.emplace_back(text.substr(0, sign), *extent);
  return true;
}

std::string counts_text(const std::string& name, std::size_t ops, std::size_t tensors) {
  return "model \"" + printable(name) + "\": " + count_text(ops, "operator") + ", " +
         count_text(tensors, "tensor");
}

std::string card_summary(const ModelCard& card) {
  std::size_t quantised = 0;
  for (const CardTensor& tensor : card.tensors) quantised += tensor.quant.scheme == QuantScheme::none ? 0 : 1;
  std::string text = counts_text(card.name, card.ops.size(), card.tensors.size());
  if (quantised != 0) text += ", " + std::to_string(quantised) + " of them quantised";
  return text;
}

/// Writes to `output` what the `.dbg` file `path` says of its model, as a RUN.json; returns the exit status.
int describe_dbg(const std::string& path, const std::string& output) {
  RunFile run;
  if (!load_or_say(path, run)) return kExitFailed;
  const DescribedModels described(run.models);
  const ModelDesc& model = described.all()[0];
  const ModelDesc* const models[] = {&model};
  if (const Status status = posix::describe_models(output.c_str(), models, run.device_id);
      status != Status::ok) {
    say(output + ": " +
        (status == Status::invalid_argument ? "a name of the model is not UTF-8, which JSON cannot hold"
                                            : std::string(to_string(status))));
    return kExitFailed;
  }
  std::size_t tensors = 0;
  for (const CapturedTensors& op : model.tensors) tensors += op.size();
  print_line(printable(output) + ": " + counts_text(std::string(model.name), model.ops.size(), tensors));
  return kExitOk;
}

}  // namespace

int run_describe(Words words) {
  std::optional<std::string> output;
  std::optional<std::string> name;
  std::optional<std::string> id;
  std::vector<std::string> dim_texts;
  const Option options[] = {{"-o", "--output", nullptr, &output},
                            {"--name", {}, nullptr, &name},
                            {"--id", {}, nullptr, &id},
                            {"--dim", {}, nullptr, nullptr, &dim_texts}};
  std::vector<std::string> files;
  if (const std::optional<int> exit_code = read_options({"describe", kDescribeHelp, options}, words, files))
    return *exit_code;
  if (files.empty()) return usage_error("describe", "a MODEL is missing");
  if (files.size() > 1) return usage_error("describe", "one MODEL at a time, not also '" + files[1] + "'");
  if (!output || output->empty()) return usage_error("describe", "name the file to write with -o CARD.json");
  NamedDims dims;
  for (const std::string& text : dim_texts) {
    if (!read_dim(text, dims)) return usage_error("describe", "--dim takes NAME=N, not '" + text + "'");
  }
  const std::optional<std::uint64_t> number = id ? parse_decimal(*id) : 0;
  if (!number || *number > UINT32_MAX)
    return usage_error("describe", "--id takes a whole number up to 4294967295, not '" + *id + "'");

  MappedFile file;
  if (!file.open(files[0])) {
    say(file.error());
    return kExitFailed;
  }
  if (nano::DbgFile::is_dbg(file.bytes())) {
    if (name || id || !dims.empty())
      return usage_error("describe", "--name, --id and --dim are not for a .dbg file");
    return describe_dbg(files[0], *output);
  }
  ModelCard card;
  card.id = static_cast<std::uint32_t>(*number);
  std::string text, reason;
  if (!read_model_file(file, files[0], dims, name, card, text, reason)) {
    say(files[0] + ": " + reason);
    return kExitFailed;
  }
  if (!write_file(*output, as_bytes(text), reason)) {
    say(reason);
    return kExitFailed;
  }
  print_line(*output + ": " + card_summary(card));
  for (const std::string& left_out : card.left_out) print_line("left out: " + printable(left_out));
  return kExitOk;
}

}  // namespace opdump::tool
