#include "src/tool/read/dump/tensor_digest.hpp"

#include <algorithm>
#include <cmath>
#include <span>

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

}  // namespace opdump::tool
