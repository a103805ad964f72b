// The message from the nano executor to the device part.

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "platform/ascend/nano/load_message.hpp"

using namespace opdump;
using namespace opdump::nano;

namespace {

std::vector<std::byte> written(const LoadMessage& message) {
  std::vector<std::byte> bytes(load_message_bytes(message));
  write_load_message(bytes.data(), message);
  return bytes;
}

/// The packed struct that the vendor's executor overlays on the value of TLV 2.
#pragma pack(push, 1)
struct ModelValue {
  std::uint32_t flag;
  std::uint32_t model_id;
  const std::uint64_t* step;
  std::uint64_t loops[2];
  std::uint32_t mode;
  std::uint64_t data;
  std::uint32_t tlv_bytes;
};
#pragma pack(pop)
static_assert(sizeof(ModelValue) == kModelValueBytes);

const std::uint64_t kStep = 100;
const LoadMessage kMessage = {.description = as_bytes("a .dbg file"),
                              .load = true,
                              .model_id = 3,
                              .step = &kStep,
                              .mode = kModeAll,
                              .data = kDataTensors,
                              .directory = "./dumPath/"};

}  // namespace

TEST_CASE("load message: has the bytes of the vendor's structures") {
  if (std::endian::native != std::endian::little) return;
  const std::vector<std::byte> bytes = written(kMessage);
  REQUIRE(bytes.size() == 11 + 8 + sizeof(ModelValue) + 8 + 10);
  CHECK(std::memcmp(bytes.data(), "a .dbg file", 11) == 0);
  std::uint32_t head[2];
  std::memcpy(head, &bytes[11], sizeof head);
  CHECK(head[0] == 2);
  CHECK(head[1] == sizeof(ModelValue));
  ModelValue value;  // its fields are not aligned, so that no reference to them may be made
  std::memcpy(&value, &bytes[19], sizeof value);
  CHECK((value.flag == 1));
  CHECK((value.model_id == 3));
  CHECK((value.step == &kStep));
  CHECK((value.loops[0] == 0 && value.loops[1] == 0));
  CHECK((value.mode == 2));
  CHECK((value.data == 1));
  CHECK((value.tlv_bytes == 0));
  std::memcpy(head, &bytes[19 + sizeof value], sizeof head);
  CHECK(head[0] == 3);
  CHECK(head[1] == 10);
  CHECK(std::memcmp(&bytes[27 + sizeof value], "./dumPath/", 10) == 0);
}

TEST_CASE("load message: is read as it was written, also without its length") {
  for (const bool load : {true, false}) {
    LoadMessage message = kMessage;
    message.load = load;
    const std::vector<std::byte> bytes = written(message);
    for (const Result<LoadMessage>& read :
         {read_load_message(bytes, 11), receive_load_message(bytes.data(), 11)}) {
      REQUIRE(read.ok());
      CHECK(as_text(read.value().description) == "a .dbg file");
      CHECK(read.value().load == load);
      CHECK(read.value().model_id == 3);
      CHECK(read.value().step == &kStep);
      CHECK(read.value().mode == kModeAll);
      CHECK(read.value().data == kDataTensors);
      CHECK(read.value().directory == "./dumPath/");
    }
  }
}

TEST_CASE("load message: what the vendor's sender leaves unset does not matter, nor what follows it") {
  std::vector<std::byte> bytes = written(kMessage);
  std::memset(&bytes[19 + sizeof(ModelValue) - 4], 0xcc, 4);
  CHECK(receive_load_message(bytes.data(), 11).ok());
  const std::byte more[4] = {};
  bytes.insert(bytes.begin() + 19 + sizeof(ModelValue), more, more + 4);
  store_little_endian(&bytes[15], static_cast<std::uint32_t>(sizeof(ModelValue) + 4));
  REQUIRE(receive_load_message(bytes.data(), 11).ok());
  CHECK(receive_load_message(bytes.data(), 11).value().directory == "./dumPath/");
}

TEST_CASE("load message: a damaged one is refused") {
  const std::vector<std::byte> bytes = written(kMessage);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> less(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(read_load_message(less, 11).status() == Status::truncated);
  }
  const auto patched = [&](std::size_t at, std::uint32_t value) {
    std::vector<std::byte> damaged = bytes;
    store_little_endian(&damaged[at], value);
    return read_load_message(damaged, 11).status();
  };
  CHECK(patched(11, 3) == Status::malformed);
  CHECK(patched(15, 0xffffffff) == Status::truncated);
  CHECK(patched(19, 2) == Status::malformed);
  CHECK(patched(19 + sizeof(ModelValue), 2) == Status::malformed);
  CHECK(patched(23 + sizeof(ModelValue), 11) == Status::truncated);
  CHECK(receive_load_message(bytes.data(), 10).status() == Status::malformed);

  std::vector<std::byte> shorter(bytes.begin(), bytes.begin() + 19);
  store_little_endian(&shorter[15], std::uint32_t{4});
  for (const std::uint32_t field : {1u, 3u, 0u}) {
    shorter.resize(shorter.size() + 4);
    store_little_endian(&shorter[shorter.size() - 4], field);
  }
  CHECK(read_load_message(shorter, 11).status() == Status::malformed);
}
