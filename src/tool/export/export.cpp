#include "src/tool/export/export.hpp"

#include <set>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/verify/dump_provenance.hpp"

namespace opdump::tool {

Export::Export(const ExportSettings& settings, const ExportedDump& dump, const CardedOps* card)
    : settings_(settings),
      dump_(dump),
      card_(card),
      beside_(
          [this](const std::string& note) { progress_.say("opdump " + settings_.command + ": " + note); }),
      progress_(dump.data_bytes()) {}

std::string Export::directory(std::string_view below) const {
  return below.empty() ? settings_.output : settings_.output + '/' + std::string(below);
}

const std::string& Export::provenance() {
  if (provenance_) return *provenance_;
  DumpProvenance provenance;
  ProvenanceReader reader(beside_);
  std::set<std::string> directories;
  for (const DumpFile& file : dump_.side.files)
    directories.insert(real_path(file.path.substr(0, file.path.rfind('/') + 1)));
  for (const std::string& directory : directories) reader.add(directory, provenance);
  return provenance_.emplace(printable(provenance_text(provenance)));
}

const CardedOps* Export::card_of(const ExportedOp& op) {
  if (card_ != nullptr) return card_;
  const std::string path = dump_.side.files[op.file].path;
  return beside_.of(real_path(path.substr(0, path.rfind('/') + 1)));
}

bool Export::plan(const ExportedOp& op, const DumpTensor& tensor, HasDType has, StoredArray& stored) {
  std::string reason;
  if (plan_stored(tensor, has, settings_.format, stored, reason)) return true;
  fail_tensor(op, tensor, reason);
  return false;
}

bool Export::commit(ExportFile& file, bool written) {
  if (interrupted()) return false;
  if (written && file.commit()) {
    ++files_;
    return true;
  }
  if (!file.error().empty()) fail(file.error());
  return false;
}

void Export::fail(const std::string& message) {
  ++failures_;
  progress_.say("opdump " + settings_.command + ": " + message);
}

void Export::fail_tensor(const ExportedOp& op, const DumpTensor& tensor, const std::string& reason) {
  fail(dump_.side.files[op.file].path + ": " + op.name + ' ' + role_of(tensor) + ": " + reason);
}

bool Export::finish() {
  progress_.wipe();
  std::string summary = count_text(tensors_, "tensor") + " written to " + count_text(files_, "file") +
                        " in " + settings_.output;
  if (failures_ != 0) summary += ", " + count_text(failures_, "failure");
  print_line(summary);
  return failures_ == 0;
}

}  // namespace opdump::tool
