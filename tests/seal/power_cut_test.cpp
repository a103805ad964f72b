#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "platform/flashlog/flash_log.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"

using namespace opdump;
using namespace opdump::tests;
using flashlog::FlashLog;

namespace {

constexpr std::uint32_t kChunk = 128;

/// Power is cut at every byte; in shorter tests at one in so many.
constexpr bool kFull = OPDUMP_TEST_SHARE == 1;

struct Written {
  std::string name;
  std::string text;
  enum class State { open, committing, committed, durable } state = State::open;
};

/// A sealed dump in flash, and what must be found in it at any moment.
class SealedPart {
 public:
  explicit SealedPart(const flashlog::Geometry& geometry, std::uint32_t seed = 5)
      : flash(geometry, kPageBytes),
        device_(flash.device()),
        page_(FlashLog::kPrefixBytes + kPageBytes),
        log_(device_, page_, {.policy = flashlog::Policy::stop_when_full}),
        memory_(SealedSink<FlashLog>::bytes_for(kChunk)),
        sink_(log_, sealer_, memory_),
        random_(seed) {
    REQUIRE(log_.mount() == Status::ok);
    REQUIRE(sink_.seal(recipient_.public_key()) == Status::ok);
  }

  void step() {
    const std::uint32_t dice = random() % 8;
    if (dice == 0 && written_.size() < kMostObjects) {
      const std::string name = "op" + std::to_string(written_.size());
      if (open_) return;
      const Result<ObjectId> id = sink_.begin({{}, "time/0", name});
      REQUIRE(id.ok());
      id_ = id.value();
      written_.push_back({name, {}});
      open_ = true;
    } else if (dice < 5 && open_) {
      const std::string text = draw(random() % 150);
      written_.back().text += text;
      const Bytes part = as_bytes(text);
      REQUIRE(sink_.append(id_, {&part, 1}) == Status::ok);
    } else if (dice == 5 && open_) {
      written_.back().state = Written::State::committing;
      REQUIRE(sink_.commit(id_) == Status::ok);
      written_.back().state = Written::State::committed;
      open_ = false;
    } else if (dice == 6) {
      const std::string line = "line " + draw(random() % 30) + "\n";
      lines_ += line;
      const Bytes part = as_bytes(line);
      REQUIRE(sink_.append_lines({{}, "time", "journal"}, {&part, 1}) == Status::ok);
    } else if (dice == 7) {
      REQUIRE(sink_.sync() == Status::ok);
      synced_lines_ = lines_.size();
      for (Written& object : written_) {
        if (object.state == Written::State::committed) object.state = Written::State::durable;
      }
    }
  }

  /// What a dead part that is a copy of this one still has, opened.
  void check(FlashEmulator& dead) {
    dead.power_on();
    const FlashContents contents = read_flash(dead.device());
    std::string broken;
    std::size_t durable = 0;
    for (const FlashContents::Object& object : contents.objects) {
      const Opened opened = open_file(*recipient_.key, object.bytes);
      const Written* const known = find(object.path);
      if (known == nullptr) {
        broken += "unknown: " + object.path + "\n";
        continue;
      }
      const bool prefix = known->text.compare(0, opened.text.size(), opened.text) == 0;
      if (!prefix) broken += "other text: " + object.path + "\n";
      if (object.state == flashlog::ObjectState::committed) {
        durable += known->state == Written::State::durable ? 1 : 0;
        if (opened.faults != "" || opened.text != known->text)
          broken += "committed, and not whole: " + object.path + ": " + opened.faults;
      } else if (!object.bytes.empty()) {
        // All that is there of it but the chunk under way.
        const std::size_t name = 4 + 6 + known->name.size();
        const std::size_t behind = object.bytes.size() - std::min(object.bytes.size(), sealed::kHeadBytes);
        const std::size_t whole = behind / (sealed::kChunkMore + kChunk);
        if (opened.text.size() + name < whole * kChunk || !(opened.cut_short || opened.faults == ""))
          broken += "lost more than a chunk: " + object.path + ": " + opened.faults;
        ++torn;
      }
    }
    for (const Written& object : written_) durable -= object.state == Written::State::durable ? 1 : 0;
    if (durable != 0) broken += "a durable object is lost\n";
    const auto journal = contents.journals.find("time/journal");
    if (journal != contents.journals.end()) {
      const Opened opened = open_file(*recipient_.key, journal->second);
      if (opened.faults != "") broken += "journal: " + opened.faults;
      if (opened.text.size() < synced_lines_ || lines_.compare(0, opened.text.size(), opened.text) != 0)
        broken += "lines are lost\n";
    } else if (synced_lines_ != 0) {
      broken += "the journal is lost\n";
    }
    if (!broken.empty()) FAIL(broken);
  }

  const std::string& lines() const { return lines_; }
  const std::vector<Written>& written() const { return written_; }

  static constexpr std::uint32_t kPageBytes = 128;
  static constexpr std::size_t kMostObjects = 24;

  FlashEmulator flash;
  std::uint64_t torn = 0;  ///< objects that a cut has left unfinished, and that were looked at

 private:
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

  std::string draw(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>('!' + random() % 90);
    return text;
  }

  const Written* find(const std::string& path) const {
    for (const Written& object : written_) {
      if (path == "time/0/" + object.name) return &object;
    }
    return nullptr;
  }

  flashlog::Device device_;
  std::vector<std::byte> page_;
  FlashLog log_;
  Recipient recipient_;
  sodium::SodiumSealer sealer_{sodium_library()};
  std::vector<std::byte> memory_;
  SealedSink<FlashLog> sink_;
  std::vector<Written> written_;
  ObjectId id_{};
  bool open_ = false;
  std::string lines_;
  std::size_t synced_lines_ = 0;
  std::minstd_rand random_;
};

const flashlog::Geometry kParts[] = {
    {.block_bytes = 1024, .block_count = 24, .program_bytes = 1, .bits_only_clear = true},
    {.block_bytes = 1024, .block_count = 24, .program_bytes = 16},
};

}  // namespace

TEST_CASE("seal: power is cut anywhere, and what is lost is the chunk under way at most") {
  std::uint64_t cuts = 0;
  const std::uint32_t stride = kFull ? 1 : 41;
  for (std::uint32_t run = 0; run < (kFull ? 6u : 2u); ++run) {
    CAPTURE(run);
    SealedPart part(kParts[run % 2], 5 + run);
    part.flash.volatile_programs = true;
    std::uint32_t phase = 0;
    part.flash.before = [&](FlashEmulator& flash, const FlashEmulator::Operation& operation) {
      const auto cut = [&](auto kill) {
        FlashEmulator dead = flash;
        dead.before = nullptr;
        kill(dead);
        part.check(dead);
        ++cuts;
      };
      if (kFull) cut([](FlashEmulator& dead) { dead.cut(); });
      for (; phase < operation.cuts; phase += stride)
        cut([&](FlashEmulator& dead) { static_cast<void>(dead.cut(operation, phase)); });
      phase -= operation.cuts;
    };
    for (int i = 0; i < 330; ++i) part.step();
    part.flash.before = nullptr;
    FlashEmulator end = part.flash;
    part.check(end);
    CHECK(part.written().size() > 10);
    CHECK(part.torn > 0);
  }
  MESSAGE(cuts, " cuts");
  CHECK(cuts >= (kFull ? 100'000 : 1000));
}

TEST_CASE("seal: an image of a flash log has nothing of the plaintext") {
  SealedPart part(kParts[0]);
  for (int i = 0; i < 300; ++i) part.step();
  std::string image;
  for (std::uint32_t block = 0; block < kParts[0].block_count; ++block) {
    std::string bytes(kParts[0].block_bytes, '\0');
    const flashlog::Device device = part.flash.device();
    REQUIRE(device.read(device.context, block, 0, std::as_writable_bytes(std::span(bytes))) == Status::ok);
    image += bytes;
  }
  std::size_t searched = 0;
  const auto search = [&](const std::string& text) {
    for (std::size_t i = 0; i + 6 <= text.size(); i += 3) {
      ++searched;
      if (image.find(text.substr(i, 6)) != image.npos) FAIL("in clear: ", text.substr(i, 6));
    }
  };
  for (const Written& object : part.written()) search(object.text);
  search(part.lines());
  CHECK(searched > 1000);
  CHECK(image.find("op1") != image.npos);  // names are in clear
}
