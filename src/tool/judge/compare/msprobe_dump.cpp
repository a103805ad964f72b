#include "src/tool/judge/compare/msprobe_dump.hpp"

#include <stdlib.h>
#include <algorithm>
#include <cmath>

#include "opdump/base/digest.hpp"
#include "src/config/json/json_tree.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

using config::JsonNode;
using config::JsonType;

/// Python writes these as they stand here, which no JSON may hold. Both columns are equally long.
constexpr std::pair<std::string_view, std::string_view> kNotFinite[] = {
    {"-Infinity", "\"-infini\""}, {"Infinity", "\"infini\""}, {"NaN", "\"n\""}};

std::string as_json(std::string_view text) {
  std::string json(text);
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (quoted && json[i] == '\\') {
      ++i;
      continue;
    }
    quoted ^= json[i] == '"';
    for (const auto& [word, stand_in] : kNotFinite) {
      if (quoted || json.compare(i, word.size(), word) != 0) continue;
      json.replace(i, word.size(), stand_in);
      i += word.size() - 1;
      break;
    }
  }
  return json;
}

class Reader {
 public:
  Reader(std::string_view text, std::vector<MsprobeRun>& runs) : text_(text), runs_(runs) {}

  void read_run(const JsonNode& node) {
    MsprobeRun run;
    run.name = parse_msprobe_name(node.key());
    for (const char* key : {"input_args", "input_kwargs", "input"}) add_tensors(node.member(key), false, run);
    // What a module has of its own comes behind what it is given.
    add_tensors(node.member("parameters"), false, run);
    add_tensors(node.member("output"), true, run);
    if (node.key().ends_with(".parameters_grad")) add_tensors(&node, true, run);
    runs_.push_back(std::move(run));
  }

 private:
  /// Tensors lie in lists, tuples and dictionaries.
  void add_tensors(const JsonNode* node, bool is_output, MsprobeRun& run) {
    if (node == nullptr || (node->type() != JsonType::object && node->type() != JsonType::array)) return;
    const JsonNode* const type = node->member("type");
    const bool described = type != nullptr && type->type() == JsonType::string;
    if (described && !type->text().ends_with("Tensor") && !type->text().ends_with("Parameter")) return;
    if (described) return add_tensor(*node, is_output, run);
    for (const JsonNode* child = node->first(); child != nullptr; child = child->next())
      add_tensors(child, is_output, run);
  }

  void add_tensor(const JsonNode& node, bool is_output, MsprobeRun& run) {
    MsprobeTensor tensor;
    tensor.is_output = is_output;
    tensor.index = static_cast<std::uint32_t>(
        std::count_if(run.tensors.begin(), run.tensors.end(),
                      [&](const MsprobeTensor& other) { return other.is_output == is_output; }));
    if (const JsonNode* const file = node.member("data_name"); file != nullptr) tensor.file = file->text();
    tensor.is_pickled = tensor.file.ends_with(".pt");
    if (tensor.is_pickled) tensor.file.clear();
    if (const JsonNode* const dtype = node.member("dtype"); dtype != nullptr) {
      std::string name(dtype->text().substr(dtype->text().rfind('.') + 1));
      std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
      });
      tensor.dtype = dtype_from_name(name).ok() ? dtype_from_name(name).value() : DType::undefined;
    }
    const JsonNode* const shape = node.member("shape");
    for (const JsonNode* dim = shape != nullptr ? shape->first() : nullptr; dim != nullptr;
         dim = dim->next()) {
      const std::string_view rest = text_.substr(dim->offset());
      tensor.shape.push_back(parse_decimal(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0));
    }
    tensor.summary.dialect = StatisticsDialect::mindspore;  // the rules of PyTorch are the same
    tensor.summary.max = number(node.member("Max"));
    tensor.summary.min = number(node.member("Min"));
    tensor.summary.mean = number(node.member("Mean"));
    tensor.summary.l2_norm = number(node.member("Norm"));
    // Called so, it is a CRC-32 in all versions but the first.
    const JsonNode* const digest = node.member("md5");
    if (digest != nullptr && digest->type() == JsonType::string)
      (digest->text().size() == 2 * Md5::kBytes ? tensor.summary.md5 : tensor.summary.crc32) = digest->text();
    run.tensors.push_back(std::move(tensor));
  }

  std::optional<double> number(const JsonNode* node) const {
    if (node == nullptr) return std::nullopt;
    if (node->type() == JsonType::number) {
      const std::string_view rest = text_.substr(node->offset());
      return strtod(std::string(rest.substr(0, rest.find_first_of(",}] \r\n"))).c_str(), nullptr);
    }
    // Of tensors of bool.
    if (node->type() == JsonType::boolean) return text_[node->offset()] == 't' ? 1 : 0;
    if (node->type() != JsonType::string) return std::nullopt;
    if (node->text() == "n" || node->text() == "nan") return NAN;
    if (node->text() == "infini" || node->text() == "inf") return HUGE_VAL;
    if (node->text() == "-infini" || node->text() == "-inf") return -HUGE_VAL;
    return std::nullopt;
  }

  std::string_view text_;
  std::vector<MsprobeRun>& runs_;
};

}  // namespace

MsprobeName parse_msprobe_name(std::string_view name) {
  const std::vector<std::string_view> parts = parts_of(name);
  const std::size_t count = parts.size();
  const auto between = [&](std::size_t first, std::size_t end) {
    return std::string(parts[first].data(), parts[end - 1].data() + parts[end - 1].size());
  };
  // PREFIX.NAME.CALL.forward
  if (count >= 4 && parts[count - 1] == "forward" && parse_decimal(parts[count - 2]))
    return {between(1, count - 2), {}};
  // PREFIX.NAME.CLASS.forward.CALL
  if (count >= 5 && parts[count - 2] == "forward" && parse_decimal(parts[count - 1]))
    return {between(1, count - 3), std::string(parts[count - 3])};
  return {std::string(name), {}};
}

bool read_msprobe_dump(std::string_view file, std::vector<MsprobeRun>& runs, std::string& error) {
  const std::string text = as_json(file);
  ConfigError problem;
  config::Refusal refusal(text, problem);
  config::JsonTree tree;
  if (!tree.parse(text, refusal)) {
    error = "is no JSON: " + problem.reason;
    return false;
  }
  const JsonNode* const data = tree.root().member("data");
  const JsonNode* const place = tree.root().member("dump_data_dir");
  if (data == nullptr || data->type() != JsonType::object || place == nullptr) return false;
  Reader reader(text, runs);
  for (const JsonNode* run = data->first(); run != nullptr; run = run->next()) reader.read_run(*run);
  return true;
}

bool for_each_number(const DumpSide& side, const DumpTensor& tensor,
                     const std::function<void(std::span<const double>)>& use) {
  constexpr std::uint64_t kPiece =
      1024;  // a multiple of 8, so that pieces of small elements begin with a byte
  const ReadElements read_elements = element_reader(tensor.dtype);
  CompareElements elements;
  if (!tensor.problem.empty() || read_elements == nullptr || !elements.open(side, tensor, std::nullopt))
    return false;
  const std::uint64_t bits = info(tensor.dtype).bits;
  for (std::uint64_t done = 0; done < tensor.elements; done += kPiece) {
    const std::size_t now = static_cast<std::size_t>(std::min(kPiece, tensor.elements - done));
    std::byte room[kPiece * sizeof(double) * 2];
    const std::byte* const from = elements.read(done * bits / 8, (now * bits + 7) / 8, room);
    if (from == nullptr) return false;
    double numbers[kPiece];
    read_elements(from, now, numbers);
    use(std::span<const double>(numbers, now));
  }
  return !elements.failed();
}

}  // namespace opdump::tool
