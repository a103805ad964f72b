#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/base/write_all.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/ordered_work.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/write/record_converter.hpp"
#include "src/tool/write/safetensors.hpp"

namespace opdump::tool {
namespace {

constexpr char kConvertHelp[] =
    R"(opdump convert - writes the tensors of a dump as NumPy or plain binary files

usage: opdump convert [-d] PATH [-r] [-out DIRECTORY] [-t TYPE] [-f FORMAT [-s SHAPE] [-i N | -o N]]
       opdump convert --to safetensors [-d] DUMP -o DIRECTORY [-f FORMAT] [--overwrite]

  -d, --dump_file PATH   a dump file, several with commas between, a flash image, or a directory: the files
                         directly in it. Of two records of one name from different paths the second is a failure
  -r, --recursive        also those in the directories below it; they come again below DIRECTORY
  -out, --output DIRECTORY
                         where the files go; made if it is missing; default: the current directory
  -t, --type TYPE        npy (default); bin: the elements alone; msnpy: npy under MindSpore's names
  -f, --format FORMAT    rearranges tensors into this format, such as NCHW, NHWC, ND or FRACTAL_Z, and cuts padding
                         off by the original shape; a tensor that cannot be is a failure
  -s, --shape N,N,...    with -f: the dims to cut to, in the order of FORMAT, in place of the original shape
  -i, --input_tensor N   with -f: only this input of the record
  -o, --output_tensor N  with -f: only this output of the record
  --keep-bfloat16        bfloat16 stays as it is, as items of two bytes (V2); otherwise it becomes float32
  -v, --version 2        accepted, so that a call of msaccucmp works here

With --to safetensors each step becomes one file, step{S}.safetensors, in which bfloat16 and float8 stay as they
are, and DUMP is all that 'opdump compare' reads:

  -o, -out        directory; what it holds already stays, and nothing is written, without --overwrite
  --overwrite     files of the same name are replaced

Records may be nano or protobuf ones. Names, headers and elements of the files are those of msaccucmp:

  npy    {record}.{input|output}.{index}.npy, with -f {record}.{input|output}.{index}.{dims}.npy
  bin    {record}.{input|output}.{index}.{dims}.{dtype}.{FORMAT}.bin
  msnpy  {record}.{input|output}.{index}.{FORMAT}.npy

A name of 255 bytes or more becomes a number, and 'mapping.csv' beside it says which. bfloat16 becomes float32,
float8 and hifloat8 float64, integers of 1, 2 or 4 bits a byte each. Padding behind a tensor is left out. Overflow
records (Opdebug.Node_OpDebug...) become JSON. A file appears when it is complete, and replaces an older one of
its name.

One record, one step, a whole dump, and weights as the framework has them:

  opdump convert -d Conv2D.conv1.0.0.1589195081588018 -out arrays
  opdump convert -d dump/20260131130559/0/digits/1/9 -out arrays
  opdump convert -r -d dump -out arrays
  opdump convert -d Conv2D.conv1.0.0.1589195081588018 -f NCHW -i 1 -s 8,1,3,3
  opdump convert --to safetensors dump -o tensors

In Python:

  numpy.load("arrays/Conv2D.conv1.0.0.1589195081588018.output.0.npy")

exit status
  0  every tensor was written
  1  some were not; stderr lists them, and all others are written
  2  the command line is wrong
)";

struct ConvertOptions {
  std::optional<std::string> dump_file;
  std::optional<std::string> output;
  std::optional<std::string> type;
  std::optional<std::string> version;
  std::optional<std::string> format;
  std::optional<std::string> shape;
  std::optional<std::string> input_tensor;
  std::optional<std::string> output_tensor;
  std::optional<std::string> custom_script;
  std::optional<std::string> to;
  bool overwrite = false;
  bool recursive = false;
  bool keep_bfloat16 = false;
};

std::optional<int> refuse(const std::string& reason) {
  return usage_error("convert", reason);
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    if (comma != start) parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

/// A path with a comma in it is one path if it is there.
std::vector<std::string> named_paths(const std::string& text) {
  struct stat status {};
  if (stat(text.c_str(), &status) == 0) return {text};
  return split_at_commas(text);
}

bool is_one_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

std::optional<int> read_type(const std::string& type, ArrayType& value) {
  if (type == "npy") {
    value = ArrayType::npy;
  } else if (type == "bin") {
    value = ArrayType::bin;
  } else if (type == "msnpy") {
    value = ArrayType::msnpy;
  } else if (type == "pt") {
    return refuse("'-t pt' is not written; torch.from_numpy(numpy.load(FILE)) makes a tensor of an npy file");
  } else {
    return refuse("'-t " + type + "' is none of npy, bin, msnpy");
  }
  return std::nullopt;
}

std::optional<int> read_shape(const std::string& text, std::vector<Dim>& shape) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::optional<std::uint64_t> dim = parse_decimal(text.substr(start, comma - start));
    if (!dim || *dim == 0) return refuse("'-s " + text + "' are no dims from 1 on, such as 1,3,224,224");
    shape.push_back(*dim);
    start = comma + 1;
  }
  if (shape.size() > kMaxRank) return refuse("'-s' has more than " + std::to_string(kMaxRank) + " dims");
  return std::nullopt;
}

std::optional<int> read_format_options(const ConvertOptions& options, ConvertSettings& settings) {
  if (!options.format) {
    const std::pair<const char*, const std::optional<std::string>*> with_format[] = {
        {"-s", &options.shape}, {"-i", &options.input_tensor}, {"-o", &options.output_tensor}};
    for (const auto& [name, value] : with_format) {
      if (value->has_value()) return refuse(std::string("'") + name + "' needs '-f FORMAT'");
    }
    return std::nullopt;
  }
  const Result<Format> format = format_from_name(*options.format);
  if (!format.ok())
    return refuse("'-f " + *options.format +
                  "' is no format; NCHW, NHWC, HWCN, ND, NCDHW and FRACTAL_Z are some");
  settings.format = format.value();
  if (options.input_tensor && options.output_tensor) return refuse("'-i' and '-o' exclude each other");
  if (options.shape || options.input_tensor || options.output_tensor) {
    if (!is_one_file(*options.dump_file))
      return refuse("'-s', '-i' and '-o' are for a single dump file, and '-d' names more or none");
  }
  if (options.shape) {
    if (const std::optional<int> refused = read_shape(*options.shape, settings.shape)) return refused;
  }
  for (const bool is_output : {false, true}) {
    const std::optional<std::string>& text = is_output ? options.output_tensor : options.input_tensor;
    if (!text) continue;
    const std::optional<std::uint64_t> index = parse_decimal(*text);
    if (!index)
      return refuse("'" + std::string(is_output ? "-o " : "-i ") + *text + "' is no number from 0 on");
    settings.only = ConvertSettings::Selection{is_output, *index};
  }
  return std::nullopt;
}

std::optional<int> read_settings(const ConvertOptions& options, const std::vector<std::string>& rest,
                                 ConvertSettings& settings) {
  if (options.custom_script)
    return refuse("'-c' is not supported: msaccucmp's own Python scripts are not run here");
  if (options.version.value_or("2") != "2")
    return refuse("'-v " + *options.version + "' is not supported, only '-v 2' is");
  if (!rest.empty()) return refuse("a dump is named already, so '" + rest[0] + "' has no meaning");
  if (options.dump_file.value_or("").empty()) return refuse("'-d PATH' is missing");
  if (options.output && options.output->empty()) return refuse("'-out' needs a directory");
  settings.output = options.output.value_or(".");
  settings.keep_bfloat16 = options.keep_bfloat16;
  if (const std::optional<int> refused = read_type(options.type.value_or("npy"), settings.type))
    return refused;
  return read_format_options(options, settings);
}

/// Reads what `--to safetensors` needs.
std::optional<int> read_safetensors(const ConvertOptions& options, const std::vector<std::string>& rest,
                                    SafetensorsSettings& settings) {
  if (*options.to != "safetensors")
    return refuse("'--to " + *options.to + "' is not written, only '--to safetensors' is");
  if (!rest.empty()) return refuse("a dump is named already, so '" + rest[0] + "' has no meaning");
  if (options.dump_file.value_or("").empty()) return refuse("a DUMP is missing");
  const std::pair<const char*, bool> others[] = {{"-t", options.type.has_value()},
                                                 {"-s", options.shape.has_value()},
                                                 {"-i", options.input_tensor.has_value()},
                                                 {"-c", options.custom_script.has_value()},
                                                 {"--keep-bfloat16", options.keep_bfloat16}};
  for (const auto& [name, given] : others) {
    if (given) return refuse(std::string("'") + name + "' and '--to' exclude each other");
  }
  const std::optional<std::string>& output = options.output ? options.output : options.output_tensor;
  if (output.value_or("").empty()) return refuse("'-o DIRECTORY' is missing");
  if (options.format) {
    const Result<Format> format = format_from_name(*options.format);
    if (!format.ok()) return refuse("'-f " + *options.format + "' is no format; NCHW, NHWC and ND are some");
    settings.format = format.value();
  }
  settings.dump = *options.dump_file;
  settings.output = *output;
  settings.overwrite = options.overwrite;
  return std::nullopt;
}

bool add_mapping(const std::string& directory, const std::string& rows, std::string& reason) {
  const std::string path = directory + '/' + std::string(kMappingFileName);
  const posix::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  const Bytes part = as_bytes(rows);
  const int error = file ? posix::write_all(file.get(), {&part, 1}) : errno;
  if (error != 0) reason = path + ": " + strerror(error);
  return error == 0;
}

/// Converts files on all processors and tells of them in their order.
class Conversion {
 public:
  /// `several`: the files are of paths that were named apart, so that files of two may have one name.
  Conversion(const ConvertSettings& settings, const std::vector<FoundFile>& files, bool several)
      : several_(several),
        files_(files),
        namesakes_(kOrderedWindow),
        progress_(Progress::is_seen() ? total_bytes(files) : 0),
        results_(kOrderedWindow) {
    const std::size_t workers = std::max<std::size_t>(1, std::min(usable_workers(), files_.size()));
    for (std::size_t i = 0; i < workers; ++i)
      workers_.push_back(std::make_unique<RecordConverter>(settings, kMemoryBytes / workers, progress_));
  }

  void run() {
    run_in_order({.count = files_.size(),
                  .take = [this](std::size_t item) { take(item); },
                  .work =
                      [this](std::size_t item, std::size_t worker) {
                        Converted& result = results_[item % kOrderedWindow];
                        result = convert(item, *workers_[worker]);
                      },
                  .deliver = [this](std::size_t item) { deliver(results_[item % kOrderedWindow]); }},
                 workers_.size());
    progress_.wipe();
  }

  const Converted& sums() const { return sums_; }

  void fail(const std::string& message) {
    ++sums_.failures;
    progress_.say("opdump convert: " + message);
  }

 private:
  /// Of all workers together; they take up to twice as much.
  static constexpr std::size_t kMemoryBytes = 4 * 1024 * 1024;

  void take(std::size_t item) {
    namesakes_[item % kOrderedWindow] = several_ ? namesake_of(files_[item]) : std::string();
  }

  /// The path of the first file before that is written under the same names; empty: there is none.
  std::string namesake_of(const FoundFile& file) {
    const auto [first, is_new] = named_.emplace(file.below + '/' + file.real_name, file.path);
    return is_new ? std::string() : first->second;
  }

  Converted convert(std::size_t item, RecordConverter& worker) const {
    return interrupted() ? Converted() : worker.convert(files_[item], namesakes_[item % kOrderedWindow]);
  }

  void deliver(Converted& result) {
    for (const std::string& message : result.messages) progress_.say("opdump convert: " + message);
    sums_.records += result.records;
    sums_.files += result.files;
    sums_.failures += result.failures;
    std::string reason;
    if (!result.mapping_rows.empty() && !add_mapping(result.mapping_directory, result.mapping_rows, reason))
      fail(reason);
    result = {};
  }

  const bool several_;
  const std::vector<FoundFile>& files_;
  std::vector<std::string> namesakes_;                  ///< of those under way
  std::unordered_map<std::string, std::string> named_;  ///< paths, by what names of written files begin with
  Progress progress_;
  std::vector<std::unique_ptr<RecordConverter>> workers_;
  std::vector<Converted> results_;
  Converted sums_;
};

/// False when something could not be converted.
bool convert_dump(const ConvertOptions& options, const ConvertSettings& settings) {
  FoundDump dump;
  std::uint64_t failures = 0;
  const SearchReport report = said_by("convert", failures);
  const std::vector<std::string> paths = named_paths(*options.dump_file);
  for (const std::string& path : paths) dump.add(path, options.recursive, report);

  Conversion conversion(settings, dump.files(), paths.size() > 1);
  conversion.run();
  const Converted& sums = conversion.sums();
  if (sums.records == 0 && sums.failures == 0 && failures == 0 && !interrupted())
    conversion.fail(*options.dump_file + ": no dump record there");
  failures += sums.failures;
  std::string summary = count_text(sums.files, settings.type == ArrayType::bin ? "file" : "array") +
                        " written from " + count_text(sums.records, "record") + " to " + settings.output;
  if (failures != 0) summary += ", " + count_text(failures, "failure");
  print_line(summary);
  return failures == 0;
}

}  // namespace

int run_convert(Words words) {
  ConvertOptions options;
  const Option table[] = {
      {"-d", "--dump_file", nullptr, &options.dump_file},
      {"-out", "--output", nullptr, &options.output},
      {"-r", "--recursive", &options.recursive, nullptr},
      {"-t", "--type", nullptr, &options.type},
      {"-v", "--version", nullptr, &options.version},
      {"-f", "--format", nullptr, &options.format},
      {"-s", "--shape", nullptr, &options.shape},
      {"-i", "--input_tensor", nullptr, &options.input_tensor},
      {"-o", "--output_tensor", nullptr, &options.output_tensor},
      {"-c", "--custom_script_path", nullptr, &options.custom_script},
      {"--keep-bfloat16", {}, &options.keep_bfloat16, nullptr},
      {"--to", {}, nullptr, &options.to},
      {"--overwrite", {}, &options.overwrite, nullptr},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> exit_code = read_options({"convert", kConvertHelp, table}, words, rest))
    return *exit_code;
  ConvertSettings settings;
  if (rest.size() == 1 && !options.dump_file) {
    options.dump_file = std::move(rest[0]);
    rest.clear();
  }
  if (options.to) {
    SafetensorsSettings safetensors;
    if (const std::optional<int> exit_code = read_safetensors(options, rest, safetensors)) return *exit_code;
    catch_interrupts();
    return write_safetensors(safetensors);
  }
  if (options.overwrite) return refuse("'--overwrite' needs '--to safetensors'").value();
  if (const std::optional<int> exit_code = read_settings(options, rest, settings)) return *exit_code;
  catch_interrupts();

  const bool good = convert_dump(options, settings);
  if (interrupted()) die_of_interrupt();
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
