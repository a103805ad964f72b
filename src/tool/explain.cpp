#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "src/config/refusal.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump explain - says what a key of a config does

usage: opdump explain [KEY]

KEY is the name of a key, without the objects it stands in. Without KEY the keys are listed.

  $ opdump explain dump_step
  dump_step: the steps to dump
    in       "dump" of CANN's acl.json
    values   "5", "3-9", joined with |; at most 100 items; both ends are included
    default  every step

exit status
  0  told
  1  there is no such key; stderr names the closest
  2  the command line is wrong
)";

struct Key {
  std::string_view name;
  std::string_view what;
  std::string_view in;
  std::string_view values;
  std::string_view otherwise;
};

constexpr std::string_view kDump = "\"dump\" of CANN's acl.json";
constexpr std::string_view kItem = "items of \"dump_list\" of CANN's acl.json";
constexpr std::string_view kOwn = "\"opdump\" beside any dialect's own object";

constexpr Key kKeys[] = {
    {"dump_path", "the directory to dump to, which must exist", kDump,
     "1 to 512 bytes; of the form a.b.c.d:path the path is taken, below the current directory",
     "none: the key must be there, but for exception dump"},
    {"dump_mode", "which tensors of an operator to dump", kDump, "\"input\", \"output\", \"all\"",
     "\"output\""},
    {"dump_level", "operators as a whole, their kernels, or both", kDump, "\"op\", \"kernel\", \"all\"",
     "\"all\""},
    {"dump_op_switch", "dump operators that run outside a model", kDump, "\"on\", \"off\"", "\"off\""},
    {"dump_step", "the steps to dump", kDump,
     "\"5\", \"3-9\", joined with |; at most 100 items; both ends are included", "every step"},
    {"dump_data", "tensors or their statistics; statistics are not acted on yet", kDump,
     "\"tensor\", \"stats\"", "\"tensor\""},
    {"dump_stats", "which statistics to dump; not acted on yet", kDump,
     "a list of \"Max\", \"Min\", \"Avg\", \"Nan\", \"Negative Inf\", \"Positive Inf\", \"L2norm\"; only "
     "with \"dump_data\": \"stats\"",
     "all but \"L2norm\""},
    {"dump_debug", "dump the operators that overflow, instead of those listed; not acted on yet", kDump,
     "\"on\", \"off\"; not \"on\" with dump_op_switch or dump_scene", "\"off\""},
    {"dump_scene", "dump on device exceptions, or watch memory; not acted on yet", kDump,
     "\"lite_exception\" and \"aic_err_brief_dump\" (the same), \"aic_err_norm_dump\", "
     "\"aic_err_detail_dump\", \"watcher\"",
     "none"},
    {"dump_kernel_data", "what kernels print or assert; not acted on yet", kDump,
     "\"all\", \"printf\", \"tensor\", \"assert\", \"timestamp\", joined with commas", "not said"},
    {"dump_list", "the models and operators to dump", kDump,
     "a list of objects; an empty object means every operator of every model", "nothing of any model"},
    {"model_name", "the model an item is for: the name of its file, or of its graph", kItem,
     "a name, not empty", "every model"},
    {"layer", "the operators to dump, by their own names or those of operators fused into them", kItem,
     "a list of names, not empty; letter by letter, no wildcards",
     "every operator, if there is no opname_range either"},
    {"opname_range", "operators to dump besides, from one to another in the order they run", kItem,
     "a list of {\"begin\": NAME, \"end\": NAME}, both included; only with \"dump_level\": \"op\" and a "
     "model_name",
     "none"},
    {"optype_blacklist", "tensors to leave out, by type of operator; not acted on yet", kItem,
     "a list of at most 100 {\"name\": TYPE, \"pos\": [\"input0\", \"output1\"]}; only with "
     "\"dump_level\": \"op\"",
     "none"},
    {"opname_blacklist", "tensors to leave out, by name of operator; not acted on yet", kItem,
     "a list of at most 100 {\"name\": NAME, \"pos\": [\"input0\", \"output1\"]}; only with "
     "\"dump_level\": \"op\"",
     "none"},
    {"watcher_nodes", "operators whose outputs to dump again after each other one; not acted on yet", kItem,
     "a list of names, not empty; only with \"dump_scene\": \"watcher\", and then needed", "none"},
    {"ring_bytes", "size of the ring between capture and files", kOwn, "a whole number from 64 to 2147483648",
     "up to the program"},
    {"when_full", "what happens when the ring is full", kOwn,
     "\"drop\": the record is lost; \"block\": wait for the writer; \"inline\": write in the capturing "
     "thread; \"degrade\": keep statistics",
     "up to the program"},
    {"block_limit_ms", "longest wait without progress, with \"when_full\": \"block\"", kOwn,
     "a whole number from 0 to 2147483647, in milliseconds", "up to the program"},
    {"file_format", "the format of the files", kOwn,
     "\"nano\" (records), \"protobuf\" (CANN's DumpData), \"npy\" (a NumPy file per tensor)", "\"nano\""},
    {"layout", "the directories of the files, and their names; only \"cann\" is acted on yet", kOwn,
     "\"cann\", \"mindspore_kernel\" (O0 and O1), \"mindspore_graph\" (O2), \"mindspore_cpu\"", "\"cann\""},
    {"journal", "what is kept to prove that the dump is complete", kOwn,
     "\"none\", \"gaps\" (what was lost), \"records\" (every file)", "up to the program"},
};

void print(const Key& key) {
  const auto line = [](const char* head, std::string_view text) {
    std::printf("  %-8s %.*s\n", head, static_cast<int>(text.size()), text.data());
  };
  std::printf("%.*s: %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
              static_cast<int>(key.what.size()), key.what.data());
  line("in", key.in);
  line("values", key.values);
  line("default", key.otherwise);
}

}  // namespace

int run_explain(Words words) {
  std::vector<std::string> names;
  if (const std::optional<int> exit_code = read_options({"explain", kHelp, {}}, words, names))
    return *exit_code;
  if (names.size() > 1) return usage_error("explain", "one KEY at a time, not also '" + names[1] + "'");
  if (names.empty()) {
    for (const Key& key : kKeys)
      std::printf("%-17s %.*s\n", key.name.data(), static_cast<int>(key.what.size()), key.what.data());
    return kExitOk;
  }
  std::vector<std::string_view> known;
  for (const Key& key : kKeys) {
    known.push_back(key.name);
    if (key.name != names[0]) continue;
    print(key);
    return kExitOk;
  }
  std::string message = "no key " + config::quoted(names[0]);
  if (const std::string_view near = config::closest(names[0], known); !near.empty())
    message += ", did you mean " + config::quoted(near) + "?";
  std::fprintf(stderr, "opdump explain: %s; 'opdump explain' lists them\n", message.c_str());
  return kExitFailed;
}

}  // namespace opdump::tool
