#include "src/tool/write/safetensors.hpp"

#include <string.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/config/text/display_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/dump/safetensors_dtype.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/write/record_converter.hpp"

namespace opdump::tool {

namespace {

/// One operator in one of its runs.
struct ExportedOp {
  std::string model;  ///< empty: not known
  std::string type;   ///< empty: not known
  std::string name;
  std::size_t file = 0;              ///< its first, in DumpSide::files
  std::vector<std::size_t> tensors;  ///< in DumpSide::tensors, inputs first
};

/// What ran at one step of one device.
struct ExportedStep {
  std::optional<std::uint32_t> boot;
  std::uint64_t rank = 0;       ///< the device, or MindSpore's rank
  std::uint64_t step = 0;       ///< also of what tells no step
  std::vector<ExportedOp> ops;  ///< in the order in which they ran, as far as the dump tells it
};

/// A dump as safetensors files have it: by step. Holds what is known of the tensors, not their
/// elements. Names are those of the dump, with '_' for blanks, dots and slashes, and '?' for what is not
/// UTF-8 or would control a terminal.
struct ExportedDump {
  DumpSide side;
  std::vector<ExportedStep> steps;  ///< by boot, step and rank
  bool several_ranks = false;

  DumpTensor tensor(std::size_t index) const { return side.tensors[index]; }
  std::uint64_t data_bytes() const;
};

/// Numbers what has the same name.
class Repeats {
 public:
  /// How often it was asked for the name before.
  std::uint64_t next(const std::string& name) { return seen_[name]++; }

 private:
  std::map<std::string, std::uint64_t> seen_;
};

std::string clean(std::string_view name) {
  return printable(sanitised(name));
}

/// Where an operator ran.
struct Place {
  std::string model;
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
};

class Places {
 public:
  const Place& of(const DumpFile& file) {
    const std::string directory = file.path.substr(0, file.path.rfind('/') + 1);
    const auto [found, is_new] = known_.try_emplace(directory + '\n' + file.place);
    if (is_new) found->second = place_of(directory, file.place);
    return found->second;
  }

 private:
  static Place place_of(const std::string& directory, const std::string& told) {
    const std::string real = real_path(directory);
    Place place;
    if (const std::optional<RecordPlace> record = parse_record_place(real)) {
      place.model = clean(record->model);
      place.step = record->step;
      place.rank = device_of(real, *record);
      return place;
    }
    const std::size_t slash = told.rfind('/');
    if (slash == std::string::npos) return place;
    place.model = clean(std::string_view(told).substr(0, slash));
    place.step = parse_decimal(std::string_view(told).substr(slash + 1)).value_or(0);
    return place;
  }

  std::map<std::string, Place> known_;
};

using ExportedStepKey = std::tuple<std::optional<std::uint32_t>, std::uint64_t, std::uint64_t>;

/// Which files hold tensors of one run of an operator: a record alone; of files with one tensor each, those
/// that tell the same of it.
std::string run_of(const DumpFile& file, std::size_t number) {
  if (file.is_record) return std::to_string(number);
  return file.path.substr(0, file.path.rfind('/') + 1) + '\n' + file.place + '\n' + file.type + '\n' +
         file.op + '\n' + std::to_string(file.task.value_or(0)) + '\n' + std::to_string(file.unix_us);
}

/// Adds an operator with its tensors in order. What has the same role and index again belongs to another run.
void add_op(const ExportedDump& dump, ExportedOp op, ExportedStep& step) {
  const auto role = [&dump](std::size_t tensor) {
    return std::pair(dump.tensor(tensor).is_output, dump.tensor(tensor).index);
  };
  std::vector<std::size_t> tensors = std::exchange(op.tensors, {});
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&role](std::size_t a, std::size_t b) { return role(a) < role(b); });
  const std::size_t first = step.ops.size();
  std::size_t run = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    run = i != 0 && role(tensors[i]) == role(tensors[i - 1]) ? run + 1 : 0;
    if (first + run == step.ops.size()) step.ops.push_back(op);
    step.ops[first + run].tensors.push_back(tensors[i]);
  }
}

std::uint64_t ExportedDump::data_bytes() const {
  std::uint64_t bytes = 0;
  for (const DumpTensor& tensor : side.tensors) bytes += tensor.data_bytes;
  return bytes;
}

/// Sorts the tensors of `side`.
ExportedDump exported(DumpSide side) {
  ExportedDump dump;
  dump.side = std::move(side);
  Places places;
  std::map<ExportedStepKey, ExportedStep> steps;
  std::map<std::string, std::pair<ExportedStepKey, std::size_t>> runs;
  std::set<std::uint64_t> ranks;
  for (std::size_t i = 0; i < dump.side.tensors.size(); ++i) {
    const std::size_t number = dump.side.tensors[i].file;
    const DumpFile file = dump.side.files[number];
    const auto [run, is_new] = runs.try_emplace(run_of(file, number));
    if (is_new) {
      const Place& place = places.of(file);
      const ExportedStepKey key(file.boot, place.step, place.rank);
      ExportedStep& step = steps[key];
      step.boot = file.boot;
      step.step = place.step;
      step.rank = place.rank;
      ranks.insert(place.rank);
      run->second = {key, step.ops.size()};
      step.ops.push_back({place.model, clean(file.type), clean(file.op), number, {}});
    }
    steps[run->second.first].ops[run->second.second].tensors.push_back(i);
  }
  for (auto& [key, step] : steps) {
    std::vector<ExportedOp> ops = std::move(step.ops);
    step.ops.clear();
    for (ExportedOp& op : ops) add_op(dump, std::move(op), step);
    dump.steps.push_back(std::move(step));
  }
  dump.several_ranks = ranks.size() > 1;
  return dump;
}

/// "output.0"
std::string role_of(const DumpTensor& tensor) {
  return std::string(tensor.is_output ? "output." : "input.") + std::to_string(tensor.index);
}

/// `{model}/{step}/{type}.{name}`; without a model `{step}/{type}.{name}`. `repeat`: if it is not 0, another
/// part with this number follows.
std::string key_of(const ExportedStep& step, const ExportedOp& op, std::uint64_t repeat) {
  return (op.model.empty() ? "" : op.model + '/') + std::to_string(step.step) + '/' +
         (op.type.empty() ? "" : op.type + '.') + op.name + (repeat == 0 ? "" : '/' + std::to_string(repeat));
}

/// What the file of a step is called: "step3", with "boot2" and "rank1" where the dump has several of them.
std::string name_of(const ExportedDump& dump, const ExportedStep& step) {
  return (step.boot ? "boot" + std::to_string(*step.boot) + '.' : "") +
         (dump.several_ranks ? "rank" + std::to_string(step.rank) + '.' : "") + "step" +
         std::to_string(step.step);
}

struct Placed {
  const ExportedOp* op = nullptr;
  DumpTensor tensor;
  StoredArray stored;
};

/// Gathers small pieces into larger ones.
class PieceFile {
 public:
  bool create(const std::string& directory, const std::string& name) { return file_.create(directory, name); }

  bool write(Bytes bytes) {
    if (pending_.size() + bytes.size() < kBufferBytes) {
      pending_.insert(pending_.end(), bytes.begin(), bytes.end());
      return true;
    }
    const Bytes parts[] = {pending_, bytes};
    const bool written = file_.write(parts);
    pending_.clear();
    return written;
  }

  bool commit() {
    const Bytes parts[] = {pending_};
    return file_.write(parts) && file_.commit();
  }

  const std::string& error() const { return file_.error(); }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  OutputFile file_;
  std::vector<std::byte> pending_;
};

class SafetensorsWriter {
 public:
  SafetensorsWriter(const SafetensorsSettings& settings, const ExportedDump& dump)
      : settings_(settings), dump_(dump), progress_(dump.data_bytes()), provenance_(read_provenance()) {}

  void write(const ExportedStep& step) {
    constexpr std::size_t kMostHead = 100'000'000;
    std::vector<Placed> tensors = plan(step);
    if (tensors.empty()) return;
    const std::string head = head_of(step, tensors);
    const std::string name = name_of(dump_, step) + ".safetensors";
    if (head.size() > kMostHead)
      return fail(settings_.output + '/' + name +
                  ": its head would have more than 100 MB, which readers refuse");
    PieceFile file;
    bool good = file.create(settings_.output, name) && file.write(as_bytes(head));
    for (std::size_t i = 0; good && i < tensors.size(); ++i) good = write_elements(tensors[i], file);
    if (interrupted()) return;
    if (!good || !file.commit()) {
      if (!file.error().empty()) fail(file.error());
      return;
    }
    ++files_;
    tensors_ += tensors.size();
  }

  /// Prints what was written. False: something was not.
  bool finish() {
    progress_.wipe();
    std::string summary = count_text(tensors_, "tensor") + " written to " + count_text(files_, "file") +
                          " in " + settings_.output;
    if (failures_ != 0) summary += ", " + count_text(failures_, "failure");
    print_line(summary);
    return failures_ == 0;
  }

 private:
  std::string read_provenance() {
    BesideCards cards([this](const std::string& note) { progress_.say("opdump convert: " + note); });
    ProvenanceReader reader(cards);
    std::set<std::string> directories;
    for (const DumpFile& file : dump_.side.files)
      directories.insert(real_path(file.path.substr(0, file.path.rfind('/') + 1)));
    DumpProvenance provenance;
    for (const std::string& directory : directories) reader.add(directory, provenance);
    return printable(provenance_text(provenance));
  }

  std::vector<Placed> plan(const ExportedStep& step) {
    std::vector<Placed> tensors;
    for (const ExportedOp& op : step.ops) {
      for (const std::size_t index : op.tensors) {
        Placed placed = {&op, dump_.tensor(index), {}};
        std::string reason;
        if (plan_stored(placed.tensor, settings_.format, placed.stored, reason))
          tensors.push_back(std::move(placed));
        else
          fail(op, placed.tensor, reason);
      }
    }
    return tensors;
  }

  /// The head of the file, with what precedes and fills it up.
  std::string head_of(const ExportedStep& step, const std::vector<Placed>& tensors) const {
    constexpr std::size_t kAlignment = 8;
    JsonWriter json;
    json.open('{').key("__metadata__").open('{').key("producer").text("opdump " OPDUMP_VERSION);
    json.key("step").text(std::to_string(step.step)).key("rank").text(std::to_string(step.rank));
    if (step.boot) json.key("boot").text(std::to_string(*step.boot));
    if (!provenance_.empty()) json.key("provenance").text(provenance_);
    json.close('}');
    Repeats repeats;
    std::uint64_t at = 0;
    const ExportedOp* last = nullptr;
    std::string key;
    for (const Placed& placed : tensors) {
      if (placed.op != last) key = key_of(step, *placed.op, repeats.next(key_of(step, *placed.op, 0)));
      last = placed.op;
      json.line().key(key + '/' + role_of(placed.tensor)).open('{');
      json.key("dtype").text(name_in_safetensors(placed.stored.dtype)).key("shape").open('[');
      for (const Dim dim : placed.stored.shape) json.number(dim);
      json.close(']').key("data_offsets").open('[').number(at);
      json.number(at + placed.stored.bytes).close(']').close('}');
      at += placed.stored.bytes;
    }
    std::string text = json.close('}').take();
    text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    std::string length(sizeof(std::uint64_t), '\0');
    store_little_endian(reinterpret_cast<std::byte*>(length.data()), std::uint64_t{text.size()});
    return length + text;
  }

  bool write_elements(const Placed& placed, PieceFile& file) {
    std::string reason;
    const bool good = elements_.open(dump_.side, placed.tensor, placed.stored, reason) &&
                      elements_.for_each(
                          [&](Bytes items, std::size_t read) {
                            progress_.add(read);
                            return file.write(items);
                          },
                          reason);
    if (!reason.empty()) fail(*placed.op, placed.tensor, reason);
    return good;
  }

  void fail(const std::string& message) {
    ++failures_;
    progress_.say("opdump convert: " + message);
  }

  void fail(const ExportedOp& op, const DumpTensor& tensor, const std::string& reason) {
    fail(dump_.side.files[op.file].path + ": " + op.name + ' ' + role_of(tensor) + ": " + reason);
  }

  const SafetensorsSettings& settings_;
  const ExportedDump& dump_;
  Progress progress_;
  const std::string provenance_;
  StoredElements elements_;
  std::uint64_t tensors_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace

int write_safetensors(const SafetensorsSettings& settings) {
  const auto tell = [](const std::string& message) { say("opdump convert: " + message); };
  if (const std::string taken =
          occupied(settings.output, settings.overwrite, "'--overwrite' replaces files of the same name");
      !taken.empty()) {
    tell(taken);
    return kExitFailed;
  }
  bool good = true;
  const SearchReport search = {.error =
                                   [&](const std::string& message) {
                                     tell(message);
                                     good = false;
                                   },
                               .note = tell};
  ExtractedImage image;
  DumpSide side = read_side(image.open(settings.dump, search), search);
  if (side.tensors.empty()) {
    search.error(settings.dump + ": there is no tensor");
    return kExitFailed;
  }
  if (const int error = make_directories(settings.output); error != 0) {
    search.error(settings.output + ": " + strerror(error));
    return kExitFailed;
  }
  const ExportedDump dump = exported(std::move(side));
  SafetensorsWriter writer(settings, dump);
  for (const ExportedStep& step : dump.steps) writer.write(step);
  good &= writer.finish();
  if (interrupted()) die_of_interrupt();
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
