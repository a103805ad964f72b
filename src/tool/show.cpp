#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "elements.hpp"
#include "exit_code.hpp"
#include "found_files.hpp"
#include "human_text.hpp"
#include "options.hpp"
#include "record_file.hpp"
#include "record_name.hpp"
#include "statistics.hpp"
#include "table.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump show - lists the records of a dump

usage: opdump show PATH...

A PATH is a dump file or a directory, which is searched with all that is below it. Each record gets a line with
its operator's type and name, task, stream, local time, step and model, and below it a line per tensor: role and
index, dtype, format, shape, bytes, and the minimum, maximum and mean of its finite elements. Elements that are
no finite number are counted; complex numbers are shown by their magnitude. '-' stands for what is not known.

Everything of a dump, the last step of one model, and one operator of every step:

  opdump show dump
  opdump show dump/20260131130559/0/digits/1/9
  opdump show dump/*/0/digits/1/*/Conv2D.conv1.*

A tensor with NaN or Inf in it:

  opdump show dump | grep -E ' (nan|inf) '

exit status
  0  every record was shown
  1  a file could not be read, or nothing was found; stderr says which, and the rest is shown
  2  the command line is wrong
)";

constexpr std::uint64_t kNoId = 65535;

struct Sums {
  std::uint64_t records = 0;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

std::string id_text(std::uint64_t id) {
  return id == kNoId ? "-" : std::to_string(id);
}

std::string dtype_text(const RecordTensor& tensor) {
  if (!tensor.dtype_known) return "dtype " + std::to_string(tensor.dtype_code);
  std::string text(info(tensor.dtype).name);

  if (tensor.original_dtype != DType::undefined && tensor.original_dtype != tensor.dtype)
    text.append(" (").append(info(tensor.original_dtype).name).append(")");
  return text;
}

std::string format_text(Format format) {
  const std::string_view name = to_string(format);
  return name.empty() ? "format " + std::to_string(static_cast<std::int32_t>(format)) : std::string(name);
}

/// Nothing when the bytes do not make the elements the shape asks for, or are no numbers.
std::optional<std::uint64_t> countable_elements(const RecordTensor& tensor) {
  if (element_reader(tensor.dtype) == nullptr) return std::nullopt;
  const std::uint64_t bits = info(tensor.dtype).bits;
  const std::uint64_t most = tensor.bytes > UINT64_MAX / 8 ? UINT64_MAX / bits : tensor.bytes * 8 / bits;
  if (!tensor.has_shape) return most;
  const Result<std::uint64_t> count = element_count(tensor.shape());
  if (!count.ok() || count.value() > most) return std::nullopt;
  return count.value();
}

bool add_statistics(RecordFile& file, const RecordTensor& tensor, std::uint64_t elements,
                    Statistics& statistics) {
  constexpr std::size_t kNumbers = 512;
  const ReadElements read = element_reader(tensor.dtype);
  const std::uint64_t bits = info(tensor.dtype).bits;
  std::uint64_t left = elements;
  return file.for_each_block(tensor.data_offset, (elements * bits + 7) / 8, [&](Bytes block) {
    const std::uint64_t in_block = std::min<std::uint64_t>(left, block.size() * 8 / bits);
    for (std::uint64_t done = 0; done < in_block; done += kNumbers) {
      double numbers[kNumbers];
      const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(kNumbers, in_block - done));
      read(block.data() + done * bits / 8, now, numbers);
      statistics.add({numbers, now});
    }
    left -= in_block;
    return true;
  });
}

/// The cells of min, max, mean and of what is no finite number.
std::vector<std::string> statistics_cells(const RecordTensor& tensor, const Statistics& statistics) {
  std::vector<std::string> cells(3, "-");
  if (statistics.finite() != 0) {
    cells = {number_text(statistics.min()), number_text(statistics.max()), number_text(statistics.mean())};
  }
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

bool show_tensors(RecordFile& file, Sums& sums, std::string& error) {
  constexpr std::size_t kMostRows = 1024;  // of one table, so that a hostile record does not fill the memory
  Table table("  ", "lrlllr");
  std::size_t rows = 0;
  RecordTensors reader = file.tensors();
  for (RecordTensor tensor; reader.next(tensor);) {
    ++sums.tensors;
    sums.bytes += tensor.bytes;
    std::vector<std::string> row = {tensor.is_output ? "output" : "input",
                                    std::to_string(tensor.index),
                                    dtype_text(tensor),
                                    format_text(tensor.format),
                                    tensor.has_shape ? shape_text(tensor.shape()) : "no shape",
                                    std::to_string(tensor.bytes) + " B"};
    Statistics statistics;
    if (const std::optional<std::uint64_t> elements = countable_elements(tensor)) {
      if (!add_statistics(file, tensor, *elements, statistics)) {
        table.print();
        error = file.error();
        return false;
      }
    } else if (element_reader(tensor.dtype) != nullptr) {
      error = file.error_at(tensor.data_offset, "the tensor has fewer bytes than its shape needs");
    }
    for (std::string& cell : statistics_cells(tensor, statistics)) row.push_back(std::move(cell));
    table.add(std::move(row));
    if (++rows % kMostRows == 0) table.print();
  }
  table.print();
  return error.empty();
}

/// Where the columns of all records start, from their names alone.
struct Columns {
  std::size_t type = 4;
  std::size_t name = 4;

  explicit Columns(const std::vector<FoundFile>& files) {
    constexpr std::size_t kWidest = 48;
    for (const FoundFile& file : files) {
      if (const std::optional<RecordName> record = parse_record_name(file.real_name)) {
        type = std::max(type, std::min(kWidest, display_width(record->type)));
        name = std::max(name, std::min(kWidest, display_width(record->name)));
      }
    }
    const std::size_t terminal = terminal_width();
    constexpr std::size_t kRest = 64;  // task, stream, time, step and the start of the model
    if (terminal > kRest && type + name + kRest > terminal)
      name = std::max<std::size_t>(kNarrowest, terminal - kRest > type ? terminal - kRest - type : 0);
    fit = terminal != 0;
  }

  void print(const std::string& type_cell, const std::string& name_cell, const std::string& task,
             const std::string& stream, const std::string& time, const std::string& step,
             const std::string& model) const {
    const auto padded = [](std::string text, std::size_t width) {
      const std::size_t has = display_width(text);
      return has < width ? text.append(width - has, ' ') : text;
    };
    std::string line =
        padded(type_cell, type) + "  " + padded(fit ? shortened(name_cell, name) : name_cell, name) + "  ";
    char numbers[256];
    std::snprintf(numbers, sizeof numbers, "%5s  %6s  %-26s  %5s  ", task.c_str(), stream.c_str(),
                  time.c_str(), step.c_str());
    line += numbers + model;
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
  }

 private:
  static constexpr std::size_t kNarrowest = 12;

  bool fit = false;
};

/// `directory` itself when it cannot be resolved.
std::string real_path(const std::string& directory) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(directory.c_str(), nullptr), free);
  return real == nullptr ? directory : real.get();
}

class Listing {
 public:
  explicit Listing(const std::vector<FoundFile>& files) : columns_(files) {}

  bool show(const FoundFile& found) {
    const std::optional<RecordName> name = parse_record_name(found.real_name);
    const RecordFile::Opened opened = file_.open(found.path);
    if (const Stray stray = judge_stray(found);
        opened == RecordFile::Opened::not_a_record && stray != Stray::error) {
      if (stray == Stray::worth_a_note)
        std::fprintf(stderr, "opdump show: %s: passed over, not a dump record\n", found.path.c_str());
      return true;
    }
    if (opened != RecordFile::Opened::ok) {
      std::fprintf(stderr, "opdump show: %s\n", file_.error().c_str());
      return false;
    }
    if (sums_.records++ == 0) columns_.print("TYPE", "NAME", "TASK", "STREAM", "TIME", "STEP", "MODEL");
    show_head(found, name);
    std::string error;
    if (show_tensors(file_, sums_, error)) return true;
    std::fflush(stdout);
    std::fprintf(stderr, "opdump show: %s\n", error.c_str());
    return false;
  }

  const Sums& sums() const { return sums_; }

 private:
  void show_head(const FoundFile& found, const std::optional<RecordName>& name) {
    std::string step = "-";
    std::string model = "-";
    const std::string directory = found.path.substr(0, found.path.rfind('/') + 1);
    if (sums_.records == 1 || directory != directory_) {
      directory_ = directory;
      real_directory_ = real_path(directory.empty() ? "." : directory);
    }
    if (const std::optional<RecordPlace> place = parse_record_place(real_directory_)) {
      step = std::to_string(place->step);
      model = printable(place->model) + " (" + std::to_string(place->model_id) + ")";
    }
    if (!name) return columns_.print("-", printable(found.real_name), "-", "-", "-", step, model);
    columns_.print(printable(name->type), printable(name->name), id_text(name->task), id_text(name->stream),
                   time_text(name->unix_us), step, model);
  }

  Columns columns_;
  std::string directory_;  ///< of the record shown last
  std::string real_directory_;
  RecordFile file_;
  Sums sums_;
};

}  // namespace

int run_show(Words words) {
  std::vector<std::string> paths;
  if (const std::optional<int> exit_code = read_options({"show", kHelp, {}}, words, paths)) return *exit_code;
  if (paths.empty()) return usage_error("show", "a PATH is missing");

  bool failed = false;
  const SearchReport report = {
      [&failed](const std::string& message) {
        failed = true;
        std::fprintf(stderr, "opdump show: %s\n", message.c_str());
      },
      [](const std::string& message) { std::fprintf(stderr, "opdump show: %s\n", message.c_str()); },
  };
  std::vector<FoundFile> files;
  std::sort(paths.begin(), paths.end(), natural_less);
  for (const std::string& path : paths) find_files(path, true, files, report);
  Listing listing(files);
  for (const FoundFile& file : files) failed |= !listing.show(file);

  const Sums& sums = listing.sums();
  std::printf("%s%s, %s, %s\n", sums.records == 0 ? "" : "\n", count_text(sums.records, "record").c_str(),
              count_text(sums.tensors, "tensor").c_str(), byte_text(sums.bytes).c_str());
  return failed || sums.records == 0 ? kExitFailed : kExitOk;
}

}  // namespace opdump::tool
