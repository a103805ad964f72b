#include "src/tool/read/dump/digest_file.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "opdump/format/digest_table.hpp"
#include "opdump/types/config.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

/// Nothing when the bytes do not make the elements that the shape asks for.
std::optional<std::uint64_t> element_total(const RecordTensor& tensor) {
  const std::uint64_t bits = info(tensor.dtype).bits;
  const std::uint64_t most = tensor.bytes > UINT64_MAX / 8 ? UINT64_MAX / bits : tensor.bytes * 8 / bits;
  if (!tensor.has_shape) return most;
  const Result<std::uint64_t> count = element_count(tensor.shape());
  if (!count.ok() || count.value() > most) return std::nullopt;
  return count.value();
}

/// Calls `use(span of numbers)` for all elements in order.
template <class Use>
bool for_each_number(RecordFile& file, const RecordTensor& tensor, std::uint64_t elements, Use use) {
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
      use(std::span<const double>(numbers, now));
    }
    left -= in_block;
    return true;
  });
}

void add_spread(std::span<const double> numbers, double& squares, TensorDigest& digest) {
  const double least = digest.statistics.min();
  const double width = digest.statistics.max() - least;
  const double mean = digest.statistics.mean();
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    if (number == 0) ++digest.zeros;
    squares += (number - mean) * (number - mean);
    // The halves keep the quotient finite where the width is not.
    const double place = width > 0 ? (number / 2 - least / 2) / (width / 2) : 0;
    const double bin = std::isfinite(width) ? place * static_cast<double>(TensorDigest::kBins)
                                            : (number > 0 ? static_cast<double>(TensorDigest::kBins) : 0);
    ++digest.bins[std::min<std::size_t>(static_cast<std::size_t>(bin), TensorDigest::kBins - 1)];
  }
}

bool add_real(RecordFile& file, const RecordTensor& tensor, const RealNumbers& reals, TensorDigest& digest) {
  digest.has_real = reals.fits();
  digest.has_limits = reals.has_limits();
  std::uint64_t index = 0;
  return !digest.has_real ||
         for_each_number(file, tensor, digest.elements, [&](std::span<const double> numbers) {
           for (const double number : numbers) {
             const double real = reals.real(number, index++);
             digest.real.add({&real, 1});
             digest.at_least += reals.is_least(number) ? 1 : 0;
             digest.at_most += reals.is_most(number) ? 1 : 0;
           }
         });
}

/// Of a tensor of bytes, which are blocks.
bool add_real(RecordFile& file, const RecordTensor& tensor, const BlockFormat& format, TensorDigest& digest) {
  digest.has_real = info(tensor.dtype).bits == 8 && digest.elements % format.bytes == 0;
  std::vector<std::byte> rest;
  return !digest.has_real || file.for_each_block(tensor.data_offset, digest.elements, [&](Bytes part) {
    rest.insert(rest.end(), part.begin(), part.end());
    std::size_t done = 0;
    for (; rest.size() - done >= format.bytes; done += format.bytes) {
      float reals[BlockFormat::kMostElements];
      double numbers[BlockFormat::kMostElements];
      format.decode(rest.data() + done, reals);
      std::copy_n(reals, format.elements, numbers);
      digest.real.add({numbers, format.elements});
    }
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(done));
    return true;
  });
}

}  // namespace

bool digest_tensor(RecordFile& file, const RecordTensor& tensor, bool spread, std::size_t head,
                   const Quantisation* quant, TensorDigest& digest, std::string& error) {
  digest = {};
  digest.are_numbers = element_reader(tensor.dtype) != nullptr;
  if (!digest.are_numbers) return true;
  const std::optional<std::uint64_t> elements = element_total(tensor);
  if (!elements) {
    error = file.error_at(tensor.data_offset, "the tensor has fewer bytes than its shape needs");
    return false;
  }
  digest.elements = *elements;
  bool read = for_each_number(file, tensor, *elements, [&](std::span<const double> numbers) {
    digest.statistics.add(numbers);
    if (digest.head.size() < head) {
      const std::size_t more = std::min(head - digest.head.size(), numbers.size());
      digest.head.insert(digest.head.end(), numbers.begin(),
                         numbers.begin() + static_cast<std::ptrdiff_t>(more));
    }
  });
  if (read && spread && digest.statistics.finite() != 0) {
    double squares = 0;
    read = for_each_number(file, tensor, *elements,
                           [&](std::span<const double> numbers) { add_spread(numbers, squares, digest); });
    digest.deviation = std::sqrt(squares / static_cast<double>(digest.statistics.finite()));
    digest.has_spread = true;
  }
  if (read && quant != nullptr) {
    const BlockFormat* const blocks = block_format(*quant);
    read = blocks != nullptr
               ? add_real(file, tensor, *blocks, digest)
               : add_real(file, tensor, RealNumbers(*quant, tensor.dtype, tensor.shape()), digest);
  }
  if (!read) error = file.error();
  return read;
}

std::string histogram_text(const std::array<std::uint64_t, TensorDigest::kBins>& bins) {
  constexpr const char* kBlocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                     "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::uint64_t kHighest = 8;
  const std::uint64_t fullest = std::max<std::uint64_t>(1, *std::max_element(bins.begin(), bins.end()));
  std::string text;
  for (const std::uint64_t bin : bins) {
    // Whatever is in a bin shows.
    const double part = static_cast<double>(bin) / static_cast<double>(fullest);
    text += kBlocks[static_cast<std::size_t>(std::ceil(part * static_cast<double>(kHighest)))];
  }
  return text;
}

namespace {

constexpr std::size_t kDigestBytes[] = {0, 4, 8, 16};
constexpr std::uint64_t kMostOps = 0x10000;
constexpr std::uint64_t kMostTensors = 0xffff;

}  // namespace

bool is_digest_name(std::string_view name) {
  return name.starts_with("opdump.") && name.ends_with(kDigestSuffix);
}

std::string_view DigestReader::algorithm() const {
  return kind_ == 0 ? std::string_view() : kDigestWords[kind_ - 1];
}

bool DigestReader::fail(const std::string& reason) {
  error_ = "at byte " + std::to_string(at_) + ": " + reason;
  at_ = end_ = file_.size();
  return false;
}

bool DigestReader::number(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
    const std::uint64_t byte = std::to_integer<std::uint64_t>(file_[at_++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool DigestReader::text(std::string_view& value) {
  std::uint64_t bytes = 0;
  if (!number(bytes) || bytes > end_ - at_) return false;
  value = as_text(file_.subspan(at_, static_cast<std::size_t>(bytes)));
  at_ += static_cast<std::size_t>(bytes);
  return true;
}

bool DigestReader::next_piece() {
  constexpr std::size_t kHead = 2;
  const std::size_t start = at_;
  end_ = file_.size();
  if (at_ == file_.size()) return false;
  if (file_[at_] != std::byte{kDigestMagic}) return fail("no piece of digests begins so");
  cut_bytes_ = file_.size() - start;
  if (cut_bytes_ < kHead) return false;
  kind_ = std::to_integer<std::uint8_t>(file_[at_ + 1]);
  if (kind_ == 0 || kind_ >= std::size(kDigestBytes)) return fail("the digest is of no known kind");
  digest_bytes_ = kDigestBytes[kind_];
  at_ += kHead;
  std::uint64_t bytes = 0;
  if (!number(bytes) || bytes > file_.size() - at_) {
    at_ = file_.size();
    return false;
  }
  cut_bytes_ = 0;
  end_ = at_ + static_cast<std::size_t>(bytes);
  has_step_ = false;
  return true;
}

/// Passes over what is told of an operator, and checks it.
bool DigestReader::pass_op() {
  std::uint64_t value = 0;
  std::string_view name;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  if (!small(1, value) || !small(UINT32_MAX, value) || !small(UINT32_MAX, value) ||
      !small(UINT32_MAX, value) || !text(name) || !text(name) || !text(name) ||
      !small(kMostTensors, inputs) || !small(kMostTensors, outputs))
    return fail("an operator is not told as it should be");
  return pass_tensors(inputs + outputs);
}

bool DigestReader::pass_tensors(std::uint64_t count) {
  std::uint64_t value = 0;
  for (; count != 0; --count) {
    std::uint64_t rank = 0;
    if (!small(kMostTensors, value) || !small(kKnownDTypes - 1, value) || !small(UINT32_MAX, value) ||
        !number(value) || !small(kMaxRank, rank))
      return fail("a tensor is not told as it should be");
    for (; rank != 0; --rank) {
      if (!number(value)) return fail("a shape is cut short");
    }
  }
  return true;
}

bool DigestReader::read_tensor(DigestedTensor& tensor) {
  std::uint64_t index = 0;
  std::uint64_t dtype = 0;
  std::uint64_t format = 0;
  std::uint64_t rank = 0;
  if (!number(index) || !number(dtype) || !number(format) || !number(tensor.bytes) || !number(rank))
    return false;
  for (; rank != 0; --rank) {
    std::uint64_t dim = 0;
    if (!number(dim)) return false;
    tensor.shape.push_back(static_cast<Dim>(dim));
  }
  tensor.index = static_cast<std::uint32_t>(index);
  tensor.dtype = static_cast<DType>(dtype);
  tensor.format = static_cast<std::uint32_t>(format);
  return true;
}

/// What `pass_op` has checked.
bool DigestReader::read_op(DigestedOp& op) {
  std::uint64_t in_model = 0;
  std::string_view texts[3];
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  if (!number(in_model) || !number(op.model_id) || !number(op.task) || !number(op.stream) ||
      !text(texts[0]) || !text(texts[1]) || !text(texts[2]) || !number(inputs) || !number(outputs))
    return false;
  op.in_model = in_model != 0;
  op.model = texts[0];
  op.type = texts[1];
  op.name = texts[2];
  op.tensors.resize(static_cast<std::size_t>(inputs + outputs));
  for (std::size_t i = 0; i < op.tensors.size(); ++i) {
    op.tensors[i].is_output = i >= inputs;
    if (!read_tensor(op.tensors[i])) return false;
  }
  return true;
}

bool DigestReader::read_op() {
  std::uint64_t called = 0;
  if (!small(kFirstDigestOp + kMostOps, called) || called < kFirstDigestOp)
    return fail("an operator has no number");
  const std::size_t from = at_;
  if (!pass_op()) return false;
  const std::string_view bytes = as_text(file_.subspan(from, at_ - from));
  auto known = ops_.known_.find(bytes);
  if (known == ops_.known_.end()) {
    at_ = from;
    DigestedOp op;
    if (!read_op(op)) return fail("an operator is not told as it should be");
    known = ops_.known_.emplace(bytes, ops_.size()).first;
    ops_.ops_.push_back(std::move(op));
  }
  if (called_.size() <= called) called_.resize(static_cast<std::size_t>(called) + 1);
  called_[static_cast<std::size_t>(called)] = known->second + 1;
  return true;
}

bool DigestReader::next(DigestedRecord& record) {
  for (;;) {
    if (at_ == end_ && !next_piece()) return false;
    if (at_ == end_) continue;
    std::uint64_t what = 0;
    if (!number(what)) return fail("an entry is cut short");
    if (what == kDigestStep) {
      if (!number(now_.load) || !number(now_.step) || !number(now_.ms)) return fail("a step is cut short");
      has_step_ = true;
    } else if (what == kDigestOp) {
      if (!read_op()) return false;
    } else if (!has_step_) {
      return fail("a record has no step");
    } else if (what >= called_.size() || called_[static_cast<std::size_t>(what)] == 0) {
      // How long it is only its operator tells.
      nameless_bytes_ += end_ - at_;
      at_ = end_;
    } else {
      now_.op = called_[static_cast<std::size_t>(what)] - 1;
      const std::size_t bytes = ops_[now_.op].tensors.size() * digest_bytes_;
      if (bytes > end_ - at_) return fail("a record is cut short");
      now_.digests = file_.subspan(at_, bytes);
      at_ += bytes;
      record = now_;
      return true;
    }
  }
}

}  // namespace opdump::tool
