#include "src/tool/write/array_writer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/base/digest.hpp"
#include "src/card/hexadecimal.hpp"
#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view kDnsNamespace("\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8",
                                         16);

}  // namespace

std::string uuid3_dns(std::string_view name) {
  Md5 md5;
  md5.add(as_bytes(kDnsNamespace));
  md5.add(as_bytes(name));
  std::byte bytes[Md5::kBytes];
  md5.finish(bytes);
  bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x30};
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return cards::hexadecimal(bytes);
}

namespace {

std::string joined(Shape shape, char separator) {
  std::string text;
  for (const Dim dim : shape) {
    if (!text.empty()) text += separator;
    text += std::to_string(dim);
  }
  return text;
}

/// NumPy's name of the tensor's own dtype where it has one.
std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::resource:
      return "int64";
    case DType::uint1:
      return "uint8";
    case DType::undefined:
      return "int8";
    default:
      return info(dtype).name;
  }
}

/// In MindSpore's names the second field is the operator's. msaccucmp takes what a record says its operator
/// is called, and for nano records, which do not say it, the time stamp.
std::string mindspore_name(const std::string& file_name, const ArrayName& wanted) {
  constexpr std::size_t kFields = 5;
  std::vector<std::string> fields(1);
  for (const char c : file_name) {
    if (c == '.') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (fields.size() != kFields) return file_name;
  if (wanted.is_nano) {
    fields[1] = fields.back();
  } else if (!wanted.op_name.empty()) {
    fields[1] = wanted.op_name.substr(wanted.op_name.rfind('/') + 1);
    for (char& c : fields[1]) c = c == '\0' ? '_' : c;
  }
  return fields[0] + '.' + fields[1] + '.' + fields[2] + '.' + fields[3] + '.' + fields[4];
}

}  // namespace

std::string role_text(const RecordTensor& tensor) {
  return std::string(tensor.is_output ? "output" : "input") + '.' + std::to_string(tensor.index);
}

std::string array_name(const std::string& file_name, const RecordTensor& tensor, const NpyArray& array,
                       const ArrayName& wanted, std::string& reason) {
  const std::string role = '.' + role_text(tensor) + '.';
  if (wanted.type == ArrayType::npy)
    return file_name + role + (wanted.restored ? joined(array.shape, 'x') + '.' : "") + "npy";
  const std::string_view format = to_string(wanted.format);
  if (format.empty()) {
    reason = "the format " + std::to_string(static_cast<std::int32_t>(wanted.format)) +
             " has no name, which the file's name needs; '-t npy' does without";
    return {};
  }
  if (wanted.type == ArrayType::msnpy)
    return mindspore_name(file_name, wanted) + role + std::string(format) + ".npy";
  const bool flat = !wanted.restored && array.elements != 0;
  return file_name + role + (flat ? std::to_string(array.elements) : joined(array.shape, '_')) + '.' +
         std::string(dtype_name(tensor.dtype)) + '.' + std::string(format) + ".bin";
}

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
