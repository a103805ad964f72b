#include "platform/wire/playback.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "platform/wire/wire_sink.hpp"
#include "tests/support/heard_bytes.hpp"
#include "tests/support/random.hpp"

using namespace opdump;

namespace {

using wire::Kind;

class PlaybackPort : public tests::HeardBytes {
 public:
  void write(Bytes from) { sent.insert(sent.end(), from.begin(), from.end()); }
  void hear(Kind kind, std::uint32_t session, std::uint32_t number, std::vector<std::byte> body = {}) {
    std::byte frame[2 + wire::kMaxFrameBytes] = {};
    std::copy(body.begin(), body.end(), frame + 1 + wire::kBodyAt);
    const std::size_t bytes = wire::seal(frame, wire::first_byte(kind), session, number, body.size());
    heard.push_back(std::byte{0});
    heard.insert(heard.end(), frame, frame + bytes);
    heard.push_back(std::byte{0});
  }

  std::vector<std::byte> sent;
};

struct Target {
  Status begin(const wire::PlayedInput& input) {
    if (input.op == "other") return Status::no_such_op;
    if (input.bytes > 1000) return Status::too_large;
    text +=
        std::string(input.op) + ':' + std::to_string(input.index) + '/' + std::to_string(input.bytes) + ' ';
    memory.assign(input.bytes, std::byte{0});
    dtype = input.dtype;
    return Status::ok;
  }
  Status take(std::uint32_t offset, Bytes piece) {
    REQUIRE(offset + piece.size() <= memory.size());
    std::copy(piece.begin(), piece.end(), memory.begin() + offset);
    return Status::ok;
  }

  std::string text;
  std::vector<std::byte> memory;
  DType dtype{};
};

using Playback = wire::Playback<PlaybackPort, Target>;

std::vector<std::byte> input_body(std::string_view op, std::uint8_t index, std::uint32_t bytes) {
  std::vector<std::byte> body(wire::kInputHeadBytes);
  body[0] = std::byte{index};
  body[1] = static_cast<std::byte>(DType::float16);
  store_little_endian(body.data() + 2, bytes);
  for (const char c : op) body.push_back(static_cast<std::byte>(c));
  return body;
}

std::vector<std::byte> step_body(std::uint32_t step) {
  std::vector<std::byte> body(sizeof step);
  store_little_endian(body.data(), step);
  return body;
}

/// "NUMBER:STATUS" of each answer since the last call.
std::string answers(PlaybackPort& port, std::uint32_t session) {
  std::string text;
  std::vector<std::byte> frame;
  for (const std::byte byte : port.sent) {
    if (byte != std::byte{0}) {
      frame.push_back(byte);
      continue;
    }
    if (frame.empty()) continue;
    REQUIRE(frame.size() == wire::kTakenBytes);
    REQUIRE(wire::unseal(frame.data(), frame.size()));
    CHECK(std::to_integer<std::uint32_t>(frame[1]) == wire::first_byte(Kind::taken));
    CHECK(load_little_endian<std::uint32_t>(frame.data() + 1 + wire::kBootAt) == session);
    text += std::to_string(load_little_endian<std::uint32_t>(frame.data() + 1 + wire::kNumberAt)) + ':' +
            std::to_string(std::to_integer<unsigned>(frame[1 + wire::kBodyAt])) + ' ';
    frame.clear();
  }
  port.sent.clear();
  return text;
}

Playback::Event serve_all(Playback& playback, PlaybackPort& port) {
  Playback::Event last = Playback::Event::none;
  do {
    playback.listen();
    const Playback::Event event = playback.serve();
    if (event != Playback::Event::none) last = event;
  } while (!port.heard.empty());
  return last;
}

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 7);
  return bytes;
}

}  // namespace

TEST_CASE("playback: inputs come in pieces, and then a step") {
  PlaybackPort port;
  Target target;
  Playback playback(port, target);
  const std::vector<std::byte> bytes = some_bytes(300);
  port.hear(Kind::input, 5, 0, input_body("conv1", 2, 300));
  port.hear(Kind::bytes, 5, 1, {bytes.begin(), bytes.begin() + 241});
  port.hear(Kind::bytes, 5, 2, {bytes.begin() + 241, bytes.end()});
  CHECK(serve_all(playback, port) == Playback::Event::none);
  port.hear(Kind::step, 5, 3, step_body(70000));
  CHECK(serve_all(playback, port) == Playback::Event::step);
  CHECK(playback.step() == 70000);
  CHECK(target.text == "conv1:2/300 ");
  CHECK(target.memory == bytes);
  CHECK(target.dtype == DType::float16);
  port.hear(Kind::over, 5, 4);
  CHECK(serve_all(playback, port) == Playback::Event::over);
  CHECK(answers(port, 5) == "1:0 2:0 3:0 4:0 5:0 ");
}

TEST_CASE("playback: what comes again is answered again, and taken once") {
  PlaybackPort port;
  Target target;
  Playback playback(port, target);
  for (int i = 0; i < 3; ++i) port.hear(Kind::input, 5, 0, input_body("a", 0, 2));
  port.hear(Kind::bytes, 5, 2, some_bytes(1));  // the one before it has not come
  for (int i = 0; i < 2; ++i) port.hear(Kind::bytes, 5, 1, some_bytes(2));
  port.hear(Kind::input, 5, 0, input_body("a", 0, 2));
  CHECK(serve_all(playback, port) == Playback::Event::none);
  CHECK(target.text == "a:0/2 ");
  CHECK(answers(port, 5) == "1:0 1:0 1:0 2:0 2:0 ");
  int steps = 0;
  for (int i = 0; i < 3; ++i) {
    port.hear(Kind::step, 5, 2, step_body(1));
    playback.listen();
    steps += playback.serve() == Playback::Event::step;
  }
  CHECK(steps == 1);
  CHECK(answers(port, 5) == "3:0 3:0 3:0 ");
}

TEST_CASE("playback: another session begins anew, from its first frame alone") {
  PlaybackPort port;
  Target target;
  Playback playback(port, target);
  port.hear(Kind::input, 5, 0, input_body("a", 0, 2));
  port.hear(Kind::bytes, 6, 1, some_bytes(2));
  CHECK(serve_all(playback, port) == Playback::Event::none);
  CHECK(answers(port, 5) == "1:0 ");
  port.hear(Kind::input, 6, 0, input_body("b", 0, 2));
  port.hear(Kind::bytes, 6, 1, some_bytes(2));
  port.hear(Kind::step, 6, 2, step_body(0));
  CHECK(serve_all(playback, port) == Playback::Event::step);
  CHECK(answers(port, 6) == "1:0 2:0 3:0 ");
  CHECK(target.text == "a:0/2 b:0/2 ");
}

TEST_CASE("playback: what does not fit is refused with the reason") {
  const std::string malformed = std::to_string(static_cast<int>(Status::malformed));
  const std::string truncated = std::to_string(static_cast<int>(Status::truncated));
  const std::string too_large = std::to_string(static_cast<int>(Status::too_large));
  const std::string no_such_op = std::to_string(static_cast<int>(Status::no_such_op));
  PlaybackPort port;
  Target target;
  Playback playback(port, target);
  port.hear(Kind::bytes, 5, 0, some_bytes(1));  // of no tensor
  port.hear(Kind::input, 5, 1, input_body("other", 0, 2));
  port.hear(Kind::bytes, 5, 2, some_bytes(2));  // of one that was refused
  port.hear(Kind::input, 5, 3, input_body("a", 0, 1001));
  port.hear(Kind::input, 5, 4, some_bytes(5));
  port.hear(Kind::input, 5, 5, input_body("a", 0, 2));
  port.hear(Kind::bytes, 5, 6, some_bytes(3));  // more than it has
  port.hear(Kind::input, 5, 7, input_body("a", 0, 2));
  port.hear(Kind::step, 5, 8, step_body(0));  // its bytes have not come
  port.hear(Kind::step, 5, 9, some_bytes(3));
  CHECK(serve_all(playback, port) == Playback::Event::none);
  CHECK(answers(port, 5) == "1:" + malformed + " 2:" + no_such_op + " 3:" + malformed + " 4:" + too_large +
                                " 5:" + malformed + " 6:0 7:" + malformed + " 8:0 9:" + truncated +
                                " 10:" + malformed + " ");
}

TEST_CASE("playback: a frame waits until it is served, and requests for the sink pass through") {
  PlaybackPort port;
  Target target;
  Playback playback(port, target);
  std::byte window[1024];
  wire::WireSink<Playback> sink(playback, window, 7);
  const ObjectId object = sink.begin({.root = "", .directory = "a", .file = "b"}).value();
  CHECK(sink.commit(object) == Status::ok);
  port.sent.clear();
  port.hear(Kind::input, 5, 0, input_body("a", 0, 0));
  port.hear(Kind::step, 5, 1, step_body(3));
  std::vector<std::byte> one(1, std::byte{2});
  port.hear(Kind::ask, 7, 0, one);
  sink.serve();
  CHECK(target.text.empty());
  // Two frames, and the state; no answer to the playback.
  CHECK(std::count(port.sent.begin(), port.sent.end(), std::byte{0}) == 6);
  port.sent.clear();
  CHECK(playback.serve() == Playback::Event::none);
  CHECK(target.text == "a:0/0 ");
  CHECK(answers(port, 5) == "1:0 ");
  // The second one came while the first one waited, and has to come again.
  CHECK(playback.serve() == Playback::Event::none);
  port.hear(Kind::step, 5, 1, step_body(3));
  sink.serve();
  CHECK(playback.serve() == Playback::Event::step);
}

TEST_CASE("playback: other bytes on the line do nothing, and frames behind them count") {
  PlaybackPort port;
  Target target;
  Playback playback(port, target);
  tests::Random random(3);
  std::uint32_t number = 0;
  for (int i = 0; i < 300; ++i) {
    for (std::size_t j = random.below(600); j-- != 0;)
      port.heard.push_back(static_cast<std::byte>(random.below(256)));
    serve_all(playback, port);
    port.hear(Kind::input, 5, number++, input_body("a", 0, 0));
    serve_all(playback, port);
  }
  CHECK(target.text.size() == 300 * std::string("a:0/0 ").size());
}
