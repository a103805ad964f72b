#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/refusal.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/config/checked_config.hpp"

namespace opdump::tool {

namespace {

/// The description of a config's key. Several dialects may have a key of the same name.
struct ConfigKey {
  std::string_view name;
  std::string_view what;
  std::string_view in;  ///< the object and the dialect
  std::string_view values;
  std::string_view otherwise;
};

constexpr std::string_view kDump = "\"dump\" of CANN's acl.json";
constexpr std::string_view kItem = "items of \"dump_list\" of CANN's acl.json";
constexpr std::string_view kOwn = "\"opdump\" beside any dialect's own object";

constexpr std::string_view kCommon = "\"common_dump_settings\" of MindSpore's data_dump.json";
constexpr std::string_view kE2e = "\"e2e_dump_settings\" of MindSpore's data_dump.json";
constexpr std::string_view kLite = "\"common_dump_settings\" of MindSpore Lite's benchmark tool";
constexpr std::string_view kTorchair = "\"dump_config\" of torchair";

/// All keys that are read, grouped by object.
constexpr ConfigKey kKeys[] = {
    {"dump_path", "the directory to dump to, which must exist, or raw storage (not in the ACL calls)", kDump,
     "1 to 512 bytes; relative to the directory that the process runs in when the config comes into force, "
     "'~' and '$' are not expanded; of the form a.b.c.d:path the path is taken, below the current directory; "
     "raw storage is /dev/mtdN, /dev/ubiX_Y, a block device or a file in place of one, erased or with a "
     "flash log in it",
     "none: the key must be there, but for exception dump"},
    {"dump_mode", "which tensors of an operator to dump", kDump, "\"input\", \"output\", \"all\"",
     "\"output\""},
    {"dump_level", "operators as a whole, their kernels, or both", kDump, "\"op\", \"kernel\", \"all\"",
     "\"all\""},
    {"dump_op_switch", "dump operators that run outside a model", kDump, "\"on\", \"off\"", "\"off\""},
    {"dump_step", "the steps to dump", kDump,
     "\"5\", \"3-9\", joined with |; at most 100 items; both ends are included", "every step"},
    {"dump_data", "tensors or their statistics", kDump, "\"tensor\", \"stats\"", "\"tensor\""},
    {"dump_stats", "which statistics to dump", kDump,
     "a list of \"Max\", \"Min\", \"Avg\", \"Nan\", \"Negative Inf\", \"Positive Inf\", \"L2norm\"; only "
     "with \"dump_data\": \"stats\"",
     "all but \"L2norm\""},
    {"dump_debug",
     "dump the operators that overflow, with what the device says of it, instead of those listed", kDump,
     "\"on\", \"off\"; not \"on\" with dump_op_switch or dump_scene", "\"off\""},
    {"dump_scene", "dump the operator that fails, instead of others, or find who overwrites memory (watcher)",
     kDump,
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
    {"optype_blacklist", "tensors to leave out, by type of operator", kItem,
     "a list of at most 100 {\"name\": TYPE, \"pos\": [\"input0\", \"output1\"]}; only with \"dump_level\": "
     "\"op\"",
     "none"},
    {"opname_blacklist", "tensors to leave out, by name of operator", kItem,
     "a list of at most 100 {\"name\": NAME, \"pos\": [\"input0\", \"output1\"]}; only with \"dump_level\": "
     "\"op\"",
     "none"},
    {"watcher_nodes", "operators whose outputs to dump again after each of \"layer\" has run", kItem,
     "a list of names, not empty; only with \"dump_scene\": \"watcher\", and then needed", "none"},
    {"dump_mode", "which operators to dump", kCommon,
     "0: every one, 1: those of kernels, 2: those that the program marks (set_dump, Ascend only)",
     "none: it must be there"},
    {"path", "the directory to dump to, which is made", kCommon,
     "an absolute path of letters, digits, -, _ and /", "$MS_DIAGNOSTIC_DATA_PATH/debug_dump"},
    {"net_name", "the network, and the directory for it", kCommon, "letters, digits, - and _",
     "none: it must be there"},
    {"iteration", "the steps to dump", kCommon, "\"all\", or \"5\" and \"3-9\", joined with |; no blanks",
     "none: it must be there"},
    {"input_output", "which tensors of an operator to dump", kCommon,
     "0: inputs and outputs, 1: inputs, 2: outputs", "none: it must be there"},
    {"kernels", "the operators to dump, with \"dump_mode\": 1", kCommon,
     "a list of full names (with a / or -op), parts of types (\"conv\"), and \"name-regex(...)\", which "
     "must match the whole name; an empty list means every operator",
     "none: it must be there"},
    {"support_device", "the devices that dump; not looked at on CPU", kCommon, "a list of device ids",
     "none: it must be there"},
    {"op_debug_mode", "dump operators that overflow, or the one that fails", kCommon,
     "0: neither, 1, 2 and 3: overflow, 4: exception", "0; it must be there without \"e2e_dump_settings\""},
    {"overflow_number", "how many overflowing operators to dump, the first in time", kCommon,
     "a whole number; only with \"op_debug_mode\": 3", "0: all"},
    {"saved_data", "tensors, their statistics, or both", kCommon,
     "\"tensor\", \"statistic\", \"full\"; on O2 the last two need \"file_format\": \"npy\"", "\"tensor\""},
    {"statistic_category", "the columns of statistic.csv, in this order", kCommon,
     "a list of \"max\", \"min\", \"avg\", \"l2norm\" and, on the host only, \"count\", \"negative zero "
     "count\", \"positive zero count\", \"nan count\", \"negative inf count\", \"positive inf count\", "
     "\"zero count\", \"md5\", \"hash\", \"hash:sha1\", \"hash:md5\"",
     "[\"max\", \"min\", \"l2norm\"]"},
    {"file_format",
     "the format of the files, on O2; \"npy\" has tensors of 4 dims in the framework as NCHW, without the "
     "device's padding, and others as the device has them, with the name of its format",
     kCommon, "\"bin\", \"npy\"", "\"bin\"; \"npy\" everywhere but on O2"},
    {"initial_iteration", "the number of the first step", kCommon, "a whole number", "0"},
    {"enable",
     "write while the operator runs; here it only lets through what goes with it, and \"when_full\" says "
     "when files are written",
     kE2e, "true, false", "false"},
    {"trans_flag",
     "dump tensors in the format of the framework, and name it DefaultFormat; one whose original shape the "
     "program does not tell, or does not fit, keeps the device's format and its name",
     kE2e, "true, false", "true"},
    {"stat_calc_mode",
     "who computes statistics; the device only where the program's device memory can, as that for OpenCL "
     "and not that for Ascend",
     kE2e, "\"host\", \"device\"; the latter only with \"saved_data\": \"statistic\"", "\"host\""},
    {"device_stat_precision_mode", "in what the device computes statistics; \"low\" has no effect here", kE2e,
     "\"high\": float32, \"low\": the tensor's dtype", "\"high\""},
    {"sample_mode", "keep the first elements of a tensor only", kE2e, "0: no, 1: yes", "0"},
    {"sample_num", "how many elements, with \"sample_mode\": 1", kE2e, "a whole number from 1 on", "100"},
    {"save_kernel_args", "dump the arguments of operators too", kE2e,
     "true, false; only with \"enable\": true", "false"},
    {"dump_mode", "which operators to dump", kLite,
     "0: every one, 1: those of kernels; other numbers count as 1", "none: it must be there"},
    {"path", "the directory to dump to, which is made", kLite, "a path of fewer than 4096 bytes",
     "none: it must be there"},
    {"net_name", "the network, and the directory for it", kLite, "a text", "\"default\""},
    {"input_output", "which tensors of an operator to dump", kLite,
     "0: inputs and outputs, 1: inputs, 2: outputs; other numbers: none", "0"},
    {"kernels", "the operators to dump, with \"dump_mode\": 1", kLite,
     "a list of whole names of nodes; with \"dump_mode\": 0 an empty one; MindSpore Lite's own tool ends "
     "without it",
     "[]"},
    {"enable_dump", "whether to dump at all", kTorchair, "true, false", "false"},
    {"dump_path", "the directory to dump to, which must exist; files lie in worldsizeN_global_rankR below it",
     kTorchair, "a path", "\"./\""},
    {"dump_mode", "which tensors of an operator to dump", kTorchair, "\"input\", \"output\", \"all\"",
     "\"all\""},
    {"dump_step", "the steps to dump", kTorchair,
     "\"5\", \"3-9\", joined with |, and one | at the end if you like", "every step"},
    {"dump_layer",
     "the operators to dump, by name; where outputs are wanted and the model tells who feeds whom, also the "
     "Data operators that feed them",
     kTorchair, "names with blanks between, of letters, digits and _ \" / \\ .", "every operator"},
    {"dump_data", "tensors or their statistics", kTorchair, "\"tensor\", \"stats\"", "\"tensor\""},
    {"quant_dumpable",
     "dump what is before quantization; has no effect here: ge.quant_dumpable counts when the model is compiled",
     kTorchair, "true, false", "false"},
    {"dump_config_path", "an acl.json that says it all instead; does not go with enable_dump", kTorchair,
     "the path of a file that ends with .json", "none"},
    {"data_dump_stage", "has no effect: it is for aclgraph modes", kTorchair, "\"original\", \"optimized\"",
     "\"optimized\""},
    {"ring_bytes", "size of the ring between capture and files", kOwn, "a whole number from 64 to 2147483648",
     "up to the program"},
    {"when_full", "what happens when the ring is full", kOwn,
     "\"drop\": the record is lost; \"block\": wait for the writer; \"inline\": write in the capturing "
     "thread; \"degrade\": keep statistics",
     "up to the program"},
    {"block_limit_ms", "longest wait without progress, with \"when_full\": \"block\"", kOwn,
     "a whole number from 0 to 2147483647, in milliseconds", "up to the program"},
    {"file_format", "the format of the files", kOwn,
     "\"nano\" (records), \"protobuf\" (CANN's DumpData), \"npy\" (a NumPy file per tensor), \"bin\" (the "
     "bytes of a tensor; with the layout \"mindspore_lite\", and only there)",
     "\"nano\""},
    {"digest",
     "write a digest of each tensor, 4, 8 or 16 bytes, and not the tensor; 'opdump diff' tells runs apart "
     "by it",
     kOwn,
     "\"crc32c\" (4 bytes), \"xxh3\" (8 bytes), \"md5\" (16 bytes); not with statistics, history_steps, "
     "file_format, or the dump of overflows and failures",
     "none: tensors are written"},
    {"layout", "the directories of the files, and their names", kOwn,
     "\"cann\", \"mindspore_kernel\" (O0 and O1), \"mindspore_graph\" (O2), \"mindspore_cpu\" (arrays are "
     "named ...float32.npy, as MindSpore does on GPU), \"mindspore_cpu_product\" (...Float32.npy, as on "
     "CPU), \"mindspore_cpu_document\" (without the dtype, as in its document), \"mindspore_lite\" (of "
     "MindSpore Lite's benchmark tool)",
     "\"cann\""},
    {"statistic_numbers", "how CANN's statistics files print numbers", kOwn,
     "\"server\" (six digits), \"nano\" (digits behind the point: 16, of float32 7, of float16 3)",
     "\"server\""},
    {"trailing_comma", "whether rows of MindSpore's statistic.csv end with a comma, as MindSpore's do", kOwn,
     "\"on\", \"off\"", "\"on\""},
    {"journal", "what is kept to prove that the dump is complete", kOwn,
     "\"none\", \"gaps\" (what was lost), \"records\" (every file)", "up to the program"},
    {"model_card", "whether a program that attaches opdump writes the card of each model beside the journal",
     kOwn, "\"on\", \"off\"; firmware with a compiled config writes none", "\"on\""},
    {"on_crash", "when a FileDump or attach writes what its rings hold as a signal ends the process", kOwn,
     "\"dump\": always, \"as_asked\": with dumps of failures or a history; other programs refuse \"dump\"",
     "\"as_asked\""},
    {"privacy",
     "what of tensors may leave the device: a list of rules, of which the first that names a tensor "
     "decides; what is left out is in no file",
     kOwn,
     "objects: \"model\", \"op\", \"type\": names with * and ?; \"input\" or \"output\": an index or "
     "\"all\"; \"keep\": \"tensor\", \"stats\", \"digest\" (MD5), \"shape\" or \"nothing\"; \"crop\": of "
     "each of the first axes the first N elements, or [from, before]; \"every\": K, or \"elements\": N "
     "evenly spread",
     "every tensor is kept whole"},
    {"privacy_unmatched", "with privacy: what happens to a model in which a rule names no tensor", kOwn,
     "\"refuse\": it is not dumped; \"tell\": log and journal say so", "\"refuse\""},
    {"seal",
     "seal the dump for the holder of a private key, before it reaches flash or a wire: 'opdump open' reads "
     "it. It hides, and proves nothing to who reads it: whoever has the storage can seal another. Names of "
     "directories and files stay in clear, and no model card is written",
     kOwn,
     "a public key of X25519 as 64 hexadecimal digits, as 44 letters of base64, or the path of a file with "
     "one, which 'opdump key new' makes; only in the layout \"cann\"",
     "none: the dump is in clear"},
    {"watch", "what of the watched operators to dump, with \"dump_scene\": \"watcher\"", kOwn,
     "\"every\": all that CANN does, \"verdict\": only outputs that were found overwritten", "\"every\""},
    {"history_steps",
     "steps to keep in memory and write only when something happens: an overflow, an exception, a trigger",
     kOwn, "a whole number from 1 to 1000000", "everything is written at once"},
    {"trigger",
     "with history_steps: when else the history is written, and the steps after it; what fires and why "
     "stands in the journal",
     kOwn,
     "a list of at most 64 objects: \"stat\": \"max\", \"min\", \"mean\", \"l2norm\", \"nan\" or \"inf\" "
     "(counts), \"saturated\" (the share of elements at a limit of their dtype), \"change\" (of the "
     "tensor), \"latency_us\" (of a step) or \"failure\"; \"op\" and \"model\": names with * and ?; "
     "\"input\" or \"output\": an index, else output 0; \"below\" and \"above\": numbers, else above 0 of "
     "counts; \"for\": steps in a row, of those that dump_step wants; \"cooldown_s\": seconds; or \"call\": "
     "what the program calls it",
     "overflows, failures and the program's calls alone"},
    {"trigger_limits", "with trigger: what all firings of a boot, or of a run of a program, may have", kOwn,
     "an object of \"bytes_per_boot\": a whole number from 1 on, of files and lines without what the medium "
     "adds; \"firings_per_boot\": a whole number from 1 to 4294967295",
     "no limit"},
    {"after_steps", "with history_steps: steps to write after the one in which it happens", kOwn,
     "a whole number up to 1000000", "0"},
    {"history_bytes", "with history_steps: the memory for them; when it is full, the oldest step goes", kOwn,
     "a whole number from 4096 to 1073741824", "1048576"},
    {"max_bytes",
     "most bytes below dump_path, journals included: what was there at the start, and what this process writes",
     kOwn, "a whole number from 1 to 9223372036854775807; a sixteenth of it is kept for journals",
     "no limit"},
    {"max_files",
     "most files below dump_path, journals included: what was there at the start, and what this process writes",
     kOwn, "a whole number from 1 to 9223372036854775807", "no limit"},
    {"reserve_bytes", "bytes of the file system to leave free", kOwn,
     "a whole number from 0 to 9223372036854775807; records leave a sixteenth more free, for journals", "0"},
    {"keep", "what goes when max_bytes, max_files or reserve_bytes is reached, or raw storage is full", kOwn,
     "\"oldest\": new records are refused; \"newest\": the oldest dumps are removed, then, in the layout "
     "\"cann\", the oldest records",
     "\"oldest\""},
    {"fsync", "when what was written has to survive a loss of power", kOwn,
     "\"never\", \"finalize\" (when the dump ends), \"record\" (each record, which is slow)", "\"finalize\""},
};

constexpr char kExplainHelp[] =
    R"(opdump explain - says what a key of a config does, and which runtimes there are adapters for

usage: opdump explain [KEY]
       opdump explain --runtimes
       opdump explain [--runtimes] --markdown

  --runtimes  the adapters for runtimes: how each is attached, what it sees and costs, where it was run
  --markdown  all keys with all that is said of them, or all runtimes, as tables for a document

KEY is the name of a key, without the objects it stands in; keys of that name in other dialects are told too. Of
an object, such as opdump, the keys in it are listed.
Without KEY the keys are listed.

  $ opdump explain iteration
  iteration: the steps to dump
    in       "common_dump_settings" of MindSpore's data_dump.json
    values   "all", or "5" and "3-9", joined with |; no blanks
    default  none: it must be there

exit status
  0  told
  1  there is no such key; stderr names the closest
  2  the command line is wrong
)";

/// What is no key and stands in documents and logs beside keys.
struct ExplainedTerm {
  std::string_view name, what;
};
constexpr ExplainedTerm kTerms[] = {
    {"OPDUMP_CONFIG",
     "an environment variable: the path of the config, of any dialect, that a program starts with"},
    {"MINDSPORE_DUMP_CONFIG",
     "an environment variable: the path of the data_dump.json that a program of MindSpore starts with"},
    {"MS_DIAGNOSTIC_DATA_PATH",
     "an environment variable: where the \"path\" of a data_dump.json is empty, files lie in debug_dump below it"},
    {"rank_id",
     "a part of MindSpore's paths, rank_{rank_id}: the number of the process in the training, or 0"},
    {"data_index",
     "a part of CANN's paths: the step, as dump_step counts it, or a number from 0 on, 1 more for each step"},
};

void print(const ConfigKey& key) {
  const auto line = [](const char* head, std::string_view text) {
    std::printf("  %-8s %.*s\n", head, static_cast<int>(text.size()), text.data());
  };
  std::printf("%.*s: %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
              static_cast<int>(key.what.size()), key.what.data());
  line("in", key.in);
  line("values", key.values);
  line("default", key.otherwise);
}

/// The first name in quotes of `in`: of the object or list that a key stands in.
std::string_view object_of(std::string_view in) {
  const std::string_view rest = in.substr(in.find('"') + 1);
  return rest.substr(0, rest.find('"'));
}

/// Whether there are keys in objects of that name; they are listed.
bool print_object(std::string_view name, bool behind_others) {
  std::string_view in;
  for (const ConfigKey& key : kKeys) {
    if (object_of(key.in) != name) continue;
    if (key.in != in) {
      if (behind_others || !in.empty()) print_line({});
      print_line("keys of " + std::string(key.in));
    }
    in = key.in;
    std::printf("  %-26.*s %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
                static_cast<int>(key.what.size()), key.what.data());
  }
  return !in.empty();
}

void print_all() {
  std::string_view in;
  for (const ConfigKey& key : kKeys) {
    if (key.in != in)
      std::printf("%s%.*s\n", in.empty() ? "" : "\n", static_cast<int>(key.in.size()), key.in.data());
    in = key.in;
    std::printf("  %-26.*s %.*s\n", static_cast<int>(key.name.size()), key.name.data(),
                static_cast<int>(key.what.size()), key.what.data());
  }
}

/// A bar would end the cell.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

void print_markdown() {
  std::string_view in;
  for (const ConfigKey& key : kKeys) {
    if (key.in != in) {
      std::printf("%s### %.*s\n\n| key | what it says | values | default |\n|---|---|---|---|\n",
                  in.empty() ? "" : "\n", static_cast<int>(key.in.size()), key.in.data());
    }
    in = key.in;
    std::printf("| `%.*s` | %s | %s | %s |\n", static_cast<int>(key.name.size()), key.name.data(),
                markdown_cell(key.what).c_str(), markdown_cell(key.values).c_str(),
                markdown_cell(key.otherwise).c_str());
  }
}

struct RuntimeField {
  const char* head;
  std::string_view Runtime::*text;
};

constexpr RuntimeField kRuntimeFields[] = {
    {"attached", &Runtime::attached}, {"seen", &Runtime::seen}, {"inside", &Runtime::inside},
    {"off", &Runtime::off},           {"on", &Runtime::on},     {"state", &Runtime::state},
};

void print_runtimes() {
  for (const Runtime& runtime : runtimes()) {
    const auto line = [](const char* head, std::string_view text) {
      std::printf("  %-8s %.*s\n", head, static_cast<int>(text.size()), text.data());
    };
    std::printf("%s%.*s\n", &runtime == runtimes().data() ? "" : "\n", static_cast<int>(runtime.name.size()),
                runtime.name.data());
    if (!runtime.header.empty()) line("header", runtime.header);
    for (const RuntimeField& field : kRuntimeFields) line(field.head, runtime.*field.text);
  }
}

/// With links for a document two folders below the root.
void print_runtimes_markdown() {
  print_line("| runtime | how it is attached | what is seen | inside fused operators | off | on | state |");
  print_line("|---|---|---|---|---|---|---|");
  for (const Runtime& runtime : runtimes()) {
    std::string row = "| " + std::string(runtime.name);
    if (!runtime.header.empty())
      row = "| [" + std::string(runtime.name) + "](../../" + std::string(runtime.header) + ")";
    for (const RuntimeField& field : kRuntimeFields) row += " | " + markdown_cell(runtime.*field.text);
    print_line(row + " |");
  }
}

}  // namespace

int run_explain(Words words) {
  bool markdown = false;
  bool of_runtimes = false;
  const Option options[] = {{.name = "--markdown", .flag = &markdown},
                            {.name = "--runtimes", .flag = &of_runtimes}};
  std::vector<std::string> names;
  if (const std::optional<int> exit_code = read_options({"explain", kExplainHelp, options}, words, names))
    return *exit_code;
  if (markdown && !names.empty()) return usage_error("explain", "--markdown goes with no KEY");
  if (of_runtimes && !names.empty()) return usage_error("explain", "--runtimes goes with no KEY");
  if (of_runtimes) {
    if (markdown) {
      print_runtimes_markdown();
    } else {
      print_runtimes();
    }
    return kExitOk;
  }
  if (markdown) {
    print_markdown();
    return kExitOk;
  }
  if (names.size() > 1) return usage_error("explain", "one KEY at a time, not also '" + names[1] + "'");
  if (names.empty()) {
    print_all();
    return kExitOk;
  }
  std::vector<std::string_view> known;
  bool told = false;
  for (const ConfigKey& key : kKeys) {
    known.push_back(key.name);
    if (key.name != names[0]) continue;
    print(key);
    told = true;
  }
  for (const ExplainedTerm& term : kTerms) {
    known.push_back(term.name);
    if (term.name != names[0]) continue;
    print_line(std::string(term.name) + ": " + std::string(term.what));
    told = true;
  }
  if (print_object(names[0], told)) return kExitOk;
  if (told) return kExitOk;
  std::string message = "no key " + config::in_quotes(names[0]);
  if (const std::string_view near = config::closest(names[0], known); !near.empty())
    message += ", did you mean " + config::in_quotes(near) + "?";
  say("opdump explain: " + message + "; 'opdump explain' lists them");
  return kExitFailed;
}

}  // namespace opdump::tool
