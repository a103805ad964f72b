#include "src/tool/read/overflow/op_debug.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "opdump/types/overflow.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"

namespace opdump::tool {

namespace {

constexpr std::uint32_t kOpDebugMagic = 0x5a5a5a5a;
constexpr std::size_t kOldBytes = 2048;

constexpr std::string_view kCoreFields[] = {"model_id",   "stream_id", "task_id",  "task_type",
                                            "context_id", "thread_id", "pc_start", "para_base",
                                            "core_id",    "block_id",  "status"};
constexpr std::string_view kCpuFields[] = {"model_id",   "stream_id", "task_id",   "task_type",
                                           "context_id", "cpu_id",    "thread_id", "status"};
constexpr std::string_view kDmaFields[] = {"model_id",  "stream_id", "task_id",  "task_type",  "context_id",
                                           "thread_id", "src_addr",  "dst_addr", "channel_id", "status"};
constexpr std::string_view kOldFields[] = {"model_id",  "stream_id", "task_id",
                                           "task_type", "pc_start",  "para_base"};

struct CoreUnit {
  std::string_view name;
  std::span<const std::string_view> fields;
};

/// Indexed by the accelerator's type.
constexpr CoreUnit kUnits[] = {
    {"AIC", kCoreFields}, {"AIV", kCoreFields}, {"AICPU", kCpuFields}, {"SDMA", kDmaFields}};

/// Where the old layout has a unit's six fields, and where its status.
struct OldUnit {
  std::string_view name;
  std::size_t fields;
  std::size_t status;
};
constexpr OldUnit kOldUnits[] = {
    {"DHA Atomic Add", 0, 512}, {"L2 Atomic Add", 128, 768}, {"AI Core", 256, 1024}};

bool is_address(std::string_view name) {
  constexpr std::string_view kAddresses[] = {"pc_start", "para_base", "src_addr", "dst_addr", "kernel_code"};
  return std::ranges::find(kAddresses, name) != std::end(kAddresses);
}

OpDebug::Field one_field(std::string_view name, std::uint64_t value) {
  return {name, {value}, is_address(name)};
}

std::uint64_t word_at(Bytes bytes, std::size_t offset) {
  return load_little_endian<std::uint64_t>(bytes.data() + offset);
}

OpDebug parse_old(Bytes bytes) {
  OpDebug debug;
  debug.is_old = true;
  for (const OldUnit& unit : kOldUnits) {
    OpDebug::Block block = {unit.name, {}};
    for (std::size_t i = 0; i < std::size(kOldFields); ++i)
      block.fields.push_back(one_field(kOldFields[i], word_at(bytes, unit.fields + 8 * i)));
    std::size_t status = unit.status;
    if (unit.name == "AI Core") {
      block.fields.push_back(one_field("kernel_code", word_at(bytes, status)));
      block.fields.push_back(one_field("block_idx", word_at(bytes, status + 8)));
      status += 16;
    }
    block.fields.push_back(one_field("status", word_at(bytes, status)));
    debug.blocks.push_back(std::move(block));
  }
  debug.searched = word_at(bytes, 8 * kSearchedWord) == 1;
  return debug;
}

std::string hex_text(std::uint64_t value) {
  char digits[16];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, 16);
  return "0x" + std::string(digits, end);
}

void write_fields(JsonWriter& json, const OpDebug::Block& block) {
  for (const OpDebug::Field& field : block.fields) {
    json.key(field.name);
    if (field.values.size() > 1) {
      json.open('[');
      for (const std::uint64_t value : field.values) json.number(value);
      json.close(']');
    } else if (field.is_hex) {
      json.text(hex_text(field.values[0]));
    } else {
      json.number(field.values[0]);
    }
  }
}

}  // namespace

std::uint64_t OpDebug::Block::value(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return field.values[0];
  }
  return 0;
}

bool OpDebug::Block::has(std::string_view name) const {
  return std::ranges::any_of(fields, [name](const Field& field) { return field.name == name; });
}

std::uint64_t OpDebug::Block::status() const {
  std::uint64_t joined = 0;
  for (const Field& field : fields) {
    if (field.name == "status") {
      for (const std::uint64_t value : field.values) joined |= value;
    }
  }
  return joined;
}

bool parse_op_debug(Bytes bytes, OpDebug& debug, std::string& reason) {
  debug = {};
  ByteReader in(bytes);
  if (in.read<std::uint32_t>() != kOpDebugMagic || in.truncated()) {
    if (bytes.size() != kOldBytes) {
      reason = "neither the magic number of the new layout nor the " + std::to_string(kOldBytes) +
               " bytes of the old one, but " + std::to_string(bytes.size());
      return false;
    }
    debug = parse_old(bytes);
    return true;
  }
  debug.version = in.read<std::uint32_t>();
  debug.valid = in.read<std::uint32_t>();
  const std::uint32_t type = in.read<std::uint32_t>();
  debug.reserved = in.read<std::uint32_t>();
  debug.data_bytes = in.read<std::uint32_t>();
  if (!in.truncated() && type >= std::size(kUnits)) {
    reason = "nobody reports with the type " + std::to_string(type) + ": 0 to 3 are known";
    return false;
  }
  OpDebug::Block block;
  if (!in.truncated()) {
    constexpr std::size_t kStatusWords = 4;
    block.unit = kUnits[type].name;
    const bool wide = debug.version == 1 && kUnits[type].fields.data() == kCoreFields;
    for (const std::string_view name : kUnits[type].fields) {
      OpDebug::Field field = one_field(name, in.read<std::uint64_t>());
      for (std::size_t i = 1; wide && name == "status" && i < kStatusWords; ++i)
        field.values.push_back(in.read<std::uint64_t>());
      block.fields.push_back(std::move(field));
    }
  }
  if (in.truncated()) {
    reason = "ends inside its fields, after " + std::to_string(bytes.size()) + " bytes";
    return false;
  }
  debug.blocks.push_back(std::move(block));
  return true;
}

std::string op_debug_json(const OpDebug& debug) {
  constexpr std::size_t kIndent = 4;
  JsonWriter json(kIndent);
  json.open('{');
  if (debug.is_old) {
    for (const OpDebug::Block& block : debug.blocks) {
      json.key(block.unit).open('{');
      write_fields(json, block);
      json.close('}');
    }
  } else {
    json.key("magic").text(hex_text(kOpDebugMagic));
    json.key("version").number(debug.version);
    json.key("acc_list").open('{');
    json.key("valid").number(debug.valid);
    json.key("acc_type").text(debug.blocks[0].unit);
    json.key("rsv").number(debug.reserved);
    json.key("data_len").number(debug.data_bytes);
    json.key("data").open('{');
    write_fields(json, debug.blocks[0]);
    json.close('}').close('}');
  }
  json.close('}');
  return json.take();
}

std::vector<std::string_view> status_texts(std::uint64_t status) {
  constexpr std::pair<std::uint64_t, std::string_view> kBits[] = {
      {0x8, "negating the smallest signed integer"},
      {0x10, "integer addition, subtraction, multiplication or multiply-add"},
      {0x20, "floating-point computation"},
      {0x80, "converting a negative number to an unsigned one"},
      {0x100, "converting float32 or int32 to float16"},
      {0x400, "accumulating in the cube unit"},
  };
  std::vector<std::string_view> texts;
  for (const auto& [bit, text] : kBits) {
    if ((status & bit) != 0) texts.push_back(text);
  }
  return texts;
}

bool is_op_debug_name(std::string_view file_name) {
  constexpr std::string_view kPrefix = "opdebug.node_opdebug.";
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return file_name.size() >= kPrefix.size() && std::equal(kPrefix.begin(), kPrefix.end(), file_name.begin(),
                                                          [same](char b, char a) { return same(a, b); });
}

bool read_op_debug(RecordFile& file, const RecordTensor& tensor, OpDebug& debug, std::string& reason) {
  constexpr std::uint64_t kMostBytes = 4096;
  Result<std::uint64_t> bytes = tensor.bytes;
  if (tensor.has_shape && tensor.rank != 0 && tensor.dtype != DType::undefined)
    bytes = packed_bytes(tensor.dtype, tensor.shape());
  if (!bytes.ok() || bytes.value() > tensor.bytes) {
    reason = "the shape needs more bytes than the tensor has";
    return false;
  }
  std::vector<std::byte> all(static_cast<std::size_t>(std::min(bytes.value(), kMostBytes)));
  if (!file.read(tensor.data_offset, all)) {
    reason = file.error();
    return false;
  }
  return parse_op_debug(all, debug, reason);
}

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
