#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "opdump/base/byte_output.hpp"
#include "opdump/format/nano.hpp"
#include "opdump/read/nano_reader.hpp"

using namespace opdump;

namespace {

struct Captured {
  std::vector<TensorView> inputs, outputs;
};

/// The nano record of `tensors`, each tensor's bytes being its position plus one, written through a batch of
/// `batch` bytes.
std::vector<std::byte> encode(const Captured& tensors, std::size_t batch) {
  std::vector<std::byte> file, memory(batch);
  const auto append = [&file](Bytes bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); };
  ByteBatcher head(MutableBytes(memory), append);
  const auto for_each_tensor = [&](auto use) {
    for (const bool is_output : {false, true}) {
      const auto& list = is_output ? tensors.outputs : tensors.inputs;
      for (std::uint32_t i = 0; i < list.size(); ++i) use(list[i], is_output, i);
    }
  };
  encode_nano_head(for_each_tensor, "op", nano_head_sizes(for_each_tensor, "op"), head);
  append(head.pending());
  std::uint8_t fill = 0;
  for (const auto* list : {&tensors.inputs, &tensors.outputs}) {
    for (const TensorView& tensor : *list) file.insert(file.end(), tensor.bytes, std::byte{++fill});
  }
  return file;
}

const Dim kDims[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

}  // namespace

TEST_CASE("nano: what is written is read back, in batches of any size") {
  Captured tensors;
  tensors.inputs.push_back(
      {.address = 8, .bytes = 13, .dtype = DType::int8, .format = Format::nchw, .shape = {kDims + 12, 1}});
  tensors.inputs.push_back({.address = 1ull << 40, .bytes = 4, .dtype = DType::float32, .shape = {}});
  tensors.outputs.push_back({.bytes = 12,
                             .dtype = DType::float16,
                             .format = Format::nc1hwc0,
                             .shape = {kDims, 3},
                             .original_shape = {kDims + 4, 2},
                             .original_name = "fused/relu",
                             .original_index = 3,
                             .original_dtype = DType::float32,
                             .original_format = Format::nhwc,
                             .address_kind = AddressKind::nano_io});
  const std::vector<std::byte> file = encode(tensors, 64);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{4096}})
    CHECK(encode(tensors, batch) == file);

  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  CHECK(reader.input_count() == 2);
  CHECK(reader.output_count() == 1);
  NanoTensor tensor;
  REQUIRE(reader.next(tensor));
  CHECK(tensor.dtype == DType::int8);
  CHECK(tensor.format == Format::nchw);
  CHECK(tensor.address == 8);
  CHECK(tensor.shape().size() == 1);
  CHECK(tensor.shape()[0] == 13);
  CHECK(tensor.original_shape()[0] == 13);
  CHECK(file[tensor.data_offset + 12] == std::byte{1});
  REQUIRE(reader.next(tensor));
  CHECK(tensor.address == 1ull << 40);
  CHECK(tensor.has_shape);
  CHECK(tensor.rank == 0);
  REQUIRE(reader.next(tensor));
  CHECK(tensor.is_output);
  CHECK(tensor.index == 0);
  CHECK(tensor.shape().size() == 3);
  CHECK(tensor.original_shape()[1] == 6);
  CHECK(tensor.original_name == "fused/relu");
  CHECK(tensor.original_index == 3);
  CHECK(tensor.original_dtype_code == 0);
  CHECK(tensor.original_format == Format::nhwc);
  CHECK(tensor.address_kind == AddressKind::nano_io);
  CHECK(file[tensor.data_offset] == std::byte{3});
  CHECK_FALSE(reader.next(tensor));
  CHECK(reader.status() == Status::ok);
}

TEST_CASE("nano: outputs without an original name get the operator's own") {
  Captured tensors;
  tensors.outputs.push_back({.bytes = 1, .dtype = DType::uint8, .shape = {kDims, 1}});
  tensors.outputs.push_back({.bytes = 1, .dtype = DType::uint8, .shape = {kDims, 1}});
  const std::vector<std::byte> file = encode(tensors, 64);
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  NanoTensor tensor;
  REQUIRE(reader.next(tensor));
  CHECK(tensor.original_name == "op");
  REQUIRE(reader.next(tensor));
  CHECK(tensor.original_index == 1);
}

TEST_CASE(
    "nano: a dtype the vendor's reader cannot load becomes bytes, its meaning kept where the format allows") {
  const Dim five[] = {5};
  Captured tensors;
  tensors.outputs.push_back({.bytes = 3, .dtype = DType::int4, .shape = five});
  tensors.outputs.push_back({.bytes = 1, .dtype = DType::uint1, .shape = five});
  const Dim eight[] = {8};
  tensors.outputs.push_back({.bytes = 1, .dtype = DType::uint1, .shape = eight});
  const std::vector<std::byte> file = encode(tensors, 64);
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  NanoTensor tensor;
  REQUIRE(reader.next(tensor));
  CHECK(tensor.dtype == DType::uint8);
  CHECK(tensor.shape()[0] == 3);
  CHECK(tensor.original_shape()[0] == 5);
  CHECK(tensor.original_dtype_code == info(DType::int4).ge_code);
  REQUIRE(reader.next(tensor));
  CHECK(tensor.dtype == DType::uint8);
  CHECK(tensor.shape()[0] == 1);
  REQUIRE(reader.next(tensor));
  CHECK(tensor.dtype == DType::uint1);
  CHECK(tensor.shape()[0] == 8);
}

TEST_CASE("nano: names are ASCII, as the vendor's reader demands") {
  Captured tensors;
  tensors.outputs.push_back(
      {.bytes = 1, .dtype = DType::uint8, .shape = {kDims, 1}, .original_name = "caf\xc3\xa9"});
  const std::vector<std::byte> file = encode(tensors, 64);
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  NanoTensor tensor;
  REQUIRE(reader.next(tensor));
  CHECK(tensor.original_name == "caf__");
}

TEST_CASE("nano: ranks up to 32") {
  for (std::size_t rank = 0; rank <= kMaxRank; ++rank) {
    Dim ones[kMaxRank];
    for (Dim& dim : ones) dim = 1;
    Captured tensors;
    tensors.inputs.push_back({.bytes = 8, .dtype = DType::float64, .shape = {ones, rank}});
    const std::vector<std::byte> file = encode(tensors, 4096);
    NanoReader reader;
    REQUIRE(reader.open(file, file.size()) == Status::ok);
    NanoTensor tensor;
    REQUIRE(reader.next(tensor));
    CHECK(tensor.rank == rank);
    CHECK_FALSE(reader.next(tensor));
    CHECK(reader.status() == Status::ok);
  }
}

TEST_CASE("nano: a file cut at any byte, grown, or with any byte changed is never read past its end") {
  Captured tensors;
  tensors.inputs.push_back({.bytes = 6, .dtype = DType::float16, .shape = {kDims + 2, 1}});
  tensors.outputs.push_back(
      {.bytes = 24, .dtype = DType::float32, .shape = {kDims + 1, 2}, .original_name = "abc"});
  const std::vector<std::byte> good = encode(tensors, 4096);
  const auto read_all = [](const std::vector<std::byte>& file) {
    // A copy of exact size, so that the address sanitizer sees a read behind it.
    const std::vector<std::byte> exact(file.begin(), file.end());
    NanoReader reader;
    if (const Status status = reader.open(exact, exact.size()); status != Status::ok) return status;
    NanoTensor tensor;
    unsigned sum = 0;
    while (reader.next(tensor)) {
      for (std::uint64_t i = 0; i < tensor.bytes; ++i)
        sum += std::to_integer<unsigned>(exact.at(tensor.data_offset + i));
      for (const char c : tensor.original_name) sum += static_cast<unsigned char>(c);
    }
    CHECK(reader.error_offset() <= exact.size());
    return sum == ~0u ? Status::io_error : reader.status();
  };
  CHECK(read_all(good) == Status::ok);
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK(read_all({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}) != Status::ok);
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  CHECK(read_all(longer) == Status::malformed);
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::vector<std::byte> changed = good;
      changed[at] = static_cast<std::byte>(value);
      refused += read_all(changed) != Status::ok;
    }
  }
  CHECK(refused > 5000);
}

TEST_CASE("nano: positions are told only where tensors before others are missing") {
  const TensorView tensor = {.bytes = 0, .dtype = DType::float32, .shape = {kDims, 0}};
  const auto file_of = [&tensor](std::vector<std::uint32_t> inputs, std::vector<std::uint32_t> outputs) {
    const auto for_each_tensor = [&](auto use) {
      for (const std::uint32_t index : inputs) use(tensor, false, index);
      for (const std::uint32_t index : outputs) use(tensor, true, index);
    };
    std::vector<std::byte> file(4096);
    ByteCursor out(file.data());
    const NanoLists sizes = nano_head_sizes(for_each_tensor, "op");
    encode_nano_head(for_each_tensor, "op", sizes, out);
    file.resize(sizes.file_bytes());
    return file;
  };
  const auto positions_in = [](const std::vector<std::byte>& file) {
    std::vector<std::uint32_t> positions;
    NanoReader reader;
    if (reader.open(file, file.size()) == Status::ok) {
      for (RecordTensor read; reader.next(read);) positions.push_back(read.index);
    }
    if (reader.status() != Status::ok)
      positions.push_back(static_cast<std::uint32_t>(reader.status()) + 1000);
    return positions;
  };
  using Positions = std::vector<std::uint32_t>;
  const std::vector<std::byte> gapless = file_of({0, 1}, {0});
  CHECK(positions_in(gapless) == Positions{0, 1, 0});
  const std::vector<std::byte> gaps = file_of({1, 4}, {2});
  CHECK(gaps.size() == gapless.size() + 8 + 3 * 4);
  CHECK(positions_in(gaps) == Positions{1, 4, 2});
  CHECK(positions_in(file_of({}, {1})) == Positions{1});
  CHECK(positions_in(file_of({1}, {})) == Positions{1});

  // A position that another tensor has, and a list of another length.
  const std::uint32_t malformed = static_cast<std::uint32_t>(Status::malformed) + 1000;
  std::vector<std::byte> doubled = gaps;
  doubled[gaps.size() - 8] = std::byte{1};
  CHECK(positions_in(doubled) == Positions{1, malformed});
  std::vector<std::byte> shorter = gaps;
  shorter[gaps.size() - 16] = std::byte{8};
  CHECK(positions_in(shorter) == Positions{malformed});
}

TEST_CASE("nano: the sample made by a device comes back from reader and writer byte for byte") {
  const char* sample = std::getenv("OPDUMP_NANO_SAMPLE");
  if (sample == nullptr) {
    MESSAGE(
        "skipped: OPDUMP_NANO_SAMPLE does not name the device-made sample "
        "ConcatV2D.concatv2.0.0.1589195081588018");
    return;
  }
  std::FILE* in = std::fopen(sample, "rb");
  REQUIRE(in != nullptr);
  std::vector<std::byte> file(1 << 20);
  file.resize(std::fread(file.data(), 1, file.size(), in));
  std::fclose(in);
  NanoReader reader;
  REQUIRE(reader.open(file, file.size()) == Status::ok);
  std::vector<NanoTensor> tensors;
  for (NanoTensor tensor; reader.next(tensor);) tensors.push_back(tensor);
  REQUIRE(reader.status() == Status::ok);
  REQUIRE(tensors.size() == 3);

  std::vector<std::byte> memory(100), written;
  const auto append = [&written](Bytes bytes) { written.insert(written.end(), bytes.begin(), bytes.end()); };
  ByteBatcher head(MutableBytes(memory), append);
  const auto for_each_tensor = [&](auto use) {
    for (const NanoTensor& tensor : tensors) {
      use(TensorView{.address = tensor.address,
                     .bytes = tensor.bytes,
                     .dtype = tensor.dtype,
                     .format = tensor.format,
                     .shape = tensor.shape(),
                     .original_shape = tensor.original_shape(),
                     .original_name = tensor.original_name,
                     .original_index = tensor.original_index,
                     .original_dtype = dtype_from_ge_code(tensor.original_dtype_code).value(),
                     .original_format = tensor.original_format,
                     .address_kind = tensor.address_kind},
          tensor.is_output, tensor.index);
    }
  };
  encode_nano_head(for_each_tensor, {}, nano_head_sizes(for_each_tensor, {}), head);
  append(head.pending());
  for (const NanoTensor& tensor : tensors) append(Bytes(file).subspan(tensor.data_offset, tensor.bytes));
  CHECK(written == file);
}
