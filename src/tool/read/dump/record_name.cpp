#include "src/tool/read/dump/record_name.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <limits>
#include <span>
#include <utility>

#include "opdump/base/text.hpp"
#include "opdump/types/format.hpp"
#include "src/config/letters.hpp"
#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {
namespace {

/// Cuts the part behind the last `separator` off `text`; all of it when there is none.
std::string_view cut_last(std::string_view& text, char separator) {
  const std::size_t at = text.rfind(separator);
  const std::string_view part = at == std::string_view::npos ? text : text.substr(at + 1);
  text = at == std::string_view::npos ? std::string_view() : text.substr(0, at);
  return part;
}

constexpr std::size_t kFailureDigits = 17;

/// Whether the parts of a name are those of one of `whole` or `longer` parts without its fourth, the stream.
bool lacks_only_stream(std::span<const std::string_view> parts, std::size_t whole, std::size_t longer) {
  constexpr std::size_t kTimeDigits = 16;
  if (parts.size() + 1 != whole && parts.size() + 1 != longer) return false;
  return parts[3].size() == kTimeDigits || parts[3].size() == kFailureDigits;
}

/// Of YYYYMMDDHHMMSSmmm.
std::uint64_t calendar_us(std::uint64_t digits) {
  const auto cut = [&digits](std::uint64_t base) {
    return static_cast<int>(std::exchange(digits, digits / base) % base);
  };
  const int milliseconds = cut(1000);
  std::tm time{};
  for (int* const part : {&time.tm_sec, &time.tm_min, &time.tm_hour, &time.tm_mday, &time.tm_mon})
    *part = cut(100);
  time.tm_mon -= 1;
  time.tm_year = static_cast<int>(digits) - 1900;
  return static_cast<std::uint64_t>(timegm(&time)) * 1'000'000 + static_cast<unsigned>(milliseconds) * 1000u;
}

}  // namespace

bool is_of_model(const RecordPlace& place, std::string_view name, std::uint64_t id) {
  return sanitised(name) == place.model && (!place.has_model_id || id == place.model_id);
}

std::uint64_t device_of(std::string_view directory, const RecordPlace& place) {
  constexpr std::string_view kRank = "rank_";
  std::string_view above =
      directory.substr(0, static_cast<std::size_t>(place.model.data() - directory.data()));
  if (above.ends_with('/')) above.remove_suffix(1);
  std::string_view name = above.substr(above.rfind('/') + 1);
  if (name.starts_with(kRank)) name.remove_prefix(kRank.size());
  return parse_decimal(name).value_or(0);
}

std::string sanitised(std::string_view name) {
  std::string memory(std::max<std::size_t>(name.size(), 1), '\0');
  TextWriter writer(memory);
  writer.add_sanitised(name);
  return std::string(writer.text());
}

std::string_view without_scope(std::string_view name) {
  constexpr std::string_view kNumber = "-op";
  const std::size_t at = name.rfind(kNumber);
  if (at == name.npos || !parse_decimal(name.substr(at + kNumber.size()))) return {};
  return name.substr(name.find_last_of("_/.", at) + 1);
}

bool differ_by_scope(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() == b.size() || !a.ends_with(b) || without_scope(b).empty()) return false;
  return std::string_view("_/.").find(a[a.size() - b.size() - 1]) != std::string_view::npos;
}

bool is_asked_for(const std::string& glob, std::string_view op) {
  return fnmatch(glob.c_str(), std::string(op).c_str(), 0) == 0 || differ_by_scope(sanitised(glob), op);
}

std::optional<RecordName> parse_record_name(std::string_view file_name) {
  constexpr std::size_t kShort = 5;
  constexpr std::size_t kLong = 9;
  std::array<std::string_view, kLong + 1> parts{};
  std::size_t count = 0;
  for (std::size_t start = 0; start <= file_name.size(); ++count) {
    if (count == parts.size()) return std::nullopt;
    const std::size_t dot = std::min(file_name.find('.', start), file_name.size());
    parts[count] = file_name.substr(start, dot - start);
    start = dot + 1;
  }
  if (parts[0].empty() || parts[1].empty()) return std::nullopt;
  const bool is_counted = count == kShort + 1 || count == kLong + 1;
  if (is_counted) {
    if (!parse_decimal(parts[2])) return std::nullopt;
    std::copy(parts.begin() + 3, parts.end(), parts.begin() + 2);
    --count;
  }
  constexpr std::size_t kTime = 4;
  const bool has_stream = count == kShort || count == kLong;
  const bool failed = count == kTime && parts[kTime - 1].size() == kFailureDigits;
  if (!has_stream) {
    if (!lacks_only_stream(std::span(parts).first(count), kShort, kLong)) return std::nullopt;
    std::copy_backward(parts.begin() + kTime - 1, parts.end() - 1, parts.end());
    parts[kTime - 1] = "0";
    ++count;
  }
  std::array<std::uint64_t, kLong> numbers{};
  for (std::size_t i = 2; i < count; ++i) {
    const std::optional<std::uint64_t> number = parse_decimal(parts[i]);
    if (!number && (i != kShort || parts[i] != "FFTSPLUS")) return std::nullopt;
    numbers[i] = number.value_or(0);
  }
  constexpr std::size_t kContext = 6;
  constexpr std::size_t kThread = 7;
  const std::optional<std::uint64_t> stream =
      failed && parts[0] == kFailureType ? parse_decimal(parts[1]) : std::nullopt;
  return RecordName{.type = parts[0],
                    .name = stream ? file_name.substr(0, file_name.rfind('.')) : parts[1],
                    .task = numbers[2],
                    .stream = has_stream ? numbers[3] : stream.value_or(UINT64_MAX),
                    .unix_us = failed ? calendar_us(numbers[kTime]) : numbers[kTime],
                    .has_thread = count == kLong,
                    .context = numbers[kContext],
                    .thread = numbers[kThread]};
}

std::optional<TensorName> parse_tensor_name(std::string_view file_name) {
  if (cut_last(file_name, '.') != "npy") return std::nullopt;
  for (const int words : {2, 1, 0}) {
    std::string_view rest = file_name;
    TensorName tensor;
    if (words == 2) tensor.dtype = cut_last(rest, '.');
    if (words != 0) tensor.format = cut_last(rest, '.');
    const std::optional<std::uint64_t> index = parse_decimal(cut_last(rest, '.'));
    const std::string_view role = cut_last(rest, '.');
    const std::optional<RecordName> record = parse_record_name(rest);
    if (!index || !record || (role != "input" && role != "output")) continue;
    tensor.record = *record;
    tensor.is_output = role == "output";
    tensor.index = *index;
    return tensor;
  }
  return std::nullopt;
}

std::optional<RecordName> find_record_name(std::string_view file_name) {
  constexpr std::string_view kStatistics = ".csv";
  if (const std::optional<TensorName> tensor = parse_tensor_name(file_name)) return tensor->record;
  if (const std::optional<LiteName> lite = parse_lite_name(file_name))
    return RecordName{.type = {}, .name = lite->op, .name_only = true};
  if (file_name.ends_with(kStatistics)) file_name.remove_suffix(kStatistics.size());
  return parse_record_name(file_name);
}

std::optional<RecordPlace> parse_record_place(std::string_view directory) {
  constexpr std::string_view kRank = "rank_";
  constexpr std::size_t kTimeDigits = 14;
  const std::optional<std::uint64_t> step = parse_decimal(cut_last(directory, '/'));
  const std::optional<std::uint64_t> model_id = parse_decimal(cut_last(directory, '/'));
  const std::string_view model = cut_last(directory, '/');
  const std::string_view above = cut_last(directory, '/');
  if (step && model_id && above.starts_with(kRank) && parse_decimal(above.substr(kRank.size())))
    return RecordPlace{model, *model_id, *step};
  const std::optional<std::uint64_t> device = parse_decimal(above);
  const std::string_view time = cut_last(directory, '/');
  if (!step || !model_id || !device || time.size() != kTimeDigits || !parse_decimal(time))
    return std::nullopt;
  return RecordPlace{model, *model_id, *step};
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    const std::size_t first_a = i;
    const std::size_t first_b = j;
    while (i < a.size() && is_digit(a[i])) ++i;
    while (j < b.size() && is_digit(b[j])) ++j;
    if (i - first_a != j - first_b) return i - first_a < j - first_b;
    const int order = a.substr(first_a, i - first_a).compare(b.substr(first_b, j - first_b));
    if (order != 0) return order < 0;
  }
  if (i == a.size() && j == b.size()) return a < b;
  return i == a.size();
}

namespace {

// Source: the tool's tables of words.
constexpr std::string_view kLiteDTypes[] = {"Float16", "Float32", "Int8",   "Int16", "Int32", "UInt8",
                                            "UInt16",  "UInt32",  "String", "Bool",  "Tensor"};
constexpr std::string_view kLiteFormats[] = {"NCHW", "NHWC", "NHWC4", "HWKC",   "HWCK",
                                             "KCHW", "CKHW", "KHWC",  "CHWK",   "HW",
                                             "HW4",  "NC",   "NC4",   "NC4HW4", "NCDHW"};

template <std::size_t kWords>
bool is_one_of(std::string_view word, const std::string_view (&words)[kWords]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Reads `{dim}_{dim}_{dtype}_{format}`, of which each part may be missing.
bool parse_tail(std::string_view tail, LiteName& name) {
  while (!tail.empty()) {
    const std::size_t end = std::min(tail.find('_'), tail.size());
    const std::optional<std::uint64_t> dim = parse_decimal(tail.substr(0, end));
    if (!dim || end == tail.size()) break;
    name.shape.push_back(*dim);
    tail.remove_prefix(end + 1);
  }
  if (name.shape.size() > kMaxRank) return false;
  const std::size_t end = std::min(tail.find('_'), tail.size());
  name.dtype = tail.substr(0, end);
  if (!name.dtype.empty() && !is_one_of(name.dtype, kLiteDTypes)) return false;
  if (end == tail.size()) return true;
  name.format = tail.substr(end + 1);
  return is_one_of(name.format, kLiteFormats);
}

/// Reads `{name}_{input|output}_{index}`.
bool parse_front(std::string_view front, LiteName& name) {
  const std::size_t last = front.rfind('_');
  if (last == front.npos) return false;
  const std::optional<std::uint64_t> index = parse_decimal(front.substr(last + 1));
  if (!index || *index > std::numeric_limits<std::uint32_t>::max()) return false;
  name.index = static_cast<std::uint32_t>(*index);
  front = front.substr(0, last);
  name.is_output = front.ends_with("_output");
  if (!name.is_output && !front.ends_with("_input")) return false;
  name.op = front.substr(0, front.rfind('_'));
  return !name.op.empty();
}

}  // namespace

std::optional<LiteName> parse_lite_name(std::string_view file_name) {
  constexpr std::string_view kSuffix = ".bin";
  constexpr std::string_view kShape = "_shape_";
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  file_name.remove_suffix(kSuffix.size());
  const std::size_t shape = file_name.rfind(kShape);
  LiteName name;
  if (shape == file_name.npos || !parse_tail(file_name.substr(shape + kShape.size()), name) ||
      !parse_front(file_name.substr(0, shape), name))
    return std::nullopt;
  return name;
}

DType dtype_in_name(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), config::lower);
  const Result<DType> dtype = dtype_from_name(text);
  return dtype.ok() ? dtype.value() : DType::undefined;
}

RecordTensor named_tensor(const LiteName& name) {
  RecordTensor tensor;
  tensor.is_output = name.is_output;
  tensor.index = name.index;
  tensor.dtype_known = true;
  if (const DType dtype = dtype_in_name(name.dtype); dtype != DType::undefined) tensor.dtype = dtype;
  if (const Result<Format> format = format_from_name(name.format); format.ok())
    tensor.format = format.value();
  tensor.has_shape = true;
  tensor.rank = static_cast<std::uint8_t>(name.shape.size());
  std::copy(name.shape.begin(), name.shape.end(), tensor.dims);
  return tensor;
}

std::optional<RecordPlace> parse_lite_place(std::string_view directory) {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  const std::size_t slash = directory.rfind('/');
  const std::optional<std::uint64_t> step = parse_decimal(directory.substr(slash + 1));
  if (slash == directory.npos || !step) return std::nullopt;
  const std::string_view above = directory.substr(0, slash);
  return RecordPlace{.model = above.substr(above.rfind('/') + 1), .step = *step, .has_model_id = false};
}

}  // namespace opdump::tool
