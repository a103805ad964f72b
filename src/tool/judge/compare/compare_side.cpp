#include "src/tool/judge/compare/compare_side.hpp"

#include <stdlib.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/base/digest.hpp"
#include "opdump/types/privacy.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/read/dump/array_container.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/npy_array.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/dump/statistics_file.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"

namespace opdump::tool {
namespace {

/// Where "input" or "output" stands with a number behind it, as far back as possible; nothing without.
std::optional<std::size_t> role_at(const std::vector<std::string_view>& parts) {
  for (std::size_t i = parts.size(); i-- > 2;) {
    if ((parts[i - 1] == "input" || parts[i - 1] == "output") && parse_decimal(parts[i])) return i - 1;
  }
  return std::nullopt;
}

std::uint32_t index_of(std::string_view text) {
  const std::uint64_t number = parse_decimal(text).value_or(0);
  return number <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(number) : 0;
}

/// `{model}/{step}/{type}.{name}/{role}.{index}`, where the model may be missing, and another part with a number
/// may stand before the role. Nothing when it is not of that form.
std::optional<NpyName> parse_export_key(std::string_view key) {
  std::vector<std::string_view> parts;
  for (std::size_t slash; (slash = key.find('/')) != std::string_view::npos; key.remove_prefix(slash + 1))
    parts.push_back(key.substr(0, slash));
  const std::size_t dot = key.find('.');
  const std::string_view role = key.substr(0, dot);
  if (dot == std::string_view::npos || (role != "input" && role != "output") ||
      !parse_decimal(key.substr(dot + 1)))
    return std::nullopt;
  NpyName name;
  name.is_output = role == "output";
  name.index = index_of(key.substr(dot + 1));
  const auto is_step = [&parts](std::size_t part) {
    return part < parts.size() && parse_decimal(parts[part]);
  };
  const std::size_t step = is_step(0) && (parts.size() == 2 || (parts.size() == 3 && is_step(2))) ? 0 : 1;
  const std::size_t behind = parts.size() - std::min(parts.size(), step + 1);
  if (!is_step(step) || behind < 1 || behind > 2 || (behind == 2 && !is_step(step + 2))) return std::nullopt;
  if (step != 0) {
    name.model = parts[0];
    name.step = parse_decimal(parts[1]);
  }
  const std::string_view op = parts[step + 1];
  const std::size_t type = op.find('.');
  if (type != std::string_view::npos) name.type = op.substr(0, type);
  name.op = type == std::string_view::npos ? op : op.substr(type + 1);
  return name;
}

}  // namespace

NpyName parse_array_name(std::string_view file_name) {
  if (const std::optional<NpyName> exported = parse_export_key(file_name)) return *exported;
  constexpr std::string_view kSuffix = ".npy";
  if (file_name.ends_with(kSuffix)) file_name.remove_suffix(kSuffix.size());
  NpyName name;
  name.op = file_name;
  const std::vector<std::string_view> parts = parts_of(file_name);
  const auto before = [&](std::size_t part) {
    return part == 0
               ? std::string_view()
               : file_name.substr(0, static_cast<std::size_t>(parts[part].data() - file_name.data()) - 1);
  };
  if (const std::optional<std::size_t> role = role_at(parts)) {
    name.is_output = parts[*role] == "output";
    name.index = index_of(parts[*role + 1]);
    const std::string_view front = before(*role);
    const std::optional<RecordName> record = parse_record_name(front);
    name.op = record ? record->name : front;
    if (record) {
      name.type = record->type;
      name.unix_us = record->unix_us;
      name.task = record->task;
    }
    return name;
  }
  // NAME.index.time, where the name may hold dots.
  if (parts.size() >= 3) {
    const std::optional<std::uint64_t> index = parse_decimal(parts[parts.size() - 2]);
    const std::optional<std::uint64_t> time = parse_decimal(parts[parts.size() - 1]);
    if (index && time) {
      name.op = before(parts.size() - 2);
      name.index = index_of(parts[parts.size() - 2]);
      name.unix_us = *time;
    }
  }
  return name;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t dot; (dot = text.find('.')) != std::string_view::npos; text.remove_prefix(dot + 1))
    parts.push_back(text.substr(0, dot));
  parts.push_back(text);
  return parts;
}

namespace {

std::optional<double> number_of(const std::string& cell) {
  char* end = nullptr;
  const double number = strtod(cell.c_str(), &end);
  return cell.empty() || *end != '\0' ? std::nullopt : std::optional(number);
}

struct Column {
  const char* title;
  std::optional<double> TensorSummary::*number;
  const char* what;
};
constexpr Column kColumns[] = {
    {"Max Value", &TensorSummary::max, "max"},   {"Min Value", &TensorSummary::min, "min"},
    {"Avg Value", &TensorSummary::mean, "mean"}, {"L2Norm Value", &TensorSummary::l2_norm, "norm"},
    {"l2norm", &TensorSummary::l2_norm, "norm"}, {"L2norm", &TensorSummary::l2_norm, "norm"}};

struct CountColumn {
  const char* title;
  std::optional<std::uint64_t> TensorSummary::*count;
  const char* what;
};
constexpr CountColumn kCounts[] = {{"NaN Count", &TensorSummary::nans, "NaNs"},
                                   {"Nan Count", &TensorSummary::nans, "NaNs"},
                                   {"Negative Inf Count", &TensorSummary::negative_infinities, "-inf"},
                                   {"Positive Inf Count", &TensorSummary::positive_infinities, "inf"}};

class Distance {
 public:
  Distance(const TensorSummary& mine, const TensorSummary& golden) : mine_(mine), golden_(golden) {}

  std::optional<SummaryDistance> take() {
    const double range = golden_.max && golden_.min && std::isfinite(*golden_.max - *golden_.min)
                             ? *golden_.max - *golden_.min
                             : 0;
    add("max", mine_.max, golden_.max, range);
    add("min", mine_.min, golden_.min, range);
    add("mean", mine_.mean, golden_.mean, range);
    add("norm", mine_.l2_norm, golden_.l2_norm, golden_.l2_norm.value_or(0));
    for (const CountColumn& column : kCounts) add_count(column);
    for (const auto digest : {&TensorSummary::md5, &TensorSummary::sha1, &TensorSummary::crc32}) {
      if ((mine_.*digest).empty() || (golden_.*digest).empty()) continue;
      result_.same_digest = mine_.*digest == golden_.*digest;
      if (!known_ && !result_.same_digest)
        note(std::numeric_limits<double>::infinity(), "the digests differ");
      known_ = true;
      result_.lone.clear();
    }
    return known_ ? std::optional(result_) : std::nullopt;
  }

 private:
  void add(const char* name, const std::optional<double>& mine, const std::optional<double>& golden,
           double unit) {
    if (!mine || !golden) return note_lone(name, mine.has_value(), golden.has_value());
    known_ = true;
    const bool same = *mine == *golden || (std::isnan(*mine) && std::isnan(*golden));
    if (same) return;
    const double by = unit > 0 ? unit : std::fabs(*golden);
    const double apart = std::fabs(*mine - *golden) / by;
    note(std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart,
         std::string(name) + ' ' + apart_text(*mine, *golden));
  }

  void add_count(const CountColumn& column) {
    const std::optional<std::uint64_t>& mine = mine_.*column.count;
    const std::optional<std::uint64_t>& golden = golden_.*column.count;
    if (!mine || !golden) return note_lone(column.what, mine.has_value(), golden.has_value());
    known_ = true;
    if (*mine != *golden)
      note(std::numeric_limits<double>::infinity(),
           std::to_string(*mine) + ' ' + column.what + " for " + std::to_string(*golden));
  }

  void note_lone(const char* what, bool mine, bool golden) {
    const auto is_unread = [what](const TensorSummary& side) {
      return std::find(side.unread.begin(), side.unread.end(), what) != side.unread.end();
    };
    if ((golden && is_unread(mine_)) || (mine && is_unread(golden_))) result_.lone = what;
  }

  void note(double apart, const std::string& told) {
    if (apart < result_.distance || (apart == result_.distance && !result_.told.empty())) return;
    result_.distance = apart;
    result_.told = told;
  }

  const TensorSummary& mine_;
  const TensorSummary& golden_;
  SummaryDistance result_;
  bool known_ = false;
};

}  // namespace

TensorSummary summary_of(const StatisticsLine& line) {
  TensorSummary summary;
  summary.dialect = line.dialect;
  for (const auto& [title, cell] : line.values) {
    const auto take = [&summary, &is = title](const auto& column, auto& to, const auto& number) {
      if (is != column.title) return;
      to = number;
      if (!number) summary.unread.emplace_back(column.what);
    };
    for (const Column& column : kColumns) take(column, summary.*column.number, number_of(cell));
    for (const CountColumn& column : kCounts) take(column, summary.*column.count, parse_decimal(cell));
    if (title == "MD5" && cell.size() == 2 * Md5::kBytes) summary.md5 = cell;
    if (title == "SHA1" && cell.size() == 2 * Sha1::kBytes) summary.sha1 = cell;
  }
  return summary;
}

std::optional<TensorSummary> summary_of(const DumpSide& side, const DumpTensor& tensor,
                                        StatisticsDialect dialect) {
  opdump::Statistics statistics(DType::float64);
  std::vector<std::byte> bytes;
  const bool read = for_each_number(side, tensor, [&](std::span<const double> numbers) {
    bytes.resize(numbers.size_bytes());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      store_little_endian(bytes.data() + i * sizeof(double), std::bit_cast<std::uint64_t>(numbers[i]));
    statistics.add(bytes);
  });
  if (!read) return std::nullopt;
  const StatisticsSummary all = statistics.summary(dialect);
  TensorSummary summary;
  summary.dialect = dialect;
  summary.nans = all.nan;
  summary.negative_infinities = all.negative_inf;
  summary.positive_infinities = all.positive_inf;
  if (all.count == 0) return summary;
  summary.max = all.max.as_double();
  summary.min = all.min.as_double();
  summary.mean = all.average;
  summary.l2_norm = all.l2norm;
  return summary;
}

std::optional<SummaryDistance> summary_distance(const TensorSummary& mine, const TensorSummary& golden) {
  return Distance(mine, golden).take();
}

namespace {

/// Raw items of NumPy, as it has those of a dtype that it does not know.
bool is_of_no_kind(const DumpTensor& tensor) {
  return tensor.dtype == DType::undefined && tensor.form.item_bytes != 0;
}

/// Fills in what shape and bytes make of the elements, or what is wrong with them.
void count_elements(DumpTensor& tensor, bool has_shape) {
  tensor.has_shape = has_shape;
  if (is_of_no_kind(tensor)) {
    tensor.problem = "its elements are " + count_text(tensor.form.item_bytes, "byte") +
                     " of unknown kind, as NumPy has bfloat16; a card tells their dtype ('--model CARD')";
    return;
  }
  if (tensor.dtype == DType::undefined) {
    tensor.problem = "the file does not tell its dtype; a card does ('--model CARD')";
    return;
  }
  if (element_reader(tensor.dtype) == nullptr) {
    tensor.problem = "elements of " + std::string(info(tensor.dtype).name) + " are no numbers";
    return;
  }
  const std::uint64_t bits = info(tensor.dtype).bits;
  const std::uint64_t most =
      tensor.data_bytes > UINT64_MAX / 8 ? UINT64_MAX / bits : tensor.data_bytes * 8 / bits;
  if (!has_shape) {
    if (most == 0) tensor.problem = "it has neither a shape nor elements";
    tensor.elements = most;
    tensor.shape = {most};
    return;
  }
  const Result<std::uint64_t> count = element_count(tensor.shape);
  if (!count.ok() || count.value() > most) {
    tensor.problem = "its " + std::to_string(tensor.data_bytes) + " bytes do not fill its shape";
    return;
  }
  tensor.elements = count.value();
}

void add_record(const RecordFile& file, std::size_t number, DumpSide& side) {
  RecordTensors reader = file.tensors();
  for (RecordTensor in; reader.next(in);) {
    DumpTensor tensor;
    tensor.file = number;
    tensor.is_output = in.is_output;
    tensor.index = in.index;
    tensor.dtype = in.dtype;
    tensor.layout = memory_layout(in);
    tensor.shape.assign(in.shape().begin(), in.shape().end());
    tensor.data_offset = in.data_offset;
    tensor.data_bytes = in.bytes;
    tensor.address = in.address;
    tensor.original_op = in.original_name;
    tensor.original_index = in.original_index > 0 ? static_cast<std::uint32_t>(in.original_index) : 0;
    if (in.dtype_known) {
      count_elements(tensor, in.has_shape);
    } else {
      tensor.problem = "its dtype code " + std::to_string(in.dtype_code) + " is unknown";
    }
    side.tensors.push_back(tensor);
  }
}

std::string_view stem_of(std::string_view file_name) {
  return file_name.substr(0, file_name.rfind('.'));
}

void take_name(const NpyName& name, DumpFile& file) {
  file.type = name.type;
  file.op = name.op;
  file.unix_us = name.unix_us;
  file.task = name.task;
  if (name.step) file.place = std::string(name.model) + "/" + std::to_string(*name.step);
}

template <class Role, class Array>
DumpTensor tensor_of(std::size_t file, const Role& role, const Array& array) {
  DumpTensor tensor;
  tensor.file = file;
  tensor.is_output = role.is_output;
  tensor.index = role.index;
  tensor.dtype = array.dtype;
  tensor.shape = array.shape;
  return tensor;
}

void add_array(const ContainedArray& array, const NpyName& name, std::size_t file, DumpSide& side) {
  DumpTensor tensor = tensor_of(file, name, array);
  tensor.data_offset = array.offset;
  tensor.data_bytes = array.bytes;
  tensor.form = array.form;
  count_elements(tensor, true);
  side.tensors.push_back(tensor);
}

bool add_npy(const MappedFile& file, std::size_t number, const NpyName& name, DumpSide& side,
             std::string& reason) {
  NpyFile npy;
  if (!parse_npy(file.bytes().first(std::min<std::size_t>(file.bytes().size(), kMostNpyHeadBytes)), npy,
                 reason))
    return false;
  if (file.bytes().size() < npy.data_offset + npy.data_bytes) {
    reason = "the file ends before its last element";
    return false;
  }
  add_array({{}, npy.dtype, npy.shape, npy.data_offset, npy.data_bytes, npy.form}, name, number, side);
  return true;
}

/// Each array is a file of its own in the side, as if it were an `.npy` file of that name.
bool add_container(const MappedFile& file, const FoundFile& found, DumpFile place, DumpSide& side,
                   std::string& reason) {
  std::vector<ContainedArray> arrays;
  if (!read_container(found.real_name, file.bytes(), arrays, reason)) return false;
  for (const ContainedArray& array : arrays) {
    const NpyName name = parse_array_name(array.name.empty() ? stem_of(found.real_name) : array.name);
    add_array(array, name, side.files.size(), side);
    take_name(name, place);
    side.files.push_back(place);
  }
  return reason.empty();
}

/// What numpy has no dtype for is in its files as bytes, of a dtype that their names tell.
void take_named_dtype(const std::string& file_name, DumpTensor& tensor) {
  const std::optional<TensorName> name = parse_tensor_name(file_name);
  if (!name) return;
  const DType dtype = dtype_in_name(name->dtype);
  const bool is_raw =
      tensor.dtype == DType::uint8 || tensor.dtype == DType::uint16 || tensor.dtype == DType::uint32;
  if (dtype == DType::undefined || !(is_raw ? !info(dtype).nano_readable : is_of_no_kind(tensor))) return;
  // Bytes in a row are those of any shape.
  const bool has_shape = tensor.shape.size() != 1;
  const std::uint64_t bits = info(dtype).bits;
  take_dtype(dtype, has_shape || bits == 0 ? tensor.shape : std::vector<Dim>{tensor.data_bytes * 8 / bits},
             tensor);
  tensor.has_shape = has_shape;
}

std::vector<Dim> dims_of(std::string_view shape) {
  std::vector<Dim> dims;
  for (const char letter : shape) {
    if (letter == '[' || letter == ',') dims.push_back(0);
    if (letter >= '0' && letter <= '9' && dims.back() <= (UINT64_MAX - 9) / 10)
      dims.back() = dims.back() * 10 + static_cast<Dim>(letter - '0');
  }
  return shape == "[]" ? std::vector<Dim>() : dims;
}

/// Each operator in a file of statistics is a file of its own in the side.
void add_statistics(const StatisticsRecord& record, DumpFile place, DumpSide& side) {
  place.op = record.name;
  place.type = record.type;
  if (record.record) {
    place.task = record.record->task;
    place.unix_us = record.record->unix_us;
  }
  place.is_record = true;
  for (const StatisticsLine& line : record.lines) {
    const std::string_view kept = std::string_view(line.kept).substr(0, line.kept.find(' '));
    if (!kept.empty()) ++side.kept[line.kept];
    // What is kept of the elements is in the operator's record, and there is nothing to compare of a shape.
    if (kept == kKeptWords[static_cast<std::size_t>(KeptAs::tensor)] ||
        kept == kKeptWords[static_cast<std::size_t>(KeptAs::shape)])
      continue;
    DumpTensor tensor;
    tensor.kept = line.kept;
    tensor.file = side.files.size();
    tensor.is_output = line.is_output;
    tensor.index = static_cast<std::uint32_t>(line.index);
    const Result<DType> dtype = dtype_from_name(line.dtype);
    if (dtype.ok()) tensor.dtype = dtype.value();
    tensor.shape = dims_of(line.shape);
    tensor.has_shape = !line.shape.empty();
    tensor.elements = element_count(tensor.shape).ok() ? element_count(tensor.shape).value() : 0;
    tensor.summary = std::make_shared<TensorSummary>(summary_of(line));
    side.tensors.push_back(tensor);
  }
  side.files.push_back(place);
}

constexpr std::string_view kMsprobeFile = "dump.json";
constexpr std::string_view kMsprobeArrays = "/dump_tensor_data";

/// "rank0/3" of ".../step3/rank0"; empty: the directory is no such one.
std::string msprobe_place(std::string_view directory) {
  const std::size_t slash = directory.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view rank = directory.substr(slash + 1), above = directory.substr(0, slash);
  const std::string_view step = above.substr(above.rfind('/') + 1);
  // The number behind "proc" is that of a process, which is another one in each run.
  const bool is_process = rank.starts_with("proc");
  if ((!is_process && !rank.starts_with("rank")) || !step.starts_with("step") ||
      !parse_decimal(step.substr(4)))
    return {};
  return std::string(is_process ? "proc" : rank) + '/' + std::string(step.substr(4));
}

class SideReader {
 public:
  SideReader(const SearchReport& report, const std::vector<FoundFile>& files)
      : report_(report), clocks_(files) {}

  /// If the file is msprobe's `dump.json`, it is in the side with its arrays.
  void add_msprobe(const FoundFile& found, DumpSide& side) {
    if (found.real_name != kMsprobeFile) return;
    MappedFile json;
    std::vector<MsprobeRun> runs;
    std::string error;
    if (!json.open(found.path) || !read_msprobe_dump(as_text(json.bytes()), runs, error)) {
      if (!error.empty()) report_.error(found.path + ": " + error);
      return;
    }
    msprobe_files_.insert(found.path);
    const std::string directory = directory_of(found);
    msprobe_.push_back((directory.empty() ? "." : directory) + std::string(kMsprobeArrays));
    std::uint64_t turn = 0, pickled = 0;
    for (const MsprobeRun& run : runs) {
      // No time is known, but the order is.
      DumpFile file = {
          .path = found.path, .type = run.name.type, .op = run.name.op, .place = msprobe_place(directory)};
      file.unix_us = ++turn;
      file.boot = boot_of(found.path);
      for (const MsprobeTensor& tensor : run.tensors) {
        add_msprobe_tensor(tensor, file, side);
        pickled += tensor.is_pickled ? 1 : 0;
      }
    }
    if (pickled != 0)
      report_.note(found.path + ": " + count_text(pickled, "tensor") + (pickled == 1 ? " lies" : " lie") +
                   " in .pt files, which are not read: by statistics alone; "
                   "numpy.save(NAME, torch.load(FILE).numpy()) makes an .npy file");
  }

  /// Whether a file is of a dump of msprobe that is in the side.
  bool is_of_msprobe(const FoundFile& found) const {
    const std::string directory = directory_of(found);
    return msprobe_files_.contains(found.path) ||
           std::find(msprobe_.begin(), msprobe_.end(), directory) != msprobe_.end();
  }

  void add(const FoundFile& found, DumpSide& side) {
    DumpFile file;
    file.path = found.path;
    file.boot = boot_of(found.path);
    const std::string& real_name = found.real_name;
    const std::string directory = directory_of(found);
    if (const std::optional<RecordPlace> place = parse_record_place(directory))
      file.place = std::string(place->model) + "/" + std::to_string(place->step);
    const std::size_t number = side.files.size();
    if (real_name.ends_with(".npy")) {
      const NpyName name = parse_array_name(real_name);
      take_name(name, file);
      if (file.unix_us != 0) file.unix_us = clocks_.time_of(found, file.unix_us);
      std::string reason;
      if (!array_.open(found.path)) return report_.error(array_.error());
      if (!add_npy(array_, number, name, side, reason)) return report_.error(found.path + ": " + reason);
      take_named_dtype(real_name, side.tensors.back());
    } else if (is_container(real_name)) {
      std::string reason;
      if (!array_.open(found.path)) return report_.error(array_.error());
      if (!add_container(array_, found, file, side, reason)) report_.error(found.path + ": " + reason);
      return;
    } else if (real_name.ends_with(".csv") &&
               statistics_.open(found) != StatisticsFile::Opened::no_statistics) {
      StatisticsRecord record;
      while (statistics_.next(record)) {
        if (record.record) record.record->unix_us = clocks_.time_of(found, record.record->unix_us);
        add_statistics(record, file, side);
      }
      if (!statistics_.error().empty()) report_.error(statistics_.error());
      return;
    } else if (const std::optional<LiteName> lite = parse_lite_name(real_name)) {
      file.op = lite->op;
      if (const std::optional<RecordPlace> place = parse_lite_place(directory))
        file.place = std::string(place->model) + "/" + std::to_string(place->step);
      file.is_lite = true;
      if (record_.open_bytes(found.path, named_tensor(*lite), lite->padded()) != RecordFile::Opened::ok)
        return report_.error(record_.error());
      add_record(record_, number, side);
      lite_apart_ = lite_apart_ || (lite_files_ != 0 && file.place != lite_place_);
      lite_place_ = file.place;
      ++lite_files_;
    } else {
      const RecordFile::Opened opened = record_.open(found.path);
      if (const Stray stray = judge_stray(found);
          opened == RecordFile::Opened::not_a_record && stray != Stray::error) {
        if (stray == Stray::worth_a_note) report_.note(stray_note(found));
        return;
      }
      if (opened != RecordFile::Opened::ok) return report_.error(record_.error());
      const std::optional<RecordName> name = parse_record_name(real_name);
      file.op = name ? std::string(name->name) : real_name;
      if (name) {
        file.type = name->type;
        file.task = name->task;
        file.unix_us = name->name_only ? 0 : clocks_.time_of(found, name->unix_us);
      }
      file.is_record = true;
      add_record(record_, number, side);
    }
    side.files.push_back(file);
  }

  /// Of MindSpore Lite, a folder is that of a run: its number only tells several of them apart.
  void forget_only_run(DumpSide& side) const {
    if (lite_files_ == 0 || lite_apart_) return;
    for (DumpFile& file : side.files) {
      if (file.is_lite) file.place.clear();
    }
  }

 private:
  /// Each tensor is a file of its own in the side.
  void add_msprobe_tensor(const MsprobeTensor& in, DumpFile file, DumpSide& side) {
    const std::size_t number = side.files.size();
    if (in.file.empty()) {
      DumpTensor tensor = tensor_of(number, in, in);
      tensor.elements = element_count(in.shape).ok() ? element_count(in.shape).value() : 0;
      tensor.summary = std::make_shared<TensorSummary>(in.summary);
      side.tensors.push_back(tensor);
    } else {
      file.path = msprobe_.back() + '/' + in.file;
      NpyName role;
      role.is_output = in.is_output;
      role.index = in.index;
      std::string reason;
      if (!array_.open(file.path)) return report_.error(array_.error());
      if (!add_npy(array_, number, role, side, reason)) return report_.error(file.path + ": " + reason);
    }
    side.files.push_back(file);
  }

  static std::string directory_of(const FoundFile& found) {
    const std::size_t slash = found.path.rfind('/');
    return slash == std::string::npos ? std::string() : found.path.substr(0, slash);
  }

  const SearchReport& report_;
  DumpClocks clocks_;
  MappedFile array_;
  RecordFile record_;
  StatisticsFile statistics_;
  std::uint64_t lite_files_ = 0;      ///< of MindSpore Lite
  std::string lite_place_;            ///< of the last of them
  bool lite_apart_ = false;           ///< not all of them have the same place
  std::vector<std::string> msprobe_;  ///< directories of its arrays
  std::set<std::string> msprobe_files_;
};

/// Gives a tensor of blocks the shape of what they stand for; one of which that is not known stays bytes.
void take_blocks(DumpTensor& tensor) {
  const BlockFormat* const format = block_format(*tensor.quant);
  tensor.quant = tensor.problem.empty() && info(tensor.dtype).bits == 8 ? tensor.quant : nullptr;
  const std::optional<std::vector<Dim>> shape =
      format == nullptr || tensor.quant == nullptr
          ? std::nullopt
          : shape_of_blocks(*format, tensor.elements, tensor.shape, tensor.layout.original_shape);
  const Result<std::uint64_t> elements = shape ? element_count(*shape) : Status::not_supported;
  if (!elements.ok()) {
    tensor.quant = nullptr;
    return;
  }
  tensor.shape = *shape;
  tensor.elements = elements.value();
}

/// Gives a tensor that its record has as bytes the dtype of the card, which has as many of them.
void take_carded_dtype(const RunTensor& carded, DumpTensor& tensor) {
  if (tensor.dtype == DType::undefined && carded.quant.scheme == QuantScheme::block && !tensor.summary) {
    tensor.dtype = DType::uint8;
    tensor.shape = {tensor.data_bytes};
    tensor.problem.clear();
    count_elements(tensor, true);
    return;
  }
  const bool is_of_bytes = tensor.dtype == DType::uint8 || tensor.dtype == DType::undefined;
  if (!is_of_bytes || tensor.summary || carded.dtype == DType::undefined || carded.dtype == tensor.dtype ||
      (info(carded.dtype).nano_readable && !is_of_no_kind(tensor)))
    return;
  const std::vector<Dim>& shape =
      tensor.layout.original_shape.empty() ? tensor.shape : tensor.layout.original_shape;
  take_dtype(carded.dtype, shape, tensor);
}

void read_files(std::vector<FoundFile> found, const SearchReport& report, Progress& progress,
                DumpSide& side) {
  SideReader reader(report, found);
  for (const FoundFile& file : found) {
    reader.add_msprobe(file, side);
    progress.add(0);
  }
  for (FoundFile& file : found) {
    if (!reader.is_of_msprobe(file)) reader.add(file, side);
    if (Progress::is_seen()) progress.add(bytes_of(file));
    file = {};
  }
  reader.forget_only_run(side);
}

/// Arrays tell times of their own: those of one run of an operator get that of the first. A run ends where a tensor
/// comes again, or an input behind an output.
void join_times(DumpSide& side) {
  using Op = std::tuple<std::optional<std::uint32_t>, std::string, std::string, std::string, std::uint64_t>;
  std::map<Op, std::vector<std::size_t>> ops;
  for (std::size_t i = 0; i < side.tensors.size(); ++i) {
    const DumpFile& file = side.files[side.tensors[i].file];
    if (!file.is_record && !file.place.empty() && file.unix_us != 0)
      ops[{file.boot, file.place, file.type, file.op, file.task.value_or(0)}].push_back(i);
  }
  for (auto& [op, tensors] : ops) {
    const auto turn = [&](std::size_t i) {
      const DumpTensor& tensor = side.tensors[i];
      return std::tuple(side.files[tensor.file].unix_us, tensor.is_output, tensor.index);
    };
    std::stable_sort(tensors.begin(), tensors.end(), [&](auto a, auto b) { return turn(a) < turn(b); });
    std::uint64_t start = 0;
    std::set<std::pair<bool, std::uint32_t>> seen;
    for (const std::size_t i : tensors) {
      const auto [when, is_output, index] = turn(i);
      const bool again =
          seen.contains({is_output, index}) || (!is_output && !seen.empty() && seen.rbegin()->first);
      if (again) seen.clear();
      if (seen.empty()) start = when;
      seen.emplace(is_output, index);
      side.files[side.tensors[i].file].unix_us = start;
    }
  }
}

/// An operator that writes to its inputs has a record of them from before, and one of its outputs: both are one run of
/// it, if the records of an operator at a step are such by turns.
void join_halves(DumpSide& side) {
  enum Half : std::uint8_t { kInputs = 1, kOutputs = 2 };
  std::vector<std::uint8_t> halves(side.files.size());
  for (const DumpTensor& tensor : side.tensors) halves[tensor.file] |= tensor.is_output ? kOutputs : kInputs;
  if (std::find(halves.begin(), halves.end(), kInputs) == halves.end()) return;  // mostly
  std::map<OpKey, std::vector<std::size_t>> ops;
  for (std::size_t i = 0; i < side.files.size(); ++i) {
    const DumpFile& file = side.files[i];
    if (!file.is_record || halves[i] == 0) continue;
    ops[{file.boot, file.place, file.type, file.op, file.task.value_or(0), 0, std::nullopt}].push_back(i);
  }
  for (auto& [op, records] : ops) {
    std::stable_sort(records.begin(), records.end(), [&](std::size_t a, std::size_t b) {
      return side.files[a].unix_us < side.files[b].unix_us;
    });
    std::size_t turns = 0;
    while (turns < records.size() && halves[records[turns]] == (turns % 2 == 0 ? kInputs : kOutputs)) ++turns;
    if (turns != records.size() || turns % 2 != 0) continue;
    for (std::size_t turn = 0; turn < turns; turn += 2) {
      DumpFile& outputs = side.files[records[turn + 1]];
      outputs.before = records[turn];
      outputs.unix_us = side.files[records[turn]].unix_us;
    }
  }
}

/// What lies `levels` above a path.
std::string_view above(std::string_view path, int levels) {
  for (; levels != 0; --levels) path = path.substr(0, std::min(path.rfind('/'), path.size()));
  return path;
}

/// The directory of the device that a file is of, "TIME/DEVICE" at its end; empty: its path does not tell it.
std::string_view device_directory(std::string_view path) {
  return parse_record_place(above(path, 1)) ? above(path, 4) : std::string_view();
}

/// Several devices are told apart in the places of their files. Several runs of one operator at one step, beside each
/// other, cannot be: says so, and returns false.
bool part_devices(const std::string& path, const SearchReport& report, DumpSide& side) {
  using Place = std::pair<std::optional<std::uint32_t>, std::string>;
  const auto device_of = [](std::string_view directory) {
    return directory.substr(directory.rfind('/') + 1);
  };
  std::set<std::string_view> directories;
  for (const DumpFile& file : side.files) directories.insert(device_directory(file.path));
  directories.erase("");
  if (directories.size() < 2) return true;
  std::map<Place, std::set<std::string_view>> devices;
  for (const DumpFile& file : side.files) {
    const std::string_view directory = device_directory(file.path);
    std::set<std::string_view>& known = devices[{file.boot, file.place}];
    if (!directory.empty()) known.insert(device_of(directory));
    side.has_devices = side.has_devices || known.size() > 1;
  }
  std::map<std::tuple<Place, std::string, std::string, std::uint64_t>, std::string_view> firsts;
  for (DumpFile& file : side.files) {
    const std::string_view directory = device_directory(file.path);
    const std::size_t slash = file.place.rfind('/');
    if (directory.empty()) continue;
    if (side.has_devices && slash != std::string::npos)
      file.place.insert(slash, " on device " + std::string(device_of(directory)));
    const auto [first, is_new] = firsts.emplace(
        std::tuple(Place(file.boot, file.place), file.type, file.op, file.task.value_or(0)), directory);
    if (is_new || first->second == directory || above(first->second, 2) != above(directory, 2)) continue;
    report.error(path + ": several runs of " + file.place + ", as in " + std::string(first->second) +
                 " and " + std::string(directory) + ": name the directory of one");
    return false;
  }
  return true;
}

/// Models of one name that have operators of one name and type at one step, as a program has that loads one twice, are
/// told apart in the places of their files; graphs of MindSpore's that share none are not.
void part_models(DumpSide& side) {
  std::map<std::string_view, std::uint64_t> any;
  std::map<std::tuple<std::optional<std::uint32_t>, std::string_view, std::string_view, std::string_view>,
           std::uint64_t>
      ids;
  std::set<std::string, std::less<>> several, models;
  const auto place_of = [](const DumpFile& file) {
    const std::optional<RecordPlace> place = parse_record_place(above(file.path, 1));
    return place && place->has_model_id ? place : std::nullopt;
  };
  for (const DumpFile& file : side.files) {
    const std::optional<RecordPlace> place = place_of(file);
    if (place && any.emplace(place->model, place->model_id).first->second != place->model_id)
      several.emplace(place->model);
  }
  for (const DumpFile& file : side.files) {
    const std::optional<RecordPlace> place = several.empty() ? std::nullopt : place_of(file);
    if (!place || !several.contains(place->model)) continue;
    const auto first = ids.emplace(std::tuple(file.boot, std::string_view(file.place),
                                              std::string_view(file.type), std::string_view(file.op)),
                                   place->model_id);
    if (first.first->second != place->model_id) models.emplace(place->model);
  }
  if (models.empty()) return;
  side.has_ids = true;
  for (DumpFile& file : side.files) {
    const std::optional<RecordPlace> place = place_of(file);
    const std::size_t slash = file.place.rfind('/');
    if (!place || !models.contains(place->model) || slash == std::string::npos) continue;
    file.model_id = place->model_id;
    file.place.insert(slash, " of id " + std::to_string(place->model_id));
  }
}

/// Of each file the first one of the same operator at the same time and place.
std::vector<std::size_t> first_files(const DumpSide& side) {
  using Moment = std::tuple<std::optional<std::uint32_t>, std::uint64_t, std::string_view, std::string_view>;
  std::map<Moment, std::size_t> firsts;
  std::vector<std::size_t> first_of;
  for (const DumpFile& file : side.files)
    first_of.push_back(
        firsts.emplace(Moment(file.boot, file.unix_us, file.place, file.op), first_of.size()).first->second);
  return first_of;
}

/// Brings the tensors of `side` into the order of execution; those without a time stay behind, as found.
void sort_tensors(DumpSide& side) {
  const std::vector<std::size_t> firsts = first_files(side);
  const auto turn = [&](const DumpTensor& tensor) {
    const DumpFile& file = side.files[tensor.file];
    const std::uint64_t when = file.unix_us == 0 ? UINT64_MAX : file.unix_us;
    return std::tuple(file.boot, when, firsts[file.before.value_or(tensor.file)], tensor.is_output,
                      tensor.index);
  };
  std::stable_sort(side.tensors.begin(), side.tensors.end(),
                   [&turn](const DumpTensor& a, const DumpTensor& b) { return turn(a) < turn(b); });
}

}  // namespace

UnscopedOps::UnscopedOps(const DumpSide& side) {
  for (const DumpFile& file : side.files) {
    const std::string_view op = without_scope(file.op);
    if (op.empty()) continue;
    const auto [known, is_new] = ops_.try_emplace({file.place, std::string(op)}, file.op);
    if (!is_new && known->second != file.op) known->second.clear();
  }
}

const std::string* UnscopedOps::at(const std::string& place, const std::string& op) const {
  const auto found = ops_.find({place, std::string(without_scope(op))});
  return found == ops_.end() ? nullptr : &found->second;
}

const std::string* UnscopedOps::find(const std::string& place, const std::string& op,
                                     const UnscopedOps& other, const std::string& other_place) const {
  const std::string* const only = other.at(other_place, op);
  if (only == nullptr || *only != op) return nullptr;
  const std::string* const placed = at(place, op);
  const std::string* const found = placed != nullptr ? placed : at({}, op);
  return found != nullptr && differ_by_scope(*found, op) ? found : nullptr;
}

std::string op_text(const DumpFile& file) {
  return (file.type.empty() ? "operator" : file.type) + " \"" + file.op + '"' +
         (file.place.empty() ? "" : " at " + file.place) +
         (file.boot ? " of boot " + std::to_string(*file.boot) : std::string());
}

std::string role_text(const DumpTensor& tensor) {
  return (tensor.is_output ? "output " : "input ") + std::to_string(tensor.index);
}

DumpSide read_side(const std::string& path, const SearchReport& report, std::optional<std::uint32_t> boot) {
  std::vector<FoundFile> found;
  DumpSide side;
  const auto take = [&](const FoundFile& file) {
    if (boot && boot_of(file.path) != boot) return;
    found.push_back(file);
    side.named_file = found.size() == 1 && file.named;
  };
  find_files(path, true, take, report);
  {
    Progress progress(Progress::is_seen() ? total_bytes(found) : 0);
    read_files(std::move(found), above_bar(report, progress), progress, side);
  }
  if (!part_devices(path, report, side)) return {};
  part_models(side);
  join_times(side);
  join_halves(side);
  sort_tensors(side);
  return side;
}

std::string unlike_places(const ToldApart& a, const std::string& a_name, const ToldApart& b,
                          const std::string& b_name) {
  if (a.has_devices != b.has_devices)
    return (a.has_devices ? a_name : b_name) + " is of several devices, and " +
           (a.has_devices ? b_name : a_name) + " of one: name the directory of one, as DUMP/TIME/DEVICE";
  if (a.has_ids != b.has_ids)
    return (a.has_ids ? a_name : b_name) + " has several models of one name, and " +
           (a.has_ids ? b_name : a_name) + " one: name the directory of one, as DUMP/TIME/DEVICE/MODEL/ID";
  return {};
}

void take_dtype(DType dtype, const std::vector<Dim>& shape, DumpTensor& tensor) {
  const Result<std::uint64_t> bytes = packed_bytes(dtype, shape);
  if (!bytes.ok() || bytes.value() != tensor.data_bytes) return;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.problem.clear();
  count_elements(tensor, true);
}

namespace {

/// Inputs over which their operator has written, or whose memory could not be read, are recorded without elements. What
/// wrote them is known by a card's names.
void find_unseen(DumpSide& side) {
  std::map<std::tuple<std::optional<std::uint32_t>, std::string, std::string_view>, const DumpTensor*>
      outputs;
  for (DumpTensor& tensor : side.tensors) {
    const DumpFile& file = side.files[tensor.file];
    const auto key = std::tuple(file.boot, file.place, tensor.name);
    if (tensor.is_output && !tensor.name.empty()) outputs[key] = &tensor;
    if (tensor.is_output || tensor.constant || !is_empty(tensor.shape)) continue;
    const auto output = tensor.name.empty() ? outputs.end() : outputs.find(key);
    if (output == outputs.end() || is_empty(output->second->shape)) {
      // An input that the model leaves out is recorded so, and is not the first.
      tensor.unseen = tensor.index == 0 || !tensor.name.empty() || tensor.dtype != DType::uint8;
      continue;
    }
    DumpTensor seen = *output->second;
    seen.file = tensor.file;
    seen.is_output = false;
    seen.index = tensor.index;
    seen.address = tensor.address;
    seen.written_in = output->second->file;
    tensor = seen;
  }
}

}  // namespace

std::string add_cards(const CardedOps* card, BesideCards& beside, DumpSide& side, const char* whose) {
  const auto card_of = [&](const std::string& path) {
    return card != nullptr ? card : beside.of(path.substr(0, path.rfind('/') + 1));
  };
  bool any = false;
  for (const DumpFile& file : side.files) {
    const CardedOps* const found = card_of(file.path);
    any = any || found != nullptr;
    if (found != nullptr) found->check_task(identity_of(file));
  }
  std::size_t ambiguous = 0, carded_count = 0;
  std::string other_tasks;
  if (!any) {
    find_unseen(side);
    return {};
  }
  for (DumpFile& file : side.files) {
    const CardedOps* const found = file.type == kFailureType ? card_of(file.path) : nullptr;
    const RunOp* const op = found != nullptr ? found->op(identity_of(file)) : nullptr;
    if (op == nullptr) continue;
    file.type = sanitised(op->desc.type);
    file.op = sanitised(op->desc.name);
  }
  change_tensors(side, [&](DumpTensor& tensor) {
    const DumpFile& file = side.files[tensor.file];
    const CardedOps* const found = card_of(file.path);
    const RunTensor* const carded =
        found == nullptr ? nullptr : found->tensor(identity_of(file), tensor.is_output, tensor.index);
    if (found != nullptr && found->is_ambiguous(identity_of(file))) {
      ++ambiguous;
      other_tasks = found->other_tasks();
    }
    if (carded == nullptr) return true;
    ++carded_count;
    take_carded_dtype(*carded, tensor);
    tensor.constant = carded->is_constant;
    tensor.unseen = tensor.constant && is_empty(tensor.shape) && !is_empty(carded->shape);
    tensor.name = carded->name;
    tensor.quant = carded->quant.scheme == QuantScheme::none ? nullptr : &carded->quant;
    if (tensor.quant != nullptr && tensor.quant->scheme == QuantScheme::block) take_blocks(tensor);
    return true;
  });
  find_unseen(side);
  if (card != nullptr && carded_count + ambiguous == 0)
    return "the card that is named has no operator of " + std::string(whose) + ": nothing of it is used";
  if (ambiguous == 0) return {};
  return "ambiguous: several operators of the card may be that of " + count_text(ambiguous, "tensor") +
         " of " + whose + ", by name, type and task, so nothing that it tells is used there" + other_tasks;
}

void for_each_directory(const DumpSide& side, const std::function<void(const std::string& directory)>& take) {
  std::set<std::string> directories;
  for (const DumpFile& file : side.files)
    directories.insert(file.path.substr(0, std::min(file.path.rfind('/'), file.path.size())));
  for (const std::string& directory : directories) take(directory);
}

void change_tensors(DumpSide& side, const std::function<bool(DumpTensor& tensor)>& change) {
  std::erase_if(side.tensors, [&change](DumpTensor& tensor) { return !change(tensor); });
}

}  // namespace opdump::tool
