#include "src/tool/judge/diff/run_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "opdump/base/digest.hpp"
#include "opdump/types/privacy.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/judge/diff/run_table.hpp"
#include "src/tool/judge/diff/signature.hpp"
#include "src/tool/read/dump/csv_file.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string dtype_and_shape(DType dtype, Shape shape, bool has_shape = true) {
  if (dtype == DType::undefined || !has_shape) return {};
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

/// Which numbers a summary has, and the numbers.
class NumbersText {
 public:
  explicit NumbersText(const TensorSummary& summary) {
    add(" max", summary.max).add(" min", summary.min).add(" mean", summary.mean);
    add(" norm", summary.l2_norm).add(" nan", summary.nans);
    add(" -inf", summary.negative_infinities).add(" inf", summary.positive_infinities);
  }

  const std::string& titles() const { return titles_; }
  const std::string& cells() const { return cells_; }

 private:
  NumbersText& add(const char* title, std::optional<double> number) {
    if (!number) return *this;
    titles_ += title;
    // Both zeros are one, and all NaNs.
    char text[32] = "nan";
    if (!std::isnan(*number)) std::snprintf(text, sizeof text, "%.17g", *number + 0.0);
    cells_.append(text).append(",");
    return *this;
  }
  NumbersText& add(const char* title, std::optional<std::uint64_t> count) {
    if (count) cells_.append(std::to_string(*count)).append(",");
    if (count) titles_ += title;
    return *this;
  }

  std::string titles_;
  std::string cells_;
};

/// " of 0:4" of "stats of 0:4": which of the elements the config's privacy has taken.
std::string cut_of(std::string_view kept) {
  return std::string(kept.substr(std::min(kept.find(' '), kept.size())));
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
  incomparable_ = true;
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
  std::set<std::string> directories;
  const auto take = [&](const FoundFile& file) {
    ++found;
    named = file.named;
    if (is_digest_name(file.real_name)) digests.push_back(file);
    directories.insert(folder_of(file.path));
  };
  find_files(path, true, take, report_);
  if (found == 1 && named) {
    MappedFile file;
    if (!file.open(path)) {
      report_.error(file.error());
      return false;
    }
    const std::string_view text = as_text(file.bytes());
    constexpr std::size_t kSurelyLonger = 64;
    std::string_view first;
    TextLines(text.substr(0, kSurelyLonger)).next(first);
    if (first.starts_with(kSignatureStart)) {
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
  for (const std::string& directory : directories) add_origin(directory);
  return true;
}

bool RunReader::read_digests(const std::string& path, RunTable& table) {
  MappedFile file;
  if (!file.open(path)) {
    report_.error(file.error());
    return false;
  }
  DigestReader reader(file.bytes(), ops_);
  RunDigest digest;
  std::uint64_t lacking = 0;
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
    for (std::size_t i = 0; i < tensors_[record.op].size(); ++i) {
      const DigestedTensor& one = ops_[record.op].tensors[i];
      std::copy_n(digests.begin(), bytes, digest.bytes.begin());
      const bool lacks = lacks_elements(one.dtype, one.shape, one.bytes);
      lacking += lacks ? 1 : 0;
      digest.state = lacks ? RunDigest::State::unknown : RunDigest::State::there;
      table.set(tensors_[record.op][i], record.step, digest);
      digests = digests.subspan(bytes);
    }
    passed.until(static_cast<std::size_t>(digests.data() - file.bytes().data()));
  }
  report_lacking(path, lacking, "lack bytes that their shapes need");
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

void RunReader::report_lacking(const std::string& path, std::uint64_t count, const std::string& why) {
  if (count == 0) return;
  without_elements_ += count;
  report_.error(path + ": " + count_text(count, "tensor") + ' ' + why + ": not compared");
}

RunDigest RunReader::told_of(const DumpTensor& tensor, RunTable& table) const {
  const TensorSummary& summary = *tensor.summary;
  const std::string cut = cut_of(tensor.kept);
  RunDigest digest;
  digest.state = RunDigest::State::unknown;
  std::optional<std::uint16_t> basis;
  bool known = true;
  // Source: MindSpore's digest of elements below a byte is that of a part of them.
  const bool of_all =
      summary.dialect != StatisticsDialect::mindspore || info(tensor.dtype).bits >= 8 || tensor.elements == 0;
  if (of_all && !summary.md5.empty()) {
    known = read_digits(summary.md5, digest.bytes);
    basis = cut.empty() && algorithm() == "md5" ? kOfElements : table.basis("MD5" + cut, false);
  } else if (of_all && !summary.sha1.empty()) {
    known = read_digits(summary.sha1, digest.bytes);
    basis = table.basis("SHA1" + cut, false);
  } else if (of_all && !summary.crc32.empty()) {
    known = read_digits(summary.crc32, digest.bytes);
    basis = table.basis("CRC-32" + cut, false);
  } else if (const NumbersText numbers(summary); !numbers.titles().empty()) {
    Md5 md5;
    md5.add(as_bytes(numbers.cells()));
    std::byte sum[Md5::kBytes];
    md5.finish(sum);
    std::copy(std::begin(sum), std::end(sum), digest.bytes.begin());
    basis = table.basis("statistics" + cut + numbers.titles(), true);
  }
  if (!basis || !known) return digest;
  digest.basis = *basis;
  digest.state = RunDigest::State::there;
  return digest;
}

bool RunReader::read_tensors(const std::string& path, RunTable& table) {
  const DumpSide side = read_side(path, report_);
  std::uint64_t shapes = 0;
  for (const auto& [kept, count] : side.kept)
    shapes += kept == kKeptWords[static_cast<std::size_t>(KeptAs::shape)] ? count : 0;
  report_lacking(path, shapes, "are kept as their shapes by the config");
  if (side.tensors.empty()) {
    if (shapes == 0) report_.error(path + ": holds neither digests nor tensors");
    return false;
  }
  TensorSums sums(algorithm());
  const UnscopedOps ops(side);
  if (!first_ops_) {
    first_ops_ = ops;
    first_apart_ = side;
    first_path_ = path;
  }
  if (const std::string unlike = unlike_places(first_apart_, first_path_, side, path); !unlike.empty()) {
    incomparable_ = true;
    report_.error(unlike);
    return false;
  }
  std::uint64_t bytes = 0;
  for (const DumpTensor& one : side.tensors) bytes += one.data_bytes;
  Progress progress(bytes);
  std::uint64_t lacking = 0;
  for (const DumpTensor& one : side.tensors) {
    progress.add(one.data_bytes);
    const DumpFile& file = side.files[one.file];
    const std::size_t slash = file.place.rfind('/');
    SummedTensor tensor;
    std::uint64_t step = 0;
    if (slash != std::string::npos) {
      tensor.model = without_marks(file.place.substr(0, slash));
      step = std::stoull(file.place.substr(slash + 1));
    }
    if (!file.type.empty()) tensor.type = without_marks(file.type);
    const std::string* const first = first_ops_->find(file.place, file.op, ops, file.place);
    tensor.op = without_marks(first != nullptr ? *first : file.op);
    tensor.is_output = one.is_output;
    tensor.index = one.index;
    tensor.what = dtype_and_shape(one.dtype, one.shape, one.has_shape);
    RunDigest digest;
    if (one.summary && !is_empty(one.shape)) {
      digest = told_of(one, table);
      without_elements_ += digest.state == RunDigest::State::there && digest.basis != kOfElements ? 1 : 0;
    } else if (lacks_elements(one.dtype, one.shape, one.data_bytes) ||
               (one.data_bytes == 0 && !one.problem.empty())) {
      digest.state = RunDigest::State::unknown;
    } else if (!sums.of(one, file.path, digest)) {
      progress.wipe();
      report_.error(sums.error());
      return false;
    }
    lacking += digest.state == RunDigest::State::unknown ? 1 : 0;
    table.set(table.tensor(tensor), step, digest);
  }
  progress.wipe();
  report_lacking(path, lacking, "lack bytes that their shapes need, and statistics");
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
  return good;
}

}  // namespace opdump::tool
