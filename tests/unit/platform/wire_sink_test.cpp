#include "platform/wire/wire_sink.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/random.hpp"

using namespace opdump;

namespace {

using Frame = std::vector<std::byte>;

/// Splits what is written at the zeros; gives what a receiver has said.
class Port {
 public:
  std::size_t read(MutableBytes to) {
    std::size_t count = 0;
    for (; count < to.size() && !heard.empty(); ++count) {
      to[count] = heard.front();
      heard.pop_front();
    }
    return count;
  }
  void write(Bytes from) {
    for (const std::byte byte : from) {
      if (byte != std::byte{0}) {
        current_.push_back(byte);
        continue;
      }
      if (!current_.empty()) frames.push_back(current_);
      current_.clear();
    }
  }
  void ask(std::uint32_t boot, std::uint32_t first, std::uint8_t count) {
    std::byte frame[wire::kAskBytes + 1];
    frame[1 + wire::kBodyAt] = std::byte{count};
    CHECK(wire::seal(frame, wire::first_byte(wire::Kind::ask), boot, first, 1) == wire::kAskBytes);
    heard.insert(heard.end(), frame, frame + wire::kAskBytes);
    heard.push_back(std::byte{0});
  }

  std::deque<std::byte> heard;
  std::vector<Frame> frames;

 private:
  Frame current_;
};

std::uint32_t number_of(Frame frame) {
  REQUIRE(wire::unseal(frame.data(), frame.size()));
  return load_little_endian<std::uint32_t>(frame.data() + 1 + wire::kNumberAt);
}

wire::Kind kind_of(Frame frame) {
  REQUIRE(wire::unseal(frame.data(), frame.size()));
  return static_cast<wire::Kind>(std::to_integer<unsigned>(frame[1]) & 0xf);
}

std::uint32_t oldest_of(Frame state, std::uint32_t asked) {
  REQUIRE(wire::unseal(state.data(), state.size()));
  REQUIRE(load_little_endian<std::uint32_t>(state.data() + 1 + wire::kBodyAt + 4) == asked);
  return load_little_endian<std::uint32_t>(state.data() + 1 + wire::kBodyAt);
}

}  // namespace

TEST_CASE("COBS gives back what it was given, and no zero") {
  tests::Random random(1);
  for (std::size_t bytes = 0; bytes <= wire::kMaxFrameBytes; ++bytes) {
    for (const unsigned most : {0u, 1u, 255u, 256u}) {
      std::vector<std::byte> frame(1 + bytes);
      for (std::size_t i = 1; i <= bytes; ++i)
        frame[i] = static_cast<std::byte>(most == 256 ? 255 : random.below(most + 1));
      std::vector<std::byte> stuffed = frame;
      wire::stuff(stuffed.data(), bytes);
      for (const std::byte byte : stuffed) REQUIRE(byte != std::byte{0});
      REQUIRE(wire::unstuff(stuffed.data(), stuffed.size()));
      frame[0] = std::byte{0};
      REQUIRE(stuffed == frame);
    }
  }
}

TEST_CASE("the window holds the last frames as they were sent, whatever its size") {
  const auto run = [](auto& window, std::uint32_t seed) {
    tests::Random random(seed);
    Port port;
    wire::WireSink<Port> sink(port, window, 9);
    const ObjectName name = {.directory = "20260131130559", .file = "a"};
    std::vector<std::byte> content(600, std::byte{1});
    std::vector<Frame> sent;
    std::optional<ObjectId> object;
    for (int i = 0; i < 300; ++i) {
      if (!object) {
        const Result<ObjectId> begun = sink.begin(name);
        REQUIRE(begun.ok());
        REQUIRE(static_cast<std::uint32_t>(begun.value()) == sent.size());
        object = begun.value();
      } else if (random.below(4) == 0) {
        REQUIRE(sink.commit(*object) == Status::ok);
        object.reset();
      } else {
        const Bytes part = Bytes(content).first(random.below(content.size()));
        REQUIRE(sink.append(*object, {&part, 1}) == Status::ok);
      }
      for (Frame& frame : port.frames) {
        REQUIRE(number_of(frame) == sent.size());
        sent.push_back(std::move(frame));
      }
      REQUIRE(sink.frames() == sent.size());
      port.frames.clear();
      const auto first = static_cast<std::uint32_t>(random.below(sent.size() + 2));
      const auto count = static_cast<std::uint8_t>(random.below(256));
      port.ask(random.below(8) == 0 ? 8 : 9, first, count);
      sink.serve();
      REQUIRE(!port.frames.empty());
      const Frame state = port.frames.back();
      port.frames.pop_back();
      REQUIRE(kind_of(state) == wire::Kind::state);
      REQUIRE(number_of(state) == sent.size());
      const std::uint32_t oldest = oldest_of(state, first);
      // Half of the window at least is full of frames, but for one that fits no more.
      std::size_t kept = 0;
      for (std::size_t n = oldest; n < sent.size(); ++n) kept += sent[n].size() + 1;
      REQUIRE(kept < sizeof window);
      if (oldest != 0) REQUIRE(kept + sizeof window / 4 + 2 * 256 + 2 >= sizeof window);
      for (const Frame& frame : port.frames) REQUIRE(frame == sent[number_of(frame)]);
      if (!port.frames.empty()) {
        const std::size_t from = std::max(first, oldest);
        const std::size_t to = std::min<std::size_t>(first + count, sent.size());
        REQUIRE(port.frames.size() == to - from);
        REQUIRE(number_of(port.frames.front()) == from);
      }
      port.frames.clear();
    }
  };
  static std::byte smallest[wire::WireSink<Port>::kMinWindowBytes];
  static std::byte small[1000];
  static std::byte large[20000];
  run(smallest, 1);
  run(small, 2);
  run(large, 3);
}

TEST_CASE("a request is answered within noise, and another one's is not") {
  Port port;
  static std::byte window[1000];
  wire::WireSink<Port, 64> sink(port, window, 5);
  REQUIRE(sink.begin({.directory = "d", .file = "f"}).ok());
  CHECK(sink.begin({.directory = "d"}).status() == Status::invalid_argument);
  port.frames.clear();
  for (int i = 0; i < 100; ++i) port.heard.push_back(std::byte{0x55});
  sink.serve();
  CHECK(port.frames.empty());
  port.heard.push_back(std::byte{0});
  port.ask(5, 0, 1);
  sink.serve();
  REQUIRE(port.frames.size() == 2);
  CHECK(kind_of(port.frames[0]) == wire::Kind::begin);
  port.frames.clear();
  port.ask(5, 0, 1);
  port.heard[4] ^= std::byte{4};
  sink.serve();
  CHECK(port.frames.empty());
  port.ask(0, 0, 1);
  port.ask(5, 0, 1);
  sink.serve();
  REQUIRE(port.frames.size() == 1);
  CHECK(kind_of(port.frames[0]) == wire::Kind::state);
  sink.end();
  CHECK(kind_of(port.frames[1]) == wire::Kind::ended);
  REQUIRE(sink.sync() == Status::ok);
  CHECK(kind_of(port.frames[2]) == wire::Kind::ended);
}

TEST_CASE("a request is answered in the midst of a long entry") {
  Port port;
  static std::byte window[1000];
  wire::WireSink<Port, 64> sink(port, window, 5);
  const Result<ObjectId> object = sink.begin({.directory = "d", .file = "f"});
  REQUIRE(object.ok());
  port.frames.clear();
  port.ask(5, 0, 1);
  port.ask(5, 1, 1);
  const std::vector<std::byte> content(140, std::byte{7});
  const Bytes part = content;
  REQUIRE(sink.append(object.value(), {&part, 1}) == Status::ok);
  using Told = std::vector<std::pair<wire::Kind, std::uint32_t>>;
  Told told;
  for (const Frame& frame : port.frames) told.push_back({kind_of(frame), number_of(frame)});
  CHECK(told == Told{{wire::Kind::part, 1},
                     {wire::Kind::begin, 0},
                     {wire::Kind::state, 2},
                     {wire::Kind::part, 2},
                     {wire::Kind::part, 1},
                     {wire::Kind::state, 3},
                     {wire::Kind::data, 3}});
}
