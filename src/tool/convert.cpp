#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "found_files.hpp"
#include "human_text.hpp"
#include "interrupt.hpp"
#include "mapping_file.hpp"
#include "npy_array.hpp"
#include "npy_header.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "platform/posix/unique_fd.hpp"
#include "platform/posix/write_all.hpp"
#include "progress.hpp"
#include "record_file.hpp"
#include "uuid3.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump convert - writes the tensors of a dump as NumPy files

usage: opdump convert -d PATH [-r] [-out DIRECTORY]

  -d, --dump_file PATH   a dump file, several with commas between, or a directory: the files directly in it
  -r, --recursive        also those in the directories below it; they come again below DIRECTORY
  -out, --output DIRECTORY
                         where the arrays go; made if it is missing; default: the current directory
  -t, --type npy         the type of file; npy is the only one yet
  -v, --version 2        accepted, so that a call of msaccucmp works here

Tensors become '{dump file's name}.{input|output}.{index}.npy', names, headers and elements as msaccucmp writes
them; a name of 255 bytes or more becomes a number, and 'mapping.csv' beside it says which. bfloat16 becomes
float32, UINT1 a uint8 per bit. Padding behind a tensor is left out. A file appears when it is complete, and
replaces an older one of its name.

One record, one step, a whole dump:

  opdump convert -d Conv2D.conv1.0.0.1589195081588018 -out arrays
  opdump convert -d dump/20260131130559/0/digits/1/9 -out arrays
  opdump convert -r -d dump -out arrays

In Python:

  numpy.load("arrays/Conv2D.conv1.0.0.1589195081588018.output.0.npy")

exit status
  0  every tensor was written
  1  some were not; stderr lists them, and all others are written
  2  the command line is wrong
)";

struct Options {
  std::optional<std::string> dump_file;
  std::optional<std::string> output;
  std::optional<std::string> type;
  std::optional<std::string> version;
  std::optional<std::string> format;
  std::optional<std::string> shape;
  std::optional<std::string> input_tensor;
  std::optional<std::string> output_tensor;
  std::optional<std::string> custom_script;
  bool recursive = false;
};

std::optional<int> check(const Options& options, const std::vector<std::string>& rest) {
  const auto refuse = [](const std::string& reason) { return usage_error("convert", reason); };
  const std::pair<const char*, const std::optional<std::string>*> later[] = {
      {"-f", &options.format},        {"-s", &options.shape},         {"-i", &options.input_tensor},
      {"-o", &options.output_tensor}, {"-c", &options.custom_script},
  };
  for (const auto& [name, value] : later) {
    if (value->has_value()) return refuse(std::string("'") + name + "' is not supported yet");
  }
  if (options.type.value_or("npy") != "npy")
    return refuse("'-t " + *options.type + "' is not supported yet, only '-t npy' is");
  if (options.version.value_or("2") != "2")
    return refuse("'-v " + *options.version + "' is not supported, only '-v 2' is");
  if (!rest.empty()) return refuse("a dump is named with -d, so '" + rest[0] + "' has no meaning");
  if (options.dump_file.value_or("").empty()) return refuse("'-d PATH' is missing");
  if (options.output && options.output->empty()) return refuse("'-out' needs a directory");
  return std::nullopt;
}

class Converter {
 public:
  Converter(const std::string& output, std::uint64_t total_bytes)
      : output_(output), progress_(total_bytes), converted_(kConvertedBytes) {}

  void convert(const FoundFile& found) {
    const RecordFile::Opened opened = file_.open(found.path);
    if (const Stray stray = judge_stray(found);
        opened == RecordFile::Opened::not_a_record && stray != Stray::error) {
      if (stray == Stray::worth_a_note) note(found.path + ": passed over, not a dump record");
      return;
    }
    if (opened != RecordFile::Opened::ok) return fail(file_.error());
    const std::string directory = found.below.empty() ? output_ : output_ + '/' + found.below;
    if (const int error = use_directory(directory); error != 0)
      return fail(directory + ": " + strerror(error));
    ++records_;
    RecordTensors reader = file_.tensors();
    for (RecordTensor tensor; !interrupted() && reader.next(tensor);) {
      const std::string role =
          std::string(tensor.is_output ? "output" : "input") + '.' + std::to_string(tensor.index);
      std::string reason;
      if (write_tensor(tensor, directory, found.real_name + '.' + role + ".npy", reason)) {
        ++arrays_;
      } else if (!interrupted()) {
        fail(found.path + ": " + role + ": " + reason);
      }
    }
  }

  void finish() { progress_.wipe(); }

  void note(const std::string& message) {
    progress_.wipe();
    std::fprintf(stderr, "opdump convert: %s\n", message.c_str());
  }

  void fail(const std::string& message) {
    ++failures_;
    note(message);
  }

  std::uint64_t records() const { return records_; }
  std::uint64_t arrays() const { return arrays_; }
  std::uint64_t failures() const { return failures_; }

 private:
  static constexpr std::size_t kConvertedBytes = 64 * 1024;

  int use_directory(const std::string& directory) {
    if (directory == directory_) return 0;
    const int error = make_directories(directory);
    if (error == 0) directory_ = directory;
    return error;
  }

  bool write_tensor(const RecordTensor& tensor, const std::string& directory, const std::string& long_name,
                    std::string& reason) {
    NpyArray array;
    if (!describe_array(tensor, array, reason)) return false;
    constexpr std::size_t kLongestName = 254;  // msaccucmp shortens from 255 on
    const bool too_long = long_name.size() > kLongestName;
    const std::string name = too_long ? uuid3_dns(long_name) + ".npy" : long_name;

    OutputFile out;
    if (!out.create(directory, name) || !write_array(tensor, array, out, reason) || !out.commit()) {
      if (reason.empty()) reason = out.error();
      return false;
    }
    return !too_long || add_mapping(directory, name + ',' + long_name + '\n', reason);
  }

  bool write_array(const RecordTensor& tensor, const NpyArray& array, OutputFile& out, std::string& reason) {
    const std::string header = npy_header(array.descr, array.shape);
    Bytes pending = as_bytes(header);  // goes out together with the first block
    bool written = true;
    std::uint64_t left = array.elements;
    const bool read = file_.for_each_block(tensor.data_offset, array.source_bytes(), [&](Bytes block) {
      if (interrupted()) return false;
      progress_.add(block.size());
      const std::size_t elements = static_cast<std::size_t>(
          std::min<std::uint64_t>(left, std::uint64_t{block.size()} * 8 / array.element_bits));
      left -= elements;
      written = array.convert == nullptr ? write_parts(out, pending, block)
                                         : write_converted(array, block, elements, out, pending);
      return written;
    });
    if (!read) reason = file_.error();
    if (read && written && !pending.empty()) written = write_parts(out, pending, {});
    return read && written && !interrupted();
  }

  bool write_converted(const NpyArray& array, Bytes block, std::size_t elements, OutputFile& out,
                       Bytes& pending) {
    // Whole bytes of the source at a time, whatever the dtype.
    const std::size_t most = converted_.size() / array.item_bytes / 8 * 8;
    for (std::size_t done = 0; done < elements;) {
      const std::size_t now = std::min(most, elements - done);
      array.convert(block.data() + done * array.element_bits / 8, now, converted_.data());
      if (!write_parts(out, pending, Bytes(converted_).first(now * array.item_bytes))) return false;
      done += now;
    }
    return true;
  }

  static bool write_parts(OutputFile& out, Bytes& pending, Bytes bytes) {
    const std::array<Bytes, 2> parts = {pending, bytes};
    pending = {};
    return out.write(parts);
  }

  static bool add_mapping(const std::string& directory, const std::string& row, std::string& reason) {
    const std::string path = directory + '/' + std::string(kMappingFileName);
    const posix::UniqueFd file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    const Bytes part = as_bytes(row);
    const int error = file ? posix::write_all(file.get(), {&part, 1}) : errno;
    if (error != 0) reason = path + ": " + strerror(error);
    return error == 0;
  }

  std::string output_;
  std::string directory_;  ///< the last one made
  Progress progress_;
  RecordFile file_;
  std::vector<std::byte> converted_;
  std::uint64_t records_ = 0;
  std::uint64_t arrays_ = 0;
  std::uint64_t failures_ = 0;
};

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

}  // namespace

int run_convert(Words words) {
  Options options;
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
  };
  std::vector<std::string> rest;
  if (const std::optional<int> exit_code = read_options({"convert", kHelp, table}, words, rest))
    return *exit_code;
  if (const std::optional<int> exit_code = check(options, rest)) return *exit_code;
  catch_interrupts();

  std::vector<FoundFile> files;
  std::uint64_t failures = 0;
  const SearchReport report = {
      [&failures](const std::string& message) {
        ++failures;
        std::fprintf(stderr, "opdump convert: %s\n", message.c_str());
      },
      [](const std::string& message) { std::fprintf(stderr, "opdump convert: %s\n", message.c_str()); },
  };
  for (const std::string& path : named_paths(*options.dump_file))
    find_files(path, options.recursive, files, report);
  std::uint64_t total_bytes = 0;
  for (const FoundFile& file : files) total_bytes += file.bytes;

  const std::string output = options.output.value_or(".");
  Converter converter(output, total_bytes);
  for (const FoundFile& file : files) {
    if (interrupted()) break;
    converter.convert(file);
  }
  if (converter.records() == 0 && converter.failures() == 0 && failures == 0 && !interrupted())
    converter.fail(*options.dump_file + ": no dump record there");
  failures += converter.failures();
  converter.finish();
  std::string summary = count_text(converter.arrays(), "array") + " written from " +
                        count_text(converter.records(), "record") + " to " + output;
  if (failures != 0) summary += ", " + count_text(failures, "failure");
  std::puts(summary.c_str());
  if (interrupted()) die_of_interrupt();
  return failures == 0 ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
