#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "opdump/config/write_blob.hpp"
#include "opdump/format/sealed.hpp"
#include "opdump/opdump.h"
#include "tests/support/c_session.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kMaskedChunk = 64;
constexpr unsigned char kSealMask = 0x5a;

/// Every byte is XORed, and the tag is that of the nonce: enough to see what was handed over.
struct MaskSealer {
  opdump_status begin_answer = OPDUMP_OK;
  opdump_status seal_answer = OPDUMP_OK;
  int begun = 0, sealed = 0, ended = 0;

  opdump_sealer port() {
    opdump_sealer sealer = {};
    sealer.struct_bytes = sizeof sealer;
    sealer.context = this;
    sealer.begin = [](void* self, const std::uint8_t* recipient, std::uint8_t* ephemeral) {
      MaskSealer& own = *static_cast<MaskSealer*>(self);
      ++own.begun;
      for (int i = 0; i < OPDUMP_SEAL_KEY_BYTES; ++i) ephemeral[i] = recipient[i] ^ 0xff;
      return own.begin_answer;
    };
    sealer.seal = [](void* self, const std::uint8_t* nonce, const void*, std::size_t associated_bytes,
                     void* chunk, std::size_t chunk_bytes) {
      MaskSealer& own = *static_cast<MaskSealer*>(self);
      ++own.sealed;
      auto* const bytes = static_cast<unsigned char*>(chunk);
      const std::size_t text = chunk_bytes - OPDUMP_SEAL_TAG_BYTES;
      for (std::size_t i = 0; i < text; ++i) bytes[i] ^= kSealMask;
      std::memcpy(bytes + text, nonce, OPDUMP_SEAL_NONCE_BYTES);
      const auto associated = static_cast<std::uint32_t>(associated_bytes);
      std::memcpy(bytes + text + OPDUMP_SEAL_NONCE_BYTES, &associated, sizeof associated);
      return own.seal_answer;
    };
    sealer.end = [](void* self) { ++static_cast<MaskSealer*>(self)->ended; };
    return sealer;
  }
};

/// The text of a masked object, whose chunks must be whole and in order.
std::string unmasked(const std::string& file) {
  REQUIRE(file.size() > sealed::kHeadBytes);
  REQUIRE(file.starts_with(sealed::kMagic));
  std::string text;
  std::uint32_t number = 0;
  for (std::size_t at = sealed::kHeadBytes; at < file.size(); ++number) {
    const std::byte* const chunk = as_bytes(file).data() + at;
    const std::size_t bytes = load_little_endian<std::uint32_t>(chunk + sealed::kSizeOffset) >> 1;
    REQUIRE(load_little_endian<std::uint32_t>(chunk + sealed::kChunkOffset) == number);
    REQUIRE(at + sealed::kChunkMore + bytes <= file.size());
    for (std::size_t i = 0; i < bytes; ++i)
      text += static_cast<char>(static_cast<unsigned char>(chunk[sealed::kChunkHeadBytes + i]) ^ kSealMask);
    CHECK(std::memcmp(chunk + sealed::kChunkHeadBytes + bytes, chunk, OPDUMP_SEAL_NONCE_BYTES) == 0);
    CHECK(load_little_endian<std::uint32_t>(chunk + sealed::kChunkHeadBytes + bytes +
                                            OPDUMP_SEAL_NONCE_BYTES) == sealed::kHeadBytes);
    at += sealed::kChunkMore + bytes;
  }
  const std::byte* const lengths = as_bytes(text).data();
  return text.substr(std::size_t{4} + load_little_endian<std::uint16_t>(lengths) +
                     load_little_endian<std::uint16_t>(lengths + 2));
}

std::string seal_key_of(char first) {
  std::string key(OPDUMP_SEAL_KEY_BYTES, first);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<char>(key[i] + static_cast<char>(i));
  return key;
}

struct Asked {
  std::string seal{};
  std::uint32_t history_steps = 0;
  std::uint32_t after_steps = 0;
  std::uint32_t history_bytes = 0;
  Layout layout = Layout::cann;
};

std::vector<std::byte> plan_that_asks(const Asked& asked) {
  const ModelRule rules[] = {{.any_model = true}};
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = "/d";
  config.mode = DumpMode::all;
  config.models = rules;
  config.form.layout = asked.layout;
  config.options.when_full = WhenFull::inline_drain;
  config.options.seal = asked.seal;
  config.options.history_steps = asked.history_steps;
  config.options.after_steps = asked.after_steps;
  config.options.history_bytes = asked.history_bytes;
  return write_plan(config);
}

/// A session of C over sinks of C.
struct SinkStack : CSession {
  explicit SinkStack(opdump_take_piece take = Received::take) {
    REQUIRE(opdump_callback_sink_create(to_room.at(), to_room.bytes(), 512, take, &received, &to) ==
            OPDUMP_OK);
    top = to;
  }

  opdump_status put_seal() {
    const opdump_sealer port = sealer.port();
    sealed_room = std::make_unique<Room>(opdump_sealed_sink_size(kMaskedChunk));
    const opdump_status status = opdump_sealed_sink_create(sealed_room->at(), sealed_room->bytes(),
                                                           kMaskedChunk, top, &port, &sealed_sink);
    if (status == OPDUMP_OK) top = sealed_sink;
    return status;
  }

  opdump_status put_history(std::size_t bytes) {
    history_room = std::make_unique<Room>(opdump_history_sink_size(bytes));
    const opdump_status status =
        opdump_history_sink_create(history_room->at(), history_room->bytes(), bytes, top, &history);
    if (status == OPDUMP_OK) top = history;
    return status;
  }

  opdump_status boot(const Asked& asked) {
    plan = plan_that_asks(asked);
    config = load_config(plan, config_room);
    return CSession::boot(top, config);
  }

  /// Steps whose tensor has the number of the step.
  void run(int steps) {
    for (int i = 0; i < steps; ++i, ++number) {
      float own[4] = {1000.5f + static_cast<float>(number), 2, 3, 4};
      CSession::step(own);
    }
  }

  static std::string tensor_of(int step) {
    const float own[4] = {1000.5f + static_cast<float>(step), 2, 3, 4};
    return std::string(as_text(opdump::tests::little_endian(own, sizeof own, DType::float32)));
  }

  Received received;
  MaskSealer sealer;
  Room to_room{opdump_callback_sink_size(512)};
  opdump_sink* to = nullptr;
  opdump_sink* sealed_sink = nullptr;
  opdump_sink* history = nullptr;
  opdump_sink* top = nullptr;
  std::vector<std::byte> plan;
  std::unique_ptr<Room> sealed_room, history_room, config_room;
  opdump_config* config = nullptr;
  int number = 0;  // of the next step
};

std::string all_received(const Received& received) {
  std::string bytes;
  for (const auto* const files : {&received.open, &received.whole, &received.journals}) {
    for (const auto& [path, content] : *files) bytes += content;
  }
  return bytes;
}

opdump_history_counts history_counts(opdump_sink* history) {
  opdump_history_counts counts = {};
  REQUIRE(opdump_history_sink_counts(history, &counts, sizeof counts) == OPDUMP_OK);
  return counts;
}

}  // namespace

TEST_CASE("c api: a sealed sink seals records and journal for the key of the config") {
  SinkStack stack;
  REQUIRE(stack.put_seal() == OPDUMP_OK);
  CHECK(opdump_sealed_sink_seals(stack.sealed_sink) == 0);
  REQUIRE(stack.boot({.seal = seal_key_of('k')}) == OPDUMP_OK);
  CHECK(opdump_sealed_sink_seals(stack.sealed_sink) == 1);
  CHECK(stack.sealer.begun == 1);
  stack.run(3);
  REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  REQUIRE(stack.received.whole.size() == 3);
  int step = 0;
  for (const auto& [path, bytes] : stack.received.whole) {
    CHECK(bytes.substr(sealed::kKeyIdOffset, sealed::kKeyIdBytes) == seal_key_of('k').substr(0, 8));
    CHECK(unmasked(bytes).find(SinkStack::tensor_of(step)) != std::string::npos);
    CHECK(bytes.find(SinkStack::tensor_of(step++)) == std::string::npos);
  }
  REQUIRE(stack.received.journals.size() == 1);
  CHECK(stack.received.journals.begin()->second.find("opdump-journal") == std::string::npos);
  CHECK(stack.received.journals.begin()->second.starts_with(sealed::kMagic));
  opdump_sink_destroy(stack.sealed_sink);
  CHECK(stack.sealer.ended == 1);
  opdump_sink_destroy(stack.to);
}

TEST_CASE("c api: a config with a seal is refused wherever the session's sink does not seal as it asks") {
  {
    SinkStack stack;
    CHECK(stack.boot({.seal = seal_key_of('k')}) == OPDUMP_ERR_NOT_SUPPORTED);
    CHECK(opdump_session_configure(stack.session, stack.config) == OPDUMP_ERR_NOT_SUPPORTED);
    REQUIRE(opdump_session_init(stack.session) == OPDUMP_OK);
    CHECK(opdump_session_set_config(stack.session, stack.config) == OPDUMP_ERR_NOT_SUPPORTED);
    REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
    CHECK(all_received(stack.received) == "");
  }
  {
    // It could seal, and was not configured.
    SinkStack stack;
    REQUIRE(stack.put_seal() == OPDUMP_OK);
    REQUIRE(stack.boot({}) == OPDUMP_OK);
    std::unique_ptr<Room> room;
    const std::vector<std::byte> plan = plan_that_asks({.seal = seal_key_of('k')});
    const opdump_config* const sealed_config = load_config(plan, room);
    CHECK(opdump_session_set_config(stack.session, sealed_config) == OPDUMP_ERR_NOT_SUPPORTED);
    REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  }
  {
    // It seals for another.
    SinkStack stack;
    REQUIRE(stack.put_seal() == OPDUMP_OK);
    REQUIRE(stack.boot({.seal = seal_key_of('k')}) == OPDUMP_OK);
    std::unique_ptr<Room> room;
    const std::vector<std::byte> plan = plan_that_asks({.seal = seal_key_of('l')});
    CHECK(opdump_session_set_config(stack.session, load_config(plan, room)) == OPDUMP_ERR_NOT_SUPPORTED);
    CHECK(opdump_session_set_config(stack.session, stack.config) == OPDUMP_OK);
    REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  }
  {
    // A layout with files in clear.
    SinkStack stack;
    REQUIRE(stack.put_seal() == OPDUMP_OK);
    CHECK(stack.boot({.seal = seal_key_of('k'), .layout = Layout::mindspore_cpu}) ==
          OPDUMP_ERR_NOT_SUPPORTED);
  }
}

TEST_CASE("c api: a program seals without a config that says so") {
  SinkStack stack;
  REQUIRE(stack.put_seal() == OPDUMP_OK);
  const std::string key = seal_key_of('p');
  const auto* const recipient = reinterpret_cast<const std::uint8_t*>(key.data());
  CHECK(opdump_sealed_sink_seal(stack.to, recipient) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_sealed_sink_seal(stack.sealed_sink, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_sealed_sink_seal(nullptr, recipient) == OPDUMP_ERR_INVALID_ARGUMENT);
  REQUIRE(opdump_sealed_sink_seal(stack.sealed_sink, recipient) == OPDUMP_OK);
  REQUIRE(stack.boot({}) == OPDUMP_OK);
  stack.run(1);
  REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  CHECK(unmasked(stack.received.whole.begin()->second).find(SinkStack::tensor_of(0)) != std::string::npos);
  CHECK(all_received(stack.received).find(SinkStack::tensor_of(0)) == std::string::npos);
}

TEST_CASE("c api: what the sealer refuses is lost, counted, and never in clear") {
  SinkStack stack;
  REQUIRE(stack.put_seal() == OPDUMP_OK);
  stack.sealer.begin_answer = OPDUMP_ERR_IO;
  CHECK(stack.boot({.seal = seal_key_of('k')}) == OPDUMP_ERR_IO);
  stack.sealer.begin_answer = 1234;
  CHECK(opdump_session_boot(stack.session, stack.config) == OPDUMP_ERR_DRIVER_FAILED);
  // The sink takes nothing now, also of a session that does not know of the seal.
  REQUIRE(stack.boot({}) == OPDUMP_OK);
  stack.run(2);
  opdump_counts counts;
  REQUIRE(opdump_session_counts(stack.session, &counts, sizeof counts) == OPDUMP_OK);
  CHECK(counts.sink_failed == 2);
  CHECK(opdump_session_last_sink_failure(stack.session) == OPDUMP_ERR_NOT_SUPPORTED);
  static_cast<void>(opdump_session_finalize(stack.session));
  CHECK(all_received(stack.received) == "");

  SinkStack later;
  REQUIRE(later.put_seal() == OPDUMP_OK);
  REQUIRE(later.boot({.seal = seal_key_of('k')}) == OPDUMP_OK);
  later.run(1);
  later.sealer.seal_answer = OPDUMP_ERR_DRIVER_FAILED;
  later.run(1);
  later.sealer.seal_answer = OPDUMP_OK;
  later.run(1);
  REQUIRE(opdump_session_counts(later.session, &counts, sizeof counts) == OPDUMP_OK);
  CHECK(counts.written == 2);
  CHECK(counts.sink_failed == 1);
  CHECK(opdump_session_last_sink_failure(later.session) == OPDUMP_ERR_DRIVER_FAILED);
  static_cast<void>(opdump_session_finalize(later.session));
  for (int step = 0; step < 3; ++step)
    CHECK(all_received(later.received).find(SinkStack::tensor_of(step)) == std::string::npos);
}

TEST_CASE("c api: what a sealed sink is made of is checked") {
  SinkStack stack;
  opdump_sealer port = stack.sealer.port();
  const Room room(opdump_sealed_sink_size(kMaskedChunk));
  opdump_sink* sink = stack.to;
  const auto made = [&](std::uint32_t chunk, opdump_sink* to, const opdump_sealer* sealer,
                        std::size_t bytes) {
    return opdump_sealed_sink_create(room.at(), bytes, chunk, to, sealer, &sink);
  };
  CHECK(made(63, stack.to, &port, room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(sink == nullptr);
  CHECK(made(0x100001, stack.to, &port, room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(made(kMaskedChunk, nullptr, &port, room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(made(kMaskedChunk, stack.to, nullptr, room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(made(kMaskedChunk, stack.to, &port, room.bytes() - 16) == OPDUMP_ERR_NO_MEMORY);
  CHECK(opdump_sealed_sink_create(room.at(), room.bytes(), kMaskedChunk, stack.to, &port, nullptr) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  port.seal = nullptr;
  CHECK(made(kMaskedChunk, stack.to, &port, room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  port = stack.sealer.port();
  port.end = nullptr;
  REQUIRE(made(kMaskedChunk, stack.to, &port, room.bytes()) == OPDUMP_OK);
  CHECK(opdump_sealed_sink_seals(stack.to) == 0);
  CHECK(opdump_sealed_sink_seals(nullptr) == 0);
  opdump_sink_destroy(sink);
  CHECK(stack.sealer.ended == 0);
}

TEST_CASE("c api: a history hands on what a trigger asks for, sealed, and keeps clear text in RAM alone") {
  for (const bool in_pieces : {false, true}) {
    CAPTURE(in_pieces);
    SinkStack stack;
    REQUIRE(stack.put_seal() == OPDUMP_OK);
    REQUIRE(stack.put_history(8 * 512) == OPDUMP_OK);
    if (in_pieces) REQUIRE(opdump_history_sink_in_pieces(stack.history) == OPDUMP_OK);
    REQUIRE(stack.boot({.seal = seal_key_of('k'), .history_steps = 3, .after_steps = 1}) == OPDUMP_OK);
    stack.run(10);
    CHECK(all_received(stack.received) == "");
    CHECK(history_counts(stack.history).triggers == 0);
    CHECK(history_counts(stack.history).let_go == 7);
    const auto in_ram = [&](int step) {
      const std::string room(static_cast<const char*>(stack.history_room->at()), stack.history_room->bytes());
      return room.find(SinkStack::tensor_of(step)) != std::string::npos;
    };
    CHECK(in_ram(9));
    REQUIRE(opdump_history_sink_trigger(stack.history) == OPDUMP_OK);
    stack.run(5);
    int more = 0, calls = 0;
    do {
      REQUIRE(opdump_history_sink_hand_on(stack.history, 100, &more) == OPDUMP_OK);
      ++calls;
    } while (more != 0);
    CHECK((calls > 1) == in_pieces);
    REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
    CHECK(history_counts(stack.history).triggers == 1);
    CHECK(history_counts(stack.history).lost == 0);
    // Three steps before the trigger is seen, in the next drain, and what follows.
    std::string texts;
    for (const auto& [path, bytes] : stack.received.whole) texts += unmasked(bytes);
    CHECK(stack.received.whole.size() >= 3);
    int written = 0;
    for (int step = 0; step < 15; ++step) {
      CHECK(all_received(stack.received).find(SinkStack::tensor_of(step)) == std::string::npos);
      const bool found = texts.find(SinkStack::tensor_of(step)) != std::string::npos;
      written += found ? 1 : 0;
      if (step == 9) CHECK(found);
      if (step < 7 || step > 12) CHECK_FALSE(found);
    }
    CHECK(static_cast<std::size_t>(written) == stack.received.whole.size());
    CHECK(stack.received.journals.empty());
  }
}

TEST_CASE("c api: a history obeys config or program, within its memory, and nothing else keeps one") {
  {
    SinkStack stack;
    CHECK(stack.boot({.history_steps = 2}) == OPDUMP_ERR_NOT_SUPPORTED);
    REQUIRE(opdump_session_init(stack.session) == OPDUMP_OK);
    CHECK(opdump_session_set_config(stack.session, stack.config) == OPDUMP_ERR_NOT_SUPPORTED);
    REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  }
  {
    SinkStack stack;
    REQUIRE(stack.put_history(4096) == OPDUMP_OK);
    CHECK(stack.boot({.history_steps = 2, .history_bytes = 4608}) == OPDUMP_ERR_NO_MEMORY);
    REQUIRE(stack.boot({.history_steps = 2, .history_bytes = 4096}) == OPDUMP_OK);
    // Of more steps than the sink was configured for.
    std::unique_ptr<Room> room;
    const std::vector<std::byte> plan = plan_that_asks({.history_steps = 3});
    CHECK(opdump_session_set_config(stack.session, load_config(plan, room)) == OPDUMP_ERR_NOT_SUPPORTED);
    REQUIRE(opdump_session_finalize(stack.session) == OPDUMP_OK);
  }
  SinkStack stack;
  REQUIRE(stack.put_history(4096) == OPDUMP_OK);
  CHECK(opdump_history_sink_keep(stack.to, 2, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_history_sink_trigger(stack.to) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_history_sink_in_pieces(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_history_sink_hand_on(stack.to, 1, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_history_sink_counts(stack.history, nullptr, 4) == OPDUMP_ERR_INVALID_ARGUMENT);
  REQUIRE(opdump_history_sink_keep(stack.history, 2, 0) == OPDUMP_OK);
  REQUIRE(stack.boot({}) == OPDUMP_OK);
  stack.run(5);
  CHECK(stack.received.whole.empty());
  CHECK(history_counts(stack.history).let_go >= 3);
  REQUIRE(opdump_history_sink_trigger(stack.history) == OPDUMP_OK);
  REQUIRE(opdump_sink_sync(stack.history) == OPDUMP_OK);
  CHECK(stack.received.whole.size() == 2);
  static_cast<void>(opdump_session_finalize(stack.session));

  opdump_sink* sink = nullptr;
  const Room room(opdump_history_sink_size(512));
  CHECK(opdump_history_sink_create(room.at(), room.bytes(), 511, stack.to, &sink) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_history_sink_create(room.at(), room.bytes(), 512, nullptr, &sink) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_history_sink_create(room.at(), room.bytes() - 16, 512, stack.to, &sink) ==
        OPDUMP_ERR_NO_MEMORY);
  CHECK(opdump_history_sink_create(room.at(), room.bytes(), 512, stack.to, &sink) == OPDUMP_OK);
}
