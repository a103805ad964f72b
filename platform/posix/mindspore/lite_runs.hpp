#pragma once
#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "opdump/base/text.hpp"
#include "opdump/types/config.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Calls `use(name)` for each entry of `directory`; for none if it cannot be read.
template <class Use>
void for_each_entry(const std::string& directory, Use use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  while (open != nullptr) {
    const dirent* const entry = readdir(open.get());
    if (entry == nullptr) return;
    use(std::string_view(entry->d_name));
  }
}

/// The number behind those of the folders in `directory`, which are named after steps.
inline std::uint32_t next_step_folder(const std::string& directory) {
  std::uint32_t next = 0;
  for_each_entry(directory, [&next](std::string_view name) {
    std::uint32_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data(), end, number);
    if (error == std::errc{} && at == end && number != UINT32_MAX) next = std::max(next, number + 1);
  });
  return next;
}

/// `config` as it is dumped when there are dumps of earlier runs at its place: in MindSpore Lite's layout, whose
/// names tell no time, steps are counted from the first folder that is free, so that nothing is in the way. A config
/// that asks for certain steps stays as it is. Source: MindSpore Lite's tool makes the next folder for each run.
inline DumpConfig behind_earlier_runs(const DumpConfig& config) {
  DumpConfig placed = config;
  if (config.form.layout != Layout::mindspore_lite || !config.steps.every_step()) return placed;
  const std::string root = std::string(config.dump_path) + '/';
  std::uint32_t next = 0;
  if (!config.net_name.empty()) {
    std::string folder(sanitised_bytes(config.net_name), '\0');
    put_sanitised(folder.data(), config.net_name);
    next = next_step_folder(root + folder);
  } else {
    for_each_entry(root, [&](std::string_view name) {
      if (name != "." && name != "..") next = std::max(next, next_step_folder(root + std::string(name)));
    });
  }
  placed.first_step = std::max(config.first_step, next);
  return placed;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
