#include "src/tool/page/config_facts.hpp"

#include "src/config/text/config_text.hpp"
#include "src/tool/config/checked_config.hpp"

namespace opdump::tool {

ConfigFacts read_config_facts(const std::string& file) {
  ConfigFacts facts;
  facts.file = file;
  CheckedConfig checked;
  facts.valid = checked.load(file, nullptr) == Status::ok;
  facts.active = facts.valid && checked.config.active;
  if (!facts.valid) facts.lines.push_back(to_string(checked.error, file));
  if (facts.active) facts.lines = config_lines(checked.config);
  for (const ConfigNote& note : checked.notes) facts.notes.push_back(to_string(note, file));
  return facts;
}

}  // namespace opdump::tool
