#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "opdump/types/overflow.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/digest_file.hpp"
#include "src/tool/read/dump/quantisation_text.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/read/overflow/op_debug.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {
namespace {

constexpr char kOverflowHelp[] =
    R"(opdump overflow - lists the operators that overflowed, and names the first one that went wrong

usage: opdump overflow [-d] PATH [-out DIRECTORY] [-n N] [--boot N] [--model CARD]

  -d, --dump_file PATH   the dump: a directory with all below it, a flash image, or one Opdebug file
  -out, --output DIRECTORY
                         where the JSON files and the summary go; made if it is missing; default: the current
                         directory
  -n N                   only the first N overflows in the order of boots and time; default: all
  --boot N               only boot N, of a flash image or of what 'opdump extract' wrote
  --model CARD           also what the model says, or a card, as 'opdump describe' writes it: which operators of the
                         framework are in this one, which operator each input is of, and what quantised tensors
                         stand for. Without it, the cards that lie beside the journal, 'opdump.*.model.json'

An overflow dump has two files per operator that overflowed: its inputs and outputs, and what the device tells of
it, Opdebug.Node_OpDebug.... Both are found by task, and by stream and thread where names have them; every spelling of
the prefix counts, and 'mapping.csv' is followed. Printed, and written to overflow_summary_{time}.txt, are model,
stream, task and operator, the status in words, and what the tensors hold. What the device tells is also written as

  {Opdebug file}.output.0.json     the JSON of 'msaccucmp convert', byte for byte

An operator is bad when an output holds an infinity or a NaN. The first bad operator is the first in time whose
inputs hold none: what comes later may only pass on what it was given.

  opdump overflow -d dump -out overflows
  opdump overflow -d dump/20260131130559/0 -n 1

exit status
  0  it worked, also when nothing overflowed
  1  a file could not be read or written, an operator's file is missing, or there is no dump
  2  the command line is wrong
)";

struct OverflowOptions {
  std::optional<std::string> dump_file;
  std::optional<std::string> output;
  std::optional<std::string> number;
  std::optional<std::string> boot;
  std::optional<std::string> model;
};

/// Whether tensors hold infinities or NaNs.
struct Health {
  bool has_inputs = false;
  bool inputs_bad = false;
  bool outputs_bad = false;
};

class OverflowReportText {
 public:
  /// `card`: of all operators; null: each one's is looked for in its dump.
  OverflowReportText(std::string output, const CardedOps* card) : output_(std::move(output)), card_(card) {}

  /// Before any is added.
  void check_task(const Overflow& overflow) {
    const CardedOps* const card = overflow.op_file ? card_of(overflow) : nullptr;
    if (card != nullptr) card->check_task(identity_of(*parse_record_name(overflow.op_file->real_name)));
  }

  void add(std::size_t number, const Overflow& overflow) {
    line(std::to_string(number) + "  " + time_text(overflow.unix_us) + "  " + place_of(overflow));
    if (overflow.op_file) {
      const std::optional<RecordName> name = parse_record_name(overflow.op_file->real_name);
      line("   operator " + printable(name->type) + " " + printable(name->name) + ", " +
           printable(overflow.op_file->path));
      if (const std::string names = original_names(card_of(overflow), identity_of(*name)); !names.empty())
        line("   made of " + names);
    } else {
      fail(overflow.debug_file.path + ": no operator's file of that task and stream is beside it");
    }
    for (const OpDebug::Block& block : overflow.debug.blocks) {
      if (block.status() != 0) add_status(block, overflow.debug.searched);
    }
    if (reporting_block(overflow.debug) == nullptr) line("   no unit reports a status");
    if (overflow.op_file) add_op(overflow);
    write_json(overflow);
  }

  void add_first_bad() {
    if (first_bad_.empty()) {
      line("first bad operator: none; no operator here has bad outputs and clean inputs");
    } else {
      line("first bad operator: " + first_bad_);
    }
  }

  void line(const std::string& text) {
    std::puts(text.c_str());
    text_ += text + '\n';
  }

  void fail(const std::string& message) {
    ++failures_;
    std::fflush(stdout);
    say("opdump overflow: " + message);
  }

  void write_summary() {
    char time[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(time, sizeof time, "%Y%m%d%H%M%S", std::localtime(&now));
    write({}, std::string("overflow_summary_") + time + ".txt", text_);
  }

  bool good() const { return failures_ == 0; }

  /// Of what is at `path`, where no overflow file is among `files`; fails where that is no dump.
  void add_none(const std::string& path, bool is_file, const std::vector<FoundFile>& files) {
    bool is_dump = false, has_arrays = false;
    for (const FoundFile& file : files) {
      if (is_file || file.named) return fail(path + ": is no overflow file, 'Opdebug.Node_OpDebug...'");
      is_dump = is_dump || is_of_dump(file.real_name);
      has_arrays = has_arrays || file.real_name.ends_with(".npy");
    }
    if (!is_dump && has_arrays)
      return fail(path +
                  ": holds arrays, which 'opdump show' and 'opdump compare' read, and neither a record nor a "
                  "journal");
    if (!is_dump) return fail(path + ": there is neither a record nor a journal");
    line("0 overflows: no overflow file among " + count_text(files.size(), "file"));
  }

 private:
  static bool is_of_dump(const std::string& name) {
    JournalName journal;
    return parse_record_name(name) || parse_lite_name(name) || parse_journal_name(name, journal);
  }

  static std::string place_of(const Overflow& overflow) {
    const OpDebug::Block* block = reporting_block(overflow.debug);
    if (block == nullptr) block = &overflow.debug.blocks[0];
    const std::string& path = overflow.debug_file.path;
    const std::optional<std::uint32_t> boot = boot_of(path);
    std::string text = (boot ? "boot " + std::to_string(*boot) + ", model " : "model ") +
                       std::to_string(block->value("model_id"));
    const std::optional<RecordPlace> place =
        parse_record_place(std::string_view(path).substr(0, std::min(path.rfind('/'), path.size())));
    if (place) text += " (" + printable(place->model) + "), step " + std::to_string(place->step);
    return text + ", stream " + std::to_string(block->value("stream_id")) + ", task " +
           std::to_string(block->value("task_id"));
  }

  void add_status(const OpDebug::Block& block, bool searched) {
    const std::uint64_t status = block.status();
    if (searched) {
      line("   nothing reported a status: an infinity or a NaN was found in an output; the file has " +
           std::to_string(status) + " for tools that want one");
      return;
    }
    char hex[16];
    const auto end = std::to_chars(hex, hex + sizeof hex, status, 16).ptr;
    std::string text = "   " + std::string(block.unit) + " status " + std::to_string(status) + " = 0x" +
                       std::string(hex, end);
    bool first = true;
    for (const std::string_view bit : status_texts(status)) {
      text += (first ? ": " : ", ") + std::string(bit);
      first = false;
    }
    line(text);
  }

  void add_op(const Overflow& overflow) {
    const FoundFile& found = *overflow.op_file;
    const std::optional<RecordName> name = parse_record_name(found.real_name);
    const CardedOps* const card = card_of(overflow);
    if (record_.open(found.path) != RecordFile::Opened::ok) return fail(record_.error());
    Health health;
    std::string bad_output;
    RecordTensors tensors = record_.tensors();
    for (RecordTensor tensor; tensors.next(tensor);) {
      const std::string role =
          std::string(tensor.is_output ? "output " : "input ") + std::to_string(tensor.index);
      TensorDigest digest;
      std::string error;
      const Quantisation* const quant =
          card == nullptr ? nullptr : card->quant(identity_of(*name), tensor.is_output, tensor.index);
      if (!digest_tensor(record_, tensor, false, 0, quant, digest, error)) {
        fail(found.path + ": " + role + ": " + error);
        continue;
      }
      line("   " + role + "  " + std::string(info(tensor.dtype).name) + " " + shape_text(tensor.shape()) +
           "  " + content_of(digest) +
           (tensor.is_output ? "" : producer_text(card, identity_of(*name), tensor.index)));
      if (quant != nullptr) line("     " + real_text(*quant, digest));
      const Statistics& numbers = digest.statistics;
      const bool bad = digest.are_numbers && numbers.nan() + numbers.infinite() != 0;
      (tensor.is_output ? health.outputs_bad : health.inputs_bad) |= bad;
      if (bad && tensor.is_output && bad_output.empty()) bad_output = role + " holds " + content_of(digest);
    }
    if (!first_bad_.empty() || !health.outputs_bad || health.inputs_bad) return;
    const std::string names = original_names(card, identity_of(*name));
    first_bad_ = printable(name->type) + " " + printable(name->name) + ", " +
                 (names.empty() ? "" : "made of " + names + ", ") + place_of(overflow) + ": " + bad_output +
                 ", and its inputs are clean";
  }

  const CardedOps* card_of(const Overflow& overflow) {
    const std::string& path = overflow.op_file->path;
    return card_ != nullptr ? card_ : beside_.of(path.substr(0, path.rfind('/') + 1));
  }

  /// The operators of the framework that are in this one; empty where no card tells others than its name.
  static std::string original_names(const CardedOps* card, const OpIdentity& op) {
    const RunOp* const found = card == nullptr ? nullptr : card->op(op);
    std::string text;
    if (found == nullptr) return text;
    for (const std::string_view name : found->original_names)
      text += (text.empty() ? "" : ", ") + printable(name);
    return text == printable(found->desc.name) ? "" : text;
  }

  static std::string producer_text(const CardedOps* card, const OpIdentity& op, std::uint32_t input) {
    const std::optional<CardedOps::Output> from = card == nullptr ? std::nullopt : card->producer(op, input);
    return from ? ", output " + std::to_string(from->index) + " of " + printable(from->op) : "";
  }

  static std::string real_text(const Quantisation& quant, const TensorDigest& digest) {
    if (!digest.has_real) return unreal_text(quant);
    std::string text = parameter_text(quant);
    if (digest.real.finite() != 0)
      text += "  real min " + number_text(digest.real.min()) + "  max " + number_text(digest.real.max());
    return text;
  }

  static std::string content_of(const TensorDigest& digest) {
    if (!digest.are_numbers) return "no numbers";
    const Statistics& numbers = digest.statistics;
    std::string text;
    if (numbers.infinite() != 0) text += std::to_string(numbers.infinite()) + " infinite, ";
    if (numbers.nan() != 0) text += std::to_string(numbers.nan()) + " NaN, ";
    text += std::to_string(numbers.finite()) + " finite";
    if (numbers.finite() == 0) return text;
    return text + ": min " + number_text(numbers.min()) + ", max " + number_text(numbers.max()) + ", mean " +
           number_text(numbers.mean());
  }

  void write_json(const Overflow& overflow) {
    write(overflow.debug_file.below, overflow.debug_file.real_name + ".output.0.json",
          op_debug_json(overflow.debug));
  }

  void write(const std::string& below, const std::string& name, const std::string& text) {
    const std::string directory = below.empty() ? output_ : output_ + '/' + below;
    if (const int error = make_directories(directory); error != 0)
      return fail(directory + ": " + strerror(error));
    OutputFile out;
    const Bytes part = as_bytes(text);
    if (!out.create(directory, name) || !out.write({&part, 1}) || !out.commit()) fail(out.error());
  }

  const std::string output_;
  const CardedOps* const card_;
  BesideCards beside_{[](const std::string& message) { say("opdump overflow: " + message); }};
  std::string text_;
  std::string first_bad_;
  RecordFile record_;
  std::uint64_t failures_ = 0;
};

/// An Opdebug file that is named alone has its operator's file beside it.
std::string place_to_search(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (!is_op_debug_name(std::string_view(path).substr(slash + 1))) return path;
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::uint64_t op_bytes(const Overflow& overflow) {
  return overflow.op_file ? bytes_of(*overflow.op_file) : 0;
}

}  // namespace

int run_overflow(Words words) {
  OverflowOptions options;
  const Option table[] = {
      {"-d", "--dump_file", nullptr, &options.dump_file},
      {"-out", "--output", nullptr, &options.output},
      {"-n", {}, nullptr, &options.number},
      {"--boot", {}, nullptr, &options.boot},
      {"--model", {}, nullptr, &options.model},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> exit_code = read_options({"overflow", kOverflowHelp, table}, words, rest))
    return *exit_code;
  if (rest.size() == 1 && !options.dump_file) {
    options.dump_file = std::move(rest[0]);
  } else if (!rest.empty()) {
    return usage_error("overflow", "a dump is named already, so '" + rest[0] + "' has no meaning");
  }
  if (options.dump_file.value_or("").empty()) return usage_error("overflow", "'-d PATH' is missing");
  if (options.output && options.output->empty()) return usage_error("overflow", "'-out' needs a directory");
  std::optional<std::uint64_t> most;
  if (options.number) {
    most = parse_decimal(*options.number);
    if (!most || *most == 0)
      return usage_error("overflow", "'-n " + *options.number + "' is no number from 1 on");
  }

  const std::optional<std::uint32_t> boot = parse_boot(options.boot.value_or(""));
  if (options.boot && !boot) return usage_error("overflow", "'" + *options.boot + "' is no number of a boot");

  RunFile card;
  if (options.model && !load_or_say(*options.model, card)) return kExitFailed;
  const CardedOps carded(card);
  OverflowReportText report(options.output.value_or("."), options.model ? &carded : nullptr);
  const SearchReport search = {
      [&report](const std::string& message) { report.fail(message); },
      [](const std::string& message) { say("opdump overflow: " + message); },
  };
  FoundDump dump;
  const std::string place = place_to_search(*options.dump_file);
  if (place != *options.dump_file && access(options.dump_file->c_str(), R_OK) != 0)
    report.fail(*options.dump_file + ": " + strerror(errno));
  dump.add(place, place == *options.dump_file, search, boot);
  std::vector<Overflow> overflows =
      pair_overflows(dump.files(), [&report](const std::string& message) { report.fail(message); });
  if (place != *options.dump_file)
    std::erase_if(overflows, [&](const Overflow& overflow) {
      return !options.dump_file->ends_with(overflow.debug_file.real_name);
    });
  if (overflows.empty() && report.good()) {
    report.add_none(*options.dump_file, place != *options.dump_file, dump.files());
    return report.good() ? kExitOk : kExitFailed;
  }
  const std::size_t shown =
      static_cast<std::size_t>(std::min<std::uint64_t>(overflows.size(), most.value_or(overflows.size())));
  report.line(count_text(overflows.size(), "overflow") +
              (shown < overflows.size() ? ", of which the first " + std::to_string(shown) + " follow" : ""));
  for (const Overflow& overflow : overflows) report.check_task(overflow);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shown && Progress::is_seen(); ++i) bytes += op_bytes(overflows[i]);
  Progress progress(bytes);
  for (std::size_t i = 0; i < shown; ++i) {
    report.add(i + 1, overflows[i]);
    if (Progress::is_seen()) progress.add(op_bytes(overflows[i]));
  }
  progress.wipe();
  if (shown != 0) {
    report.add_first_bad();
    report.write_summary();
  }
  return report.good() ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
