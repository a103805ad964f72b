#include "src/tool/write/array_writer.hpp"

#include <algorithm>
#include <array>

#include "src/tool/cli/interrupt.hpp"

namespace opdump::tool {
namespace {

/// Writes what goes before together with the first bytes.
class Parts {
 public:
  Parts(OutputFile& out, const std::string& header) : out_(out), pending_(as_bytes(header)) {}

  bool write(Bytes bytes) {
    const std::array<Bytes, 2> parts = {pending_, bytes};
    pending_ = {};
    return out_.write(parts);
  }

  bool finish() { return pending_.empty() || write({}); }

 private:
  OutputFile& out_;
  Bytes pending_;
};

void grow(std::vector<std::byte>& memory, std::size_t bytes) {
  if (memory.size() < bytes) memory.resize(bytes);
}

}  // namespace

bool ArrayWriter::write(RecordFile& file, const RecordTensor& tensor, const NpyArray& array,
                        const std::string& header, OutputFile& out, std::string& reason) {
  Parts parts(out, header);
  bool written = true;
  std::uint64_t left = array.elements;
  // Whole bytes of the source at a time, whatever the dtype, and little enough to stay in the cache.
  constexpr std::size_t kConvertedBytes = 64 * 1024;
  const std::size_t most = kConvertedBytes / array.item_bytes / 8 * 8;
  if (array.convert != nullptr) grow(items_, kConvertedBytes);
  const bool read = file.for_each_block(tensor.data_offset, array.source_bytes(), [&](Bytes block) {
    progress_.add(block.size());
    if (array.convert == nullptr) {
      written = parts.write(block);
    } else {
      const std::size_t elements = static_cast<std::size_t>(
          std::min<std::uint64_t>(left, std::uint64_t{block.size()} * 8 / array.element_bits));
      left -= elements;
      for (std::size_t done = 0; written && done < elements;) {
        const std::size_t now = std::min(most, elements - done);
        array.convert(block.data() + done * array.element_bits / 8, now, items_.data());
        written = parts.write(Bytes(items_).first(now * array.item_bytes));
        done += now;
      }
    }
    return written && !interrupted();
  });
  if (!read) reason = file.error();
  return read && written && !interrupted() && parts.finish();
}

bool ArrayWriter::write(RecordFile& file, std::uint64_t offset, std::uint64_t count, OutputFile& out,
                        std::string& reason) {
  bool written = true;
  const bool read = file.for_each_block(offset, count, [&](Bytes block) {
    progress_.add(block.size());
    written = out.write({&block, 1});
    return written && !interrupted();
  });
  if (!read) reason = file.error();
  return read && written && !interrupted();
}

/// From `whole_` where that holds the tensor.
bool ArrayWriter::fetch(RecordFile& file, const RecordTensor& tensor, std::uint64_t offset,
                        std::uint64_t count, std::byte* to) {
  if (whole_bytes_ == 0) return file.read(tensor.data_offset + offset, {to, static_cast<std::size_t>(count)});
  copy_bytes(to, Bytes(whole_).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count)));
  return true;
}

bool ArrayWriter::fetch_items(RecordFile& file, const RecordTensor& tensor, const NpyArray& array,
                              std::uint64_t first, std::uint64_t count, std::byte* to) {
  const std::uint64_t bits = array.element_bits;
  if (array.convert == nullptr) return fetch(file, tensor, first * bits / 8, count * bits / 8, to);
  // Converters start at a whole byte, so elements before the first one may come along.
  constexpr std::size_t kBlock = 4096;
  const std::uint64_t per_byte = bits < 8 ? 8 / bits : 1;
  grow(source_, 2 * kBlock * array.element_bits / 8 + 16);
  grow(items_lead_, kBlock * array.item_bytes);
  while (count != 0) {
    const std::size_t lead = static_cast<std::size_t>(first % per_byte);
    const std::size_t now = static_cast<std::size_t>(std::min(count, kBlock - per_byte));
    const std::uint64_t start = (first - lead) * bits / 8;
    const std::uint64_t bytes = ((now + lead) * bits + 7) / 8;
    if (!fetch(file, tensor, start, bytes, source_.data())) return false;
    std::byte* const target = lead == 0 ? to : items_lead_.data();
    array.convert(source_.data(), now + lead, target);
    if (lead != 0)
      copy_bytes(to, Bytes(items_lead_).subspan(lead * array.item_bytes, now * array.item_bytes));
    first += now;
    count -= now;
    to += now * array.item_bytes;
  }
  return true;
}

bool ArrayWriter::write(RecordFile& file, const RecordTensor& tensor, const NpyArray& array,
                        const Relayout& relayout, const std::string& header, OutputFile& out,
                        std::string& reason) {
  Parts parts(out, header);
  const std::uint64_t item = array.item_bytes;
  const std::uint64_t most = memory_bytes_ / 3 / item;
  const std::uint64_t most_box = memory_bytes_ / 3 * 2 / item;
  // Runs may be short, so a tensor that fits is read at once.
  whole_bytes_ = array.source_bytes() <= memory_bytes_ ? static_cast<std::size_t>(array.source_bytes()) : 0;
  grow(whole_, whole_bytes_);
  if (!file.read(tensor.data_offset, MutableBytes(whole_).first(whole_bytes_))) {
    reason = file.error();
    return false;
  }
  std::uint64_t told = 0;
  for (std::uint64_t done = 0; done < relayout.elements();) {
    const Relayout::Piece piece = relayout.piece(done, most, most_box);
    constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
    if (piece.box_elements > kMostBytes / item) {
      reason = "weights in groups of more than 256 MiB are not rearranged";
      return false;
    }
    grow(box_, static_cast<std::size_t>(piece.box_elements * item));
    grow(items_, static_cast<std::size_t>(piece.elements * item));
    bool read = true;
    std::byte* to = box_.data();
    relayout.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) {
      read = read && fetch_items(file, tensor, array, first, count, to);
      to += count * item;
    });
    if (!read) {
      reason = file.error();
      return false;
    }
    relayout.convert(piece, box_.data(), items_.data());
    if (!parts.write(Bytes(items_).first(static_cast<std::size_t>(piece.elements * item))) || interrupted())
      return false;
    done += piece.elements;
    const std::uint64_t part =
        static_cast<std::uint64_t>(static_cast<double>(array.source_bytes()) * static_cast<double>(done) /
                                   static_cast<double>(relayout.elements()));
    progress_.add(part - told);
    told = part;
  }
  return parts.finish();
}

}  // namespace opdump::tool
