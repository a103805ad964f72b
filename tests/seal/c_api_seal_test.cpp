#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "opdump/opdump.h"
#include "src/card/hexadecimal.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/c_api_dump.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kCChunk = 512;  // so long that the log gives each piece a checksum of its own
constexpr std::uint32_t kCPage = 128;

/// An emulated part as a port of C gives it.
opdump_flash port_of(FlashEmulator& flash, flashlog::Device& device) {
  device = flash.device();
  opdump_flash port = {};
  port.struct_bytes = sizeof port;
  port.context = &device;
  port.block_bytes = device.geometry.block_bytes;
  port.block_count = device.geometry.block_count;
  port.program_bytes = device.geometry.program_bytes;
  port.page_bytes = kCPage;
  port.policy = OPDUMP_FLASH_STOP_WHEN_FULL;
  port.erased = 0xff;
  port.bits_only_clear = 1;
  port.read = [](void* self, std::uint32_t block, std::uint32_t offset, void* to, std::size_t bytes) {
    flashlog::Device& part = *static_cast<flashlog::Device*>(self);
    return static_cast<opdump_status>(
        part.read(part.context, block, offset, {static_cast<std::byte*>(to), bytes}));
  };
  port.program = [](void* self, std::uint32_t block, std::uint32_t offset, const void* from,
                    std::size_t bytes) {
    flashlog::Device& part = *static_cast<flashlog::Device*>(self);
    return static_cast<opdump_status>(
        part.program(part.context, block, offset, {static_cast<const std::byte*>(from), bytes}));
  };
  port.erase = [](void* self, std::uint32_t block) {
    flashlog::Device& part = *static_cast<flashlog::Device*>(self);
    return static_cast<opdump_status>(part.erase(part.context, block));
  };
  port.sync = [](void* self) {
    flashlog::Device& part = *static_cast<flashlog::Device*>(self);
    return static_cast<opdump_status>(part.sync(part.context));
  };
  port.protect = [](void* self, int on) {
    flashlog::Device& part = *static_cast<flashlog::Device*>(self);
    part.protect(part.context, on != 0);
  };
  return port;
}

/// A session of C that seals by the system's sealer, into a directory or a flash log.
class SealedByC {
 public:
  ~SealedByC() {
    opdump_sink_destroy(history_);
    opdump_sink_destroy(sealed_);
    opdump_sink_destroy(to_);
  }

  void into_directory() {
    to_room_ = std::make_unique<Room>(opdump_directory_sink_size());
    REQUIRE(opdump_directory_sink_create(to_room_->at(), to_room_->bytes(), &to_) == OPDUMP_OK);
  }

  void into_flash(FlashEmulator& flash) {
    const opdump_flash port = port_of(flash, device_);
    to_room_ = std::make_unique<Room>(opdump_flash_log_size(&port));
    REQUIRE(opdump_flash_log_create(to_room_->at(), to_room_->bytes(), &port, &to_) == OPDUMP_OK);
  }

  void seal() {
    sealer_room_ = std::make_unique<Room>(opdump_system_sealer_size());
    opdump_sealer sealer;
    REQUIRE(opdump_system_sealer_create(sealer_room_->at(), sealer_room_->bytes(), &sealer, sizeof sealer) ==
            OPDUMP_OK);
    sealed_room_ = std::make_unique<Room>(opdump_sealed_sink_size(kCChunk));
    REQUIRE(opdump_sealed_sink_create(sealed_room_->at(), sealed_room_->bytes(), kCChunk, to_, &sealer,
                                      &sealed_) == OPDUMP_OK);
  }

  void keep_history(std::size_t bytes) {
    history_room_ = std::make_unique<Room>(opdump_history_sink_size(bytes));
    REQUIRE(opdump_history_sink_create(history_room_->at(), history_room_->bytes(), bytes, sealed_,
                                       &history_) == OPDUMP_OK);
  }

  opdump_status boot(const std::string& text) {
    opdump_session_options options = {};
    options.struct_bytes = sizeof options;
    options.clock = opdump_system_clock();
    options.block_limit_ms = 100;
    options.sink = top();
    session_room_ = std::make_unique<Room>(opdump_session_size(&options));
    REQUIRE(opdump_session_create(session_room_->at(), session_room_->bytes(), &options, &session_) ==
            OPDUMP_OK);
    opdump_recorder_options ring = {};
    ring.struct_bytes = sizeof ring;
    ring.ring_bytes = 4096;
    recorder_room_ = std::make_unique<Room>(opdump_recorder_size(&ring));
    REQUIRE(opdump_recorder_add(session_, &ring, recorder_room_->at(), recorder_room_->bytes(), &recorder_) ==
            OPDUMP_OK);
    config_room_ = std::make_unique<Room>(opdump_config_size(text.size()));
    opdump_config* config = nullptr;
    char message[256];
    REQUIRE_MESSAGE(opdump_config_parse(config_room_->at(), config_room_->bytes(), text.data(), text.size(),
                                        &config, message, sizeof message) == OPDUMP_OK,
                    message);
    const opdump_status status = opdump_session_boot(session_, config);
    if (status != OPDUMP_OK) return status;
    model_room_ = std::make_unique<Room>(opdump_model_size(&kNet));
    REQUIRE(opdump_model_load(session_, &kNet, model_room_->at(), model_room_->bytes(), &model_) ==
            OPDUMP_OK);
    return status;
  }

  void capture(const std::string& secret) {
    const std::uint64_t bytes = secret.size();
    const opdump_tensor tensor = tensor_of_bytes(secret.data(), bytes);
    one_step(recorder_, model_, tensor);
    static_cast<void>(opdump_session_drain(session_, SIZE_MAX));
  }

  opdump_sink* top() const { return history_ != nullptr ? history_ : sealed_ != nullptr ? sealed_ : to_; }
  opdump_sink* history() const { return history_; }
  opdump_session* session() const { return session_; }
  opdump_recorder* recorder() const { return recorder_; }
  std::string ram() const {
    return std::string(static_cast<const char*>(history_room_->at()), history_room_->bytes());
  }

 private:
  flashlog::Device device_;
  std::unique_ptr<Room> to_room_, sealer_room_, sealed_room_, history_room_, session_room_, recorder_room_,
      config_room_, model_room_;
  opdump_sink* to_ = nullptr;
  opdump_sink* sealed_ = nullptr;
  opdump_sink* history_ = nullptr;
  opdump_session* session_ = nullptr;
  opdump_recorder* recorder_ = nullptr;
  opdump_model* model_ = nullptr;
};

std::string sealed_config(const Recipient& recipient, const std::string& path, const std::string& more = "") {
  return R"({"dump": {"dump_path": ")" + path + R"(", "dump_list": [{}]}, "opdump": {"seal": ")" +
         cards::hexadecimal(recipient.key->recipient()) + "\"" + more + "}}";
}

std::string secret_of(int step) {
  return "patient " + std::to_string(1000 + step) + " of ward " + std::to_string(step % 7) + ", " +
         std::string(90, static_cast<char>('a' + step % 26));
}

/// The files below a directory, all of which must be sealed.
std::vector<Opened> opened_files(const std::filesystem::path& directory, const Recipient& recipient) {
  std::vector<Opened> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = read_file(entry.path());
    CHECK(bytes.starts_with("OPSEAL"));
    CHECK(bytes.find("patient") == bytes.npos);
    files.push_back(open_file(*recipient.key, bytes));
    CHECK(files.back().faults == "");
  }
  return files;
}

std::size_t files_with(const std::vector<Opened>& files, const std::string& text) {
  std::size_t count = 0;
  for (const Opened& file : files) count += file.text.find(text) != file.text.npos ? 1 : 0;
  return count;
}

std::string image_of(FlashEmulator& flash, const flashlog::Geometry& geometry) {
  std::string image;
  const flashlog::Device device = flash.device();
  for (std::uint32_t block = 0; block < geometry.block_count; ++block) {
    std::string bytes(geometry.block_bytes, '\0');
    REQUIRE(device.read(device.context, block, 0, std::as_writable_bytes(std::span(bytes))) == Status::ok);
    image += bytes;
  }
  return image;
}

constexpr flashlog::Geometry kCPart = {
    .block_bytes = 4096, .block_count = 16, .program_bytes = 1, .bits_only_clear = true};

}  // namespace

TEST_CASE("seal: a session of C seals into a directory by the system's sealer") {
  TemporaryDirectory directory;
  const Recipient recipient;
  {
    SealedByC dump;
    dump.into_directory();
    dump.seal();
    REQUIRE(dump.boot(sealed_config(recipient, directory.path().string())) == OPDUMP_OK);
    for (int step = 0; step < 5; ++step) dump.capture(secret_of(step));
    REQUIRE(opdump_session_finalize(dump.session()) == OPDUMP_OK);
  }
  const std::vector<Opened> files = opened_files(directory.path(), recipient);
  CHECK(files.size() == 6);
  for (int step = 0; step < 5; ++step) CHECK(files_with(files, secret_of(step)) == 1);
  // A wrong key opens nothing, and a flipped bit is named.
  Recipient other(2);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    std::string bytes = read_file(entry.path());
    CHECK(open_file(*other.key, bytes).wrong_key);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    CHECK(open_file(*recipient.key, bytes).faults.find("changed") != std::string::npos);
  }
}

TEST_CASE("seal: a directory of C alone refuses a config with a seal") {
  TemporaryDirectory directory;
  SealedByC dump;
  dump.into_directory();
  CHECK(dump.boot(sealed_config(Recipient(), directory.path().string())) == OPDUMP_ERR_NOT_SUPPORTED);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("seal: a history of C is in clear in RAM, and never in flash") {
  FlashEmulator flash(kCPart, kCPage);
  const Recipient recipient;
  constexpr int kSteps = 40;
  SealedByC dump;
  dump.into_flash(flash);
  dump.seal();
  dump.keep_history(8192);
  REQUIRE(dump.boot(sealed_config(recipient, "/", ", \"history_steps\": 5, \"after_steps\": 2")) ==
          OPDUMP_OK);
  const auto in_clear = [&](const std::string& bytes) {
    int count = 0;
    for (int step = 0; step < kSteps; ++step) {
      const std::string secret = secret_of(step);
      for (std::size_t at = 0; at + 8 <= 30; at += 2) count += bytes.find(secret.substr(at, 8)) != bytes.npos;
    }
    return count;
  };
  for (int step = 0; step < kSteps; ++step) {
    if (step == 20 || step == 33) REQUIRE(opdump_history_sink_trigger(dump.history()) == OPDUMP_OK);
    dump.capture(secret_of(step));
    CHECK(in_clear(image_of(flash, kCPart)) == 0);
    CHECK(in_clear(dump.ram()) > 0);
  }
  REQUIRE(opdump_session_finalize(dump.session()) == OPDUMP_OK);
  CHECK(in_clear(image_of(flash, kCPart)) == 0);
  const FlashContents contents = read_flash(flash.device());
  std::vector<Opened> files;
  for (const FlashContents::Object& object : contents.objects) {
    CHECK(object.state == flashlog::ObjectState::committed);
    files.push_back(open_file(*recipient.key, object.bytes));
    CHECK(files.back().faults == "");
  }
  // The five steps before the trigger is seen, and two more, twice.
  CHECK(files.size() == 14);
  for (const int step : {15, 19, 21, 28, 32, 34}) CHECK(files_with(files, secret_of(step)) == 1);
  for (const int step : {0, 14, 22, 27, 35, 39}) CHECK(files_with(files, secret_of(step)) == 0);
}

TEST_CASE("seal: power cut under a session of C costs the chunk under way at most") {
  FlashEmulator flash(kCPart, kCPage);
  const Recipient recipient;
  SealedByC dump;
  dump.into_flash(flash);
  dump.seal();
  REQUIRE(dump.boot(sealed_config(recipient, "/")) == OPDUMP_OK);
  std::uint32_t phase = 0;
  int cuts = 0, torn = 0;
  std::size_t synced = 0;
  std::string broken;
  const auto check = [&](FlashEmulator& dead) {
    dead.power_on();
    const FlashContents contents = read_flash(dead.device());
    std::size_t whole = 0;
    for (const FlashContents::Object& object : contents.objects) {
      const Opened opened = open_file(*recipient.key, object.bytes);
      if (object.state == flashlog::ObjectState::committed) {
        ++whole;
        if (opened.faults != "") broken += "committed: " + opened.faults;
      } else if (object.bytes.size() > sealed::kHeadBytes) {
        ++torn;
        const std::size_t chunks =
            (object.bytes.size() - sealed::kHeadBytes) / (sealed::kChunkMore + kCChunk);
        const std::size_t head = 4 + opened.directory.size() + opened.file.size();
        if (chunks > 0 && opened.text.size() + head < chunks * kCChunk)
          broken += "lost more than a chunk: " + object.path + "\n";
      }
    }
    if (whole < synced) broken += "a synced object is lost\n";
    ++cuts;
  };
  flash.before = [&](FlashEmulator& part, const FlashEmulator::Operation& operation) {
    for (; phase < operation.cuts; phase += 61) {
      FlashEmulator dead = part;
      dead.before = nullptr;
      static_cast<void>(dead.cut(operation, phase));
      check(dead);
    }
    phase -= operation.cuts;
  };
  for (int step = 0; step < 25; ++step) {
    dump.capture(secret_of(step) + std::string(1500, '.'));
    if (step % 5 == 4) {
      REQUIRE(opdump_sink_sync(dump.top()) == OPDUMP_OK);
      synced = static_cast<std::size_t>(step) + 1;
    }
  }
  REQUIRE(opdump_session_finalize(dump.session()) == OPDUMP_OK);
  flash.before = nullptr;
  CHECK(broken == "");
  CHECK(cuts > 100);
  CHECK(torn > 10);
}

TEST_CASE("seal: what the system's sealer is made of is checked") {
  const Room room(opdump_system_sealer_size());
  opdump_sealer sealer;
  CHECK(opdump_system_sealer_create(room.at(), room.bytes(), nullptr, sizeof sealer) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_system_sealer_create(room.at(), room.bytes(), &sealer, sizeof sealer - 1) ==
        OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_system_sealer_create(room.at(), room.bytes() - 16, &sealer, sizeof sealer) ==
        OPDUMP_ERR_NO_MEMORY);
  REQUIRE(opdump_system_sealer_create(room.at(), room.bytes(), &sealer, sizeof sealer) == OPDUMP_OK);
  // A public key that no secret can be shared with.
  const std::uint8_t zeros[OPDUMP_SEAL_KEY_BYTES] = {};
  std::uint8_t ephemeral[OPDUMP_SEAL_KEY_BYTES];
  CHECK(sealer.begin(sealer.context, zeros, ephemeral) == OPDUMP_ERR_INVALID_ARGUMENT);
  sealer.end(sealer.context);
}
