#include "src/tool/read/overflow/op_debug.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "opdump/types/overflow.hpp"
#include "src/tool/cli/json.hpp"

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

}  // namespace opdump::tool
