#include "src/tool/wire/recorded_inputs.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "src/tool/cli/messages.hpp"
#include "src/tool/dump/record_name.hpp"

namespace opdump::tool {

bool find_recorded(const std::string& path, std::vector<RecordedOp>& ops, std::string& error) {
  std::vector<FoundFile> files;
  bool good = true;
  const SearchReport report = {.error =
                                   [&](const std::string& message) {
                                     error = message;
                                     good = false;
                                   },
                               .note = [](const std::string& message) { say("opdump send: " + message); }};
  find_files(path, true, files, report);
  if (!good) return false;
  std::string run;
  for (const FoundFile& file : files) {
    const std::optional<RecordName> name = parse_record_name(file.real_name);
    if (!name) {
      if (judge_stray(file) == Stray::error) {
        error = file.path + ": no record of a dump";
        return false;
      }
      continue;
    }
    const std::string directory = file.path.substr(0, std::min(file.path.rfind('/'), file.path.size()));
    const std::optional<RecordPlace> place = parse_record_place(real_path(directory));
    if (!place) {
      error = file.path + ": its directory does not tell the step, as TIME/DEVICE/MODEL/ID/STEP does";
      return false;
    }
    const std::string of_run = directory.substr(0, std::min(directory.rfind('/'), directory.size()));
    if (!ops.empty() && run != of_run) {
      error =
          path + ": holds several runs or models, such as " + run + " and " + of_run + ": name one of them";
      return false;
    }
    run = of_run;
    ops.push_back({place->step, name->unix_us, std::string(name->name), file.path, bytes_of(file)});
  }
  std::sort(ops.begin(), ops.end(), [](const RecordedOp& a, const RecordedOp& b) {
    return std::tie(a.step, a.unix_us, a.path) < std::tie(b.step, b.unix_us, b.path);
  });
  if (ops.empty()) error = path + ": holds no records";
  return !ops.empty();
}

}  // namespace opdump::tool
