#include "src/tool/write/safetensors.hpp"

#include <string.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/safetensors_dtype.hpp"
#include "src/tool/read/flash/extracted_image.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/write/exported_dump.hpp"
#include "src/tool/write/record_converter.hpp"

namespace opdump::tool {
namespace {

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
