#include "src/tool/read/overflow/overflow_pairs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"

namespace opdump::tool {
namespace {

constexpr std::uint64_t kUnknownId = 65535;

std::string_view directory_of(const FoundFile& file) {
  const std::size_t slash = file.path.rfind('/');
  return std::string_view(file.path).substr(0, slash == std::string::npos ? 0 : slash);
}

/// The operators' files that overflows may be of, by their directory, task and stream, in the order of their
/// time. A file whose name tells no stream is of any.
class OpFiles {
 public:
  /// Before `read`: the file of the operator of which `block` of `debug_file` reports is wanted.
  void want(const FoundFile& debug_file, const OpDebug::Block& block) {
    files_.try_emplace(key_of(debug_file, block));
  }

  void read(const std::vector<FoundFile>& files) {
    if (files_.empty()) return;
    for (const FoundFile& file : files) {
      if (is_op_debug_name(file.real_name)) continue;
      const std::optional<RecordName> name = parse_record_name(file.real_name);
      if (!name) continue;
      const Key last = {std::string(directory_of(file)), name->task, name->stream};
      const Key first = {std::get<0>(last), name->task, name->stream == UINT64_MAX ? 0 : name->stream};
      for (auto wanted = files_.lower_bound(first); wanted != files_.end() && wanted->first <= last; ++wanted)
        wanted->second.push_back({file, name->unix_us, name->has_thread, name->context, name->thread});
    }
    for (auto& [key, found] : files_)
      std::sort(found.begin(), found.end(),
                [](const Entry& a, const Entry& b) { return a.unix_us < b.unix_us; });
  }

  /// The latest that is not younger than the report, else the first there is; nothing: there is none.
  std::optional<FoundFile> find(const FoundFile& debug_file, std::uint64_t unix_us,
                                const OpDebug::Block& block) const {
    const Entry* best = nullptr;
    for (const Entry& entry : files_.at(key_of(debug_file, block))) {
      if (!is_of(entry, block)) continue;
      if (best == nullptr || entry.unix_us <= unix_us) best = &entry;
    }
    return best == nullptr ? std::nullopt : std::optional(best->file);
  }

 private:
  struct Entry {
    FoundFile file;
    std::uint64_t unix_us;
    bool has_thread;
    std::uint64_t context;
    std::uint64_t thread;
  };

  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;

  static Key key_of(const FoundFile& debug_file, const OpDebug::Block& block) {
    return {std::string(directory_of(debug_file)), block.value("task_id"), block.value("stream_id")};
  }

  /// Threads of one operator have files of their own, where the name has room for their ids.
  static bool is_of(const Entry& entry, const OpDebug::Block& block) {
    const auto same = [&](std::string_view field, std::uint64_t id) {
      const std::uint64_t wanted = block.has(field) ? block.value(field) : kUnknownId;
      return wanted == kUnknownId || (entry.has_thread && wanted == id);
    };
    return same("context_id", entry.context) && same("thread_id", entry.thread);
  }

  std::map<Key, std::vector<Entry>> files_;
};

std::uint64_t time_of_record(const FoundFile& file) {
  const std::optional<RecordName> name = parse_record_name(file.real_name);
  return name ? name->unix_us : 0;
}

}  // namespace

const OpDebug::Block* reporting_block(const OpDebug& debug) {
  for (const OpDebug::Block& block : debug.blocks) {
    if (block.status() != 0) return &block;
  }
  return nullptr;
}

std::vector<Overflow> pair_overflows(const std::vector<FoundFile>& files,
                                     const std::function<void(const std::string& message)>& fail) {
  OpFiles op_files;
  DumpClocks clocks(files);
  std::vector<Overflow> overflows;
  RecordFile record;
  for (const FoundFile& file : files) {
    if (!is_op_debug_name(file.real_name) || file.real_name.ends_with(".json")) continue;
    if (record.open(file.path) != RecordFile::Opened::ok) {
      fail(record.error());
      continue;
    }
    Overflow overflow;
    overflow.debug_file = file;
    overflow.unix_us = time_of_record(file);
    RecordTensors tensors = record.tensors();
    RecordTensor tensor;
    bool found = false;
    while (!found && tensors.next(tensor)) found = tensor.is_output;
    std::string reason = "it has no output";
    if (!found || !read_op_debug(record, tensor, overflow.debug, reason)) {
      fail(file.path + ": " + reason);
      continue;
    }
    if (const OpDebug::Block* block = reporting_block(overflow.debug)) op_files.want(file, *block);
    overflows.push_back(std::move(overflow));
  }
  op_files.read(files);
  for (Overflow& overflow : overflows) {
    const FoundFile& file = overflow.debug_file;
    if (const OpDebug::Block* block = reporting_block(overflow.debug))
      overflow.op_file = op_files.find(file, overflow.unix_us, *block);
    if (overflow.unix_us != 0) overflow.unix_us = clocks.time_of(file, overflow.unix_us);
  }
  std::stable_sort(overflows.begin(), overflows.end(), [](const Overflow& a, const Overflow& b) {
    return std::pair(boot_of(a.debug_file.path), a.unix_us) <
           std::pair(boot_of(b.debug_file.path), b.unix_us);
  });
  return overflows;
}

}  // namespace opdump::tool
