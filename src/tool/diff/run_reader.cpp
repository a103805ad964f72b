#include "src/tool/diff/run_reader.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/compare/compare_side.hpp"
#include "src/tool/diff/signature.hpp"
#include "src/tool/diff/tensor_sums.hpp"
#include "src/tool/dump/file_directories.hpp"
#include "src/tool/dump/mapped_file.hpp"
#include "src/tool/verify/journal_line.hpp"

namespace opdump::tool {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string dtype_and_shape(DType dtype, Shape shape) {
  return std::string(info(dtype).name) + ' ' + shape_text(shape);
}

/// Gives the memory of what was read of a file back, now and then.
class PassedBytes {
 public:
  explicit PassedBytes(const MappedFile& file) : file_(file) {}

  void until(std::size_t bytes) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    if (bytes < given_back_ + kPiece) return;
    file_.drop(given_back_, bytes - given_back_);
    given_back_ = bytes;
  }

 private:
  const MappedFile& file_;
  std::size_t given_back_ = 0;
};

/// As names of files have it, and as a signature can.
std::string without_marks(std::string_view name) {
  std::string text = sanitised(name);
  std::replace(text.begin(), text.end(), ',', '_');
  return text;
}

}  // namespace

void RunReader::add_origin(const std::string& directory) {
  add_model_sums(cards_, directory, sources_.back().models);
  provenance_.add(directory, sources_.back().provenance);
}

bool RunReader::take_algorithm(std::string_view algorithm, const std::string& path) {
  if (algorithm_.empty()) {
    algorithm_ = algorithm;
    algorithm_of_ = path;
  }
  if (algorithm_ == algorithm) return true;
  report_.error(path + ": has " + std::string(algorithm) + " digests, and " + algorithm_of_ + " has " +
                algorithm_ + ": they cannot be compared");
  return false;
}

bool RunReader::look_at_digests(const std::vector<FoundFile>& files, const std::string& name,
                                std::size_t side) {
  // Files of several devices in one directory are of one run.
  std::map<std::pair<std::string, std::string>, std::size_t> of_device;
  std::map<std::pair<std::string, std::size_t>, std::size_t> runs;
  for (const FoundFile& file : files) {
    const std::string directory = folder_of(file.path);
    const std::string device =
        file.real_name.substr(0, file.real_name.rfind('.', file.real_name.rfind('.') - 1));
    const std::size_t turn = of_device[{directory, device}]++;
    const auto [run, is_new] = runs.emplace(std::pair(directory, turn), sources_.size());
    if (is_new) {
      sources_.push_back({Source::Kind::digests, directory, side, {}});
      add_origin(directory);
    }
    sources_[run->second].files.push_back(file.path);
    MappedFile mapped;
    DigestedOps ops;
    if (!mapped.open(file.path)) {
      report_.error(mapped.error());
      return false;
    }
    DigestReader reader(mapped.bytes(), ops);
    DigestedRecord record;
    if (reader.next(record) && !take_algorithm(reader.algorithm(), file.path)) return false;
  }
  if (runs.size() == 1) sources_.back().name = name;
  return true;
}

bool RunReader::look(const std::string& path, const std::string& name, std::size_t side) {
  std::uint64_t found = 0;
  bool named = false;
  std::vector<FoundFile> digests;
  FileDirectories directories;
  const auto take = [&](const FoundFile& file) {
    ++found;
    named = file.named;
    if (is_digest_name(file.real_name)) digests.push_back(file);
    directories.add(folder_of(file.path));
  };
  find_files(path, true, take, report_);
  if (found == 1 && named) {
    MappedFile file;
    if (!file.open(path)) {
      report_.error(file.error());
      return false;
    }
    const std::string_view text = as_text(file.bytes());
    if (text.starts_with(kSignatureStart)) {
      sources_.push_back({Source::Kind::signature, name, side, {path}});
      const std::string_view algorithm = signature_algorithm(text);
      if (algorithm.empty()) {
        report_.error(path + ": not a signature of version 1");
        return false;
      }
      return take_algorithm(algorithm, path);
    }
  }
  if (!digests.empty()) return look_at_digests(digests, name, side);
  if (found == 0) {
    report_.error(path + ": holds neither digests nor tensors");
    return false;
  }
  sources_.push_back({Source::Kind::tensors, name, side, {path}});
  directories.for_each([this](const std::string& directory) { add_origin(directory); });
  if (!directories.error().empty()) report_.error(directories.error());
  return directories.error().empty();
}

bool RunReader::read_digests(const std::string& path, RunTable& table) {
  MappedFile file;
  if (!file.open(path)) {
    report_.error(file.error());
    return false;
  }
  DigestReader reader(file.bytes(), ops_);
  RunDigest digest;
  digest.state = RunDigest::State::there;
  PassedBytes passed(file);
  for (DigestedRecord record; reader.next(record);) {
    for (std::size_t op = tensors_.size(); op < ops_.size(); ++op) {
      tensors_.emplace_back();
      SummedTensor tensor;
      if (ops_[op].in_model) tensor.model = without_marks(ops_[op].model);
      tensor.type = without_marks(ops_[op].type);
      tensor.op = without_marks(ops_[op].name);
      for (const DigestedTensor& one : ops_[op].tensors) {
        tensor.is_output = one.is_output;
        tensor.index = one.index;
        tensor.what = dtype_and_shape(one.dtype, one.shape);
        tensors_.back().push_back(table.tensor(tensor));
      }
    }
    const std::size_t bytes = reader.digest_bytes();
    Bytes digests = record.digests;
    for (const std::uint32_t tensor : tensors_[record.op]) {
      std::copy_n(digests.begin(), bytes, digest.bytes.begin());
      table.set(tensor, record.step, digest);
      digests = digests.subspan(bytes);
    }
    passed.until(static_cast<std::size_t>(digests.data() - file.bytes().data()));
  }
  if (reader.cut_bytes() != 0)
    report_.note(path + ": its end is cut short; the last " + std::to_string(reader.cut_bytes()) +
                 " bytes are passed over");
  if (reader.nameless_bytes() != 0)
    report_.note(path + ": the log has gone round: " + std::to_string(reader.nameless_bytes()) +
                 " bytes of operators whose names are overwritten are passed over");
  if (reader.error().empty()) return true;
  report_.error(path + ": " + reader.error());
  return false;
}

bool RunReader::read_tensors(const std::string& path, RunTable& table) {
  const DumpSide side = read_side(path, report_);
  if (side.tensors.empty()) {
    report_.error(path + ": holds neither digests nor tensors");
    return false;
  }
  TensorSums sums(algorithm());
  std::uint64_t bytes = 0;
  for (const DumpTensor& one : side.tensors) bytes += one.data_bytes;
  Progress progress(bytes);
  std::size_t summaries = 0;
  for (const DumpTensor& one : side.tensors) {
    progress.add(one.data_bytes);
    const DumpFile file = side.files[one.file];
    const std::size_t slash = file.place.rfind('/');
    SummedTensor tensor;
    std::uint64_t step = 0;
    if (slash != std::string::npos) {
      tensor.model = without_marks(file.place.substr(0, slash));
      step = std::stoull(file.place.substr(slash + 1));
    }
    if (!file.type.empty()) tensor.type = without_marks(file.type);
    tensor.op = without_marks(file.op);
    tensor.is_output = one.is_output;
    tensor.index = one.index;
    tensor.what = dtype_and_shape(one.dtype, one.shape);
    RunDigest digest;
    if (one.summary) {
      digest.state = RunDigest::State::unknown;
      ++summaries;
    } else if (!sums.of(one, file.path, digest)) {
      progress.wipe();
      report_.error(sums.error());
      return false;
    }
    table.set(table.tensor(tensor), step, digest);
  }
  progress.wipe();
  if (summaries != 0)
    report_.error(path + ": there are statistics of " + count_text(summaries, "tensor") +
                  ", and no elements to compare");
  return true;
}

bool RunReader::read(RunTable& table) {
  bool good = true;
  for (const Source& source : sources_) {
    table.begin_run(source.name, source.side, source.models, source.provenance);
    for (const std::string& path : source.files) {
      if (source.kind == Source::Kind::digests) {
        good = read_digests(path, table) && good;
      } else if (source.kind == Source::Kind::tensors) {
        good = read_tensors(path, table) && good;
      } else {
        MappedFile file;
        std::string reason;
        const bool opened = file.open(path);
        PassedBytes passed(file);
        const auto until = [&](std::size_t bytes) { passed.until(bytes); };
        if (opened && read_signature(as_text(file.bytes()), table, reason, until)) continue;
        report_.error(opened ? path + ": " + reason : file.error());
        good = false;
      }
    }
  }
  table.finish();
  if (!table.error().empty()) report_.error(table.error());
  return good && table.error().empty();
}

}  // namespace opdump::tool
