#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/commands/show/show_listing.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/quantisation_text.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

constexpr std::uint64_t kNoId = 65535;

std::string id_text(std::uint64_t id) {
  return id == kNoId || id == UINT64_MAX ? "-" : std::to_string(id);
}

/// The cells of min, max, mean and of what is no finite number.
std::vector<std::string> statistics_cells(const RecordTensor& tensor, const Statistics& statistics) {
  std::vector<std::string> cells(3, "-");
  if (statistics.finite() != 0)
    cells = {number_text(statistics.min()), number_text(statistics.max()), number_text(statistics.mean())};
  const char* labels[] = {"min", "max", "mean"};
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] =
        (is_complex(tensor.dtype) ? std::string("|") + labels[i] + "| " : labels[i] + std::string(" ")) +
        cells[i];
  std::string odd;
  if (statistics.nan() != 0) odd = "nan " + std::to_string(statistics.nan());
  if (statistics.infinite() != 0)
    odd += (odd.empty() ? "inf " : "  inf ") + std::to_string(statistics.infinite());
  cells.push_back(odd);
  return cells;
}

/// "Max Value" as "max", "Avg Value" as "mean".
std::string short_title(const std::string& title) {
  std::string text = title.substr(0, title.find(" Value"));
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (text == "nan count") return "nan";
  if (text == "l2norm") return "l2";
  return text == "avg" ? "mean" : text;
}

/// As tensors have them: the least, greatest and mean number, then the rest.
int order_of(const std::string& title) {
  const std::string text = short_title(title);
  return text == "min" ? 0 : text == "max" ? 1 : text == "mean" ? 2 : 3;
}

/// What the elements of a quantised tensor stand for.
void add_real(const Quantisation& quant, const TensorDigest& digest, Table& table) {
  if (!digest.has_real) {
    table.add_line("  " + unreal_text(quant));
    return;
  }
  std::string line = "  real";
  if (digest.real.finite() != 0) {
    line += " min " + number_text(digest.real.min()) + "  max " + number_text(digest.real.max()) + "  mean " +
            number_text(digest.real.mean());
  }
  line += "  " + parameter_text(quant);
  if (digest.has_limits && digest.elements != 0) {
    char text[64];
    const double all = static_cast<double>(digest.elements) / 100;
    std::snprintf(text, sizeof text, "  at the least %.3g %%  at the most %.3g %%",
                  static_cast<double>(digest.at_least) / all, static_cast<double>(digest.at_most) / all);
    line += text;
  }
  table.add_line(line);
}

void add_detail(const TensorDigest& digest, Table& table) {
  if (digest.has_spread) {
    table.add_line("  std " + number_text(digest.deviation) + "  zeros " + std::to_string(digest.zeros) +
                   " of " + std::to_string(digest.elements) + "  " + number_text(digest.statistics.min()) +
                   " |" + histogram_text(digest.bins) + "| " + number_text(digest.statistics.max()));
  }
  if (digest.head.empty()) return;
  std::string line = " ";
  for (const double number : digest.head) line += ' ' + number_text(number);
  if (digest.head.size() < digest.elements) line += " ...";
  table.add_line(line);
}

std::string shown_format(const ShownRecord& record, const RecordTensor& tensor) {
  if (!record.format) return format_text(tensor.format);
  return record.format->empty() ? "-" : printable(*record.format);
}

/// The memory of an operator that failed has bytes, and no dtype.
std::string shown_dtype(const ShownRecord& record, const RecordTensor& tensor) {
  const bool is_memory = tensor.dtype == DType::undefined && record.name && record.name->type == kFailureType;
  return is_memory ? "bytes" : dtype_text(tensor);
}

}  // namespace

std::string dtype_text(const RecordTensor& tensor) {
  if (!tensor.dtype_known && tensor.dtype_code == 0) return "unknown";  // raw items of NumPy
  if (!tensor.dtype_known) return "dtype " + std::to_string(tensor.dtype_code);
  // The code is of uint8 in either format; see take_true_dtype.
  const bool is_of_bytes = tensor.dtype_code == info(DType::uint8).ge_code && tensor.dtype != DType::uint8;
  const std::string_view name = info(tensor.dtype).name;
  if (is_of_bytes) return std::string(info(DType::uint8).name).append(" (").append(name).append(")");
  std::string text(name);
  if (tensor.original_dtype != DType::undefined && tensor.original_dtype != tensor.dtype)
    text.append(" (").append(info(tensor.original_dtype).name).append(")");
  return text;
}

TextListing::TextListing(const std::vector<FoundFile>& files, const ShowDetail& detail) : detail_(detail) {
  constexpr std::size_t kWidest = 48;
  constexpr std::size_t kNarrowest = 12;
  constexpr std::size_t kRest = 64;  // task, stream, time, step and the start of the model
  for (const FoundFile& file : files) {
    if (const std::optional<RecordName> record = find_record_name(file.real_name)) {
      type_width_ = std::max(type_width_, std::min(kWidest, display_width(printable(record->type))));
      name_width_ = std::max(name_width_, std::min(kWidest, display_width(printable(record->name))));
    }
  }
  const std::size_t terminal = terminal_width();
  if (terminal > kRest && type_width_ + name_width_ + kRest > terminal)
    name_width_ = std::max<std::size_t>(kNarrowest,
                                        terminal - kRest > type_width_ ? terminal - kRest - type_width_ : 0);
  fit_ = terminal != 0;
}

void TextListing::print_head(const std::string& type, const std::string& name, const std::string& task,
                             const std::string& stream, const std::string& time, const std::string& step,
                             const std::string& model) const {
  const auto padded = [](std::string text, std::size_t width) {
    const std::size_t has = display_width(text);
    return has < width ? text.append(width - has, ' ') : text;
  };
  std::string line = padded(type, type_width_) + "  " +
                     padded(fit_ ? shortened(name, name_width_) : name, name_width_) + "  ";
  char numbers[256];
  std::snprintf(numbers, sizeof numbers, "%5s  %6s  %-26s  %5s  ", task.c_str(), stream.c_str(), time.c_str(),
                step.c_str());
  line += numbers + model;
  line.erase(line.find_last_not_of(' ') + 1);
  std::puts(line.c_str());
}

void TextListing::print_head(const ShownRecord& record) {
  const std::optional<std::uint32_t> boot = boot_of(record.found.path);
  if (boot != boot_)
    std::printf("%sboot %s\n", sums_.records == 0 ? "" : "\n", boot ? std::to_string(*boot).c_str() : "-");
  const bool heads = sums_.records++ == 0 || boot != boot_;
  boot_ = boot;
  if (heads) print_head("TYPE", "NAME", "TASK", "STREAM", "TIME", "STEP", "MODEL");
  const std::string step = record.place ? std::to_string(record.place->step) : "-";
  std::string model = record.place ? printable(record.place->model) : "-";
  if (record.place && record.place->has_model_id)
    model += " (" + std::to_string(record.place->model_id) + ")";
  if (record.name && record.name->name_only) {
    print_head("-", printable(record.name->name), "-", "-", "-", step, model);
  } else if (record.name) {
    print_head(printable(record.type()), printable(record.op()), id_text(record.name->task),
               id_text(record.name->stream), time_text(record.unix_us), step, model);
  } else {
    print_head("-", printable(record.found.real_name), "-", "-", "-", step, model);
  }
}

void TextListing::show(const ShownRecord& record, const StatisticsRecord& statistics) {
  print_head(record);
  Table table("  ", "lrlllr");
  for (const StatisticsLine& line : statistics.lines) {
    ++sums_.tensors;
    std::vector<std::string> row = {line.is_output ? "output" : "input",
                                    std::to_string(line.index),
                                    printable(line.dtype),
                                    line.format.empty() ? "-" : printable(line.format),
                                    line.shape.empty() ? "no shape" : line.shape,
                                    std::to_string(line.bytes) + " B"};
    auto values = line.values;
    std::stable_sort(values.begin(), values.end(),
                     [](const auto& a, const auto& b) { return order_of(a.first) < order_of(b.first); });
    for (const auto& [title, text] : values)
      row.push_back(printable(short_title(title) + ' ' + (text.empty() ? "-" : text)));
    if (!line.kept.empty()) row.push_back(printable(kept_words(line.kept)));
    table.add(std::move(row));
  }
  table.print();
}

bool TextListing::show(const ShownRecord& record, RecordFile& file, std::string& error) {
  print_head(record);
  constexpr std::size_t kMostRows = 1024;  // of one table, so that a hostile record does not fill the memory
  Table table("  ", "lrlllr");
  std::size_t rows = 0;
  if (is_ambiguous(record))
    table.add_line("  ambiguous: several operators of the card may be this one" + record.card->other_tasks());
  RecordTensors tensors = file.tensors();
  for (RecordTensor tensor; tensors.next(tensor);) {
    ++sums_.tensors;
    sums_.bytes += tensor.bytes;
    std::vector<std::string> row = {tensor.is_output ? "output" : "input",
                                    std::to_string(tensor.index),
                                    shown_dtype(record, tensor),
                                    shown_format(record, tensor),
                                    tensor.has_shape ? shape_text(tensor.shape()) : "no shape",
                                    std::to_string(tensor.bytes) + " B"};
    TensorDigest digest;
    const Quantisation* const quant = quant_of(record, tensor);
    digest_tensor(file, tensor, detail_.spread, detail_.head, quant, digest, error);
    for (std::string& cell : statistics_cells(tensor, digest.statistics)) row.push_back(std::move(cell));
    table.add(std::move(row));
    if (quant != nullptr) add_real(*quant, digest, table);
    add_detail(digest, table);
    if (++rows % kMostRows == 0) table.print();
  }
  for (RecordBlob blob; tensors.next(blob); ++rows % kMostRows == 0 ? table.print() : void()) {
    table.add({blob_word(blob), std::to_string(blob.index), "", "", "", std::to_string(blob.bytes) + " B"});
    sums_.bytes += blob.bytes;
  }
  table.print();
  return error.empty();
}

void TextListing::finish(const DumpProvenance& provenance) const {
  std::printf("%s%s, %s, %s\n", sums_.records == 0 ? "" : "\n", count_text(sums_.records, "record").c_str(),
              count_text(sums_.tensors, "tensor").c_str(), byte_text(sums_.bytes).c_str());
  const std::string from = provenance_text(provenance);
  if (!from.empty()) std::printf("from %s\n", from.c_str());
}

bool SortedListing::show(const ShownRecord& record, RecordFile& file, std::string& error) {
  ++sums_.records;
  RecordTensors tensors = file.tensors();
  for (RecordTensor tensor; tensors.next(tensor);) {
    TensorDigest digest;
    Numbers numbers;
    if (digest_tensor(file, tensor, false, 0, nullptr, digest, error) && digest.are_numbers) {
      const Statistics& all = digest.statistics;
      if (all.finite() != 0) {
        numbers[2] = all.min();
        numbers[3] = all.max();
        numbers[4] = all.mean();
        numbers[5] = all.l2();
      }
      numbers[7] = static_cast<double>(all.nan());
      numbers[8] = static_cast<double>(all.infinite());
    }
    numbers[1] = static_cast<double>(tensor.bytes);
    add(record, numbers,
        {tensor.is_output ? "output" : "input", std::to_string(tensor.index), shown_dtype(record, tensor),
         tensor.has_shape ? shape_text(tensor.shape()) : "no shape"});
  }
  return error.empty();
}

void SortedListing::show(const ShownRecord& record, const StatisticsRecord& statistics) {
  ++sums_.records;
  for (const StatisticsLine& line : statistics.lines) {
    const TensorSummary told = summary_of(line);
    Numbers numbers = {std::nullopt, std::nullopt, told.min, told.max, told.mean, told.l2_norm};
    numbers[1] = static_cast<double>(line.bytes);
    if (told.nans) numbers[7] = static_cast<double>(*told.nans);
    if (told.negative_infinities && told.positive_infinities)
      numbers[8] = static_cast<double>(*told.negative_infinities + *told.positive_infinities);
    add(record, numbers,
        {line.is_output ? "output" : "input", std::to_string(line.index), line.dtype, line.shape});
  }
}

void SortedListing::add(const ShownRecord& record, Numbers numbers, std::vector<std::string> of_tensor) {
  ++sums_.tensors;
  if (record.place) numbers[0] = static_cast<double>(record.place->step);
  if (numbers[2] && numbers[3]) numbers[6] = std::max(std::fabs(*numbers[2]), std::fabs(*numbers[3]));
  Row row = {
      numbers,
      {record.name ? std::string(record.op()) : record.found.real_name,
       record.name ? std::string(record.type()) : "", record.place ? std::string(record.place->model) : "-"}};
  row.cells.insert(row.cells.end(), of_tensor.begin(), of_tensor.end());
  for (std::optional<double>& number : row.numbers) {
    row.cells.push_back(number ? number_text(*number) : "-");
    if (number && std::isnan(*number)) number.reset();
  }
  rows_.push_back(std::move(row));
  if (rows_.size() / 2 > top_) drop_rest();
}

/// Sorts; what has no such number comes last.
void SortedListing::drop_rest() {
  const auto at =
      static_cast<std::size_t>(std::find(std::begin(kKeys), std::end(kKeys), key_) - std::begin(kKeys));
  std::stable_sort(rows_.begin(), rows_.end(), [at](const Row& a, const Row& b) {
    if (at >= a.numbers.size()) return a.cells[at - a.numbers.size()] < b.cells[at - a.numbers.size()];
    return at == 0 ? a.numbers[at] < b.numbers[at] : a.numbers[at] > b.numbers[at];
  });
  if (rows_.size() > top_) rows_.resize(top_);
}

void SortedListing::finish(const DumpProvenance&) {
  drop_rest();
  Table table("", "lllrlrllr");
  table.add({"NAME", "TYPE", "MODEL", "ROLE", "", "DTYPE", "SHAPE", "STEP", "BYTES", "MIN", "MAX", "MEAN",
             "L2", "ABSMAX", "NAN", "INF"});
  for (Row& row : rows_) table.add(std::move(row.cells));
  table.print();
  std::printf("\n%zu of %s\n", rows_.size(), count_text(sums_.tensors, "tensor").c_str());
}

}  // namespace opdump::tool
