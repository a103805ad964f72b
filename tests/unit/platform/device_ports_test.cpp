#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/descriptor_port.hpp"
#include "platform/wire/byte_port.hpp"
#include "platform/wire/piece_port.hpp"
#include "platform/wire/rtt_port.hpp"
#include "platform/wire/wire_sink.hpp"

using namespace opdump;

static_assert(wire::BytePort<posix::DescriptorPort>);

namespace {

struct LinePair {
  LinePair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    device.reset(ends[0]);
    host.reset(ends[1]);
  }

  std::string hear(std::size_t most = 4096) {
    std::string text(most, '\0');
    const ssize_t got = recv(host.get(), text.data(), most, MSG_DONTWAIT);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }
  void say(const std::string& text) {
    REQUIRE(::write(host.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  posix::UniqueFd device, host;
};

std::string read_all(posix::DescriptorPort& port, std::size_t piece) {
  std::string text;
  std::vector<std::byte> bytes(piece);
  for (std::size_t got; (got = port.read(bytes)) != 0;) text += as_text(Bytes(bytes).first(got));
  return text;
}

}  // namespace

TEST_CASE("a port over a descriptor carries both directions, in pieces of any size") {
  LinePair line;
  posix::DescriptorPort port(line.device.get());
  CHECK(read_all(port, 1) == "");
  port.write(as_bytes("to the host"));
  CHECK(line.hear() == "to the host");
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (const std::size_t piece : {1u, 7u, 64u, 500u}) {
    CHECK_FALSE(port.wait(0));
    line.say(text);
    CHECK(port.wait(1000));
    std::byte first;
    REQUIRE(port.read({&first, 1}) == 1);
    CHECK(first == std::byte{0});
    CHECK(port.wait(0));
    CHECK(read_all(port, piece) == text.substr(1));
  }
  CHECK_FALSE(port.gone());
}

TEST_CASE("a port over a descriptor drops what nobody takes, and goes on when there is room") {
  LinePair line;
  posix::DescriptorPort port(line.device.get(), 1);
  const std::string much(1 << 20, 'x');
  port.write(as_bytes(much));
  CHECK_FALSE(port.gone());
  std::size_t heard = 0;
  for (std::string piece; !(piece = line.hear(65536)).empty();) heard += piece.size();
  CHECK(heard > 0);
  CHECK(heard < much.size());
  port.write(as_bytes("later"));
  CHECK(line.hear() == "later");
}

TEST_CASE("a port over a descriptor outlives the other side, and goes on with another line") {
  LinePair line;
  posix::DescriptorPort port(line.device.get());
  line.say("last");
  line.host.reset();
  port.write(as_bytes("to nobody"));  // raises no SIGPIPE
  CHECK(port.gone());
  CHECK(port.last_error() == EPIPE);
  port.write(as_bytes("again"));
  LinePair other;
  port.use(other.device.get());
  CHECK_FALSE(port.gone());
  port.write(as_bytes("back"));
  CHECK(other.hear() == "back");
  other.say("yes");
  CHECK(read_all(port, 2) == "yes");
  other.host.reset();
  CHECK(read_all(port, 2) == "");
  CHECK(port.gone());
  CHECK(port.last_error() == 0);
}

TEST_CASE("a port over a pipe has one direction") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const posix::UniqueFd from(ends[0]), to(ends[1]);
  posix::DescriptorPort port(to.get());
  port.write(as_bytes("recorded"));
  char text[8];
  CHECK(::read(from.get(), text, sizeof text) == 8);
  CHECK(std::string(text, 8) == "recorded");
  CHECK(read_all(port, 4) == "");
}

// What TinyUSB's class/cdc/cdc_device.h and device/usbd.h declare, in our own words, and a stack made of it.
namespace {

struct UsbStack {
  std::deque<std::byte> to_host, to_device;
  std::size_t room = 64;
  bool connected = true;
  int tasks = 0;
};
UsbStack usb;

std::uint32_t tud_cdc_write(const void* from, std::uint32_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  std::uint32_t taken = 0;
  for (; taken < bytes && usb.room != 0; ++taken, --usb.room) usb.to_host.push_back(first[taken]);
  return taken;
}
std::uint32_t tud_cdc_write_flush() {
  return 0;
}
std::uint32_t tud_cdc_read(void* to, std::uint32_t bytes) {
  std::uint32_t count = 0;
  for (; count < bytes && !usb.to_device.empty(); ++count) {
    static_cast<std::byte*>(to)[count] = usb.to_device.front();
    usb.to_device.pop_front();
  }
  return count;
}
bool tud_cdc_connected() {
  return usb.connected;
}
void tud_task() {
  ++usb.tasks;
  if (usb.connected) usb.room = 64;
}

/// As piece_port.hpp has it.
struct CdcCalls {
  std::uint32_t put(const std::byte* from, std::uint32_t bytes) {
    const std::uint32_t taken = tud_cdc_write(from, bytes);
    tud_cdc_write_flush();
    return taken;
  }
  std::uint32_t get(std::byte* to, std::uint32_t bytes) { return tud_cdc_read(to, bytes); }
  bool wait() { return tud_task(), tud_cdc_connected(); }
};

static_assert(wire::BytePort<wire::PiecePort<CdcCalls>>);
static_assert(wire::BytePort<wire::RttPort>);

/// What a debug probe does with the control block, which it knows by its bytes alone.
class Probe {
 public:
  explicit Probe(wire::RttPort& port) : block_(reinterpret_cast<std::byte*>(&port.control())) {}

  bool finds() const { return std::memcmp(block_, "SEGGER RTT\0\0\0\0\0\0", 16) == 0; }
  std::uint32_t word(std::size_t at) const {
    std::uint32_t value;
    std::memcpy(&value, block_ + at, 4);
    return value;
  }
  std::string take() {
    const std::size_t ring = 24;
    std::string text;
    std::uint32_t at = word(ring + kRead);
    while (at != word(ring + kWrite)) {
      text += static_cast<char>(buffer(ring)[at]);
      at = (at + 1) % word(ring + kBytes);
    }
    std::memcpy(block_ + ring + kRead, &at, 4);
    return text;
  }
  /// How many bytes had room.
  std::size_t give(const std::string& text) {
    const std::size_t ring = 24 + kRing;
    std::uint32_t at = word(ring + kWrite);
    std::size_t given = 0;
    for (; given < text.size() && (at + 1) % word(ring + kBytes) != word(ring + kRead); ++given) {
      buffer(ring)[at] = static_cast<std::byte>(text[given]);
      at = (at + 1) % word(ring + kBytes);
    }
    std::memcpy(block_ + ring + kWrite, &at, 4);
    return given;
  }

 private:
  // name, buffer, then words: bytes, write, read, flags.
  static constexpr std::size_t kBytes = 2 * sizeof(void*), kWrite = kBytes + 4, kRead = kBytes + 8,
                               kRing = kBytes + 16;
  std::byte* buffer(std::size_t ring) const {
    std::byte* at;
    std::memcpy(&at, block_ + ring + sizeof(void*), sizeof at);
    return at;
  }

  std::byte* block_;
};

std::string text_for(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i * 7 + i / 256);
  return text;
}

template <class Port>
std::string read_all(Port& port, std::size_t piece) {
  std::vector<std::byte> bytes(piece);
  std::string text;
  for (std::size_t got; (got = port.read(bytes)) != 0;) text += as_text(Bytes(bytes).first(got));
  return text;
}

}  // namespace

TEST_CASE("a port over calls of a USB stack writes all while it is connected, and drops what nobody takes") {
  usb = {};
  CdcCalls calls;
  wire::PiecePort<CdcCalls> port(calls);
  const std::string text = text_for(1000);
  port.write(as_bytes(text));
  CHECK(std::string(reinterpret_cast<const char*>(
                        std::vector<std::byte>(usb.to_host.begin(), usb.to_host.end()).data()),
                    usb.to_host.size()) == text);
  CHECK(usb.tasks >= 14);
  for (const char c : text) usb.to_device.push_back(static_cast<std::byte>(c));
  CHECK(read_all(port, 33) == text);
  usb.connected = false;
  usb.to_host.clear();
  port.write(as_bytes(text));  // ends
  CHECK(usb.to_host.size() <= 64);
  // A sink goes on: what was dropped can be asked for.
  static std::byte window[2048];
  wire::WireSink<wire::PiecePort<CdcCalls>> sink(port, window, 1);
  CHECK(sink.begin({.directory = "d", .file = "f"}).ok());
  CHECK(sink.sync() == Status::ok);
}

TEST_CASE("RTT: a probe finds the block, and both directions go round their rings") {
  std::byte up[50], down[16];
  wire::RttPort port(up, down);
  Probe probe(port);
  REQUIRE(probe.finds());
  CHECK(probe.word(16) == 1);
  CHECK(probe.word(20) == 1);
  const std::string text = text_for(2000);
  std::string heard;
  for (std::size_t at = 0, step = 1; at < text.size(); at += step, step = step % 49 + 1) {
    step = std::min(step, text.size() - at);
    port.write(as_bytes(std::string_view(text).substr(at, step)));
    heard += probe.take();
  }
  CHECK(heard == text);
  CHECK(probe.take() == "");
  heard.clear();
  for (std::size_t at = 0; at < text.size();) {
    at += probe.give(text.substr(at, 20));
    heard += read_all(port, 3);
  }
  CHECK(heard == text);
}

TEST_CASE("RTT: without room the rest is dropped, or waited for") {
  std::byte up[50], down[16];
  const std::string text = text_for(200);
  {
    wire::RttPort port(up, down);
    port.write(as_bytes(text));
    CHECK(Probe(port).take() == text.substr(0, 49));
    port.write(as_bytes("more"));
    CHECK(Probe(port).take() == "more");
  }
  struct Waiter {
    wire::RttPort* port = nullptr;
    std::string heard;
    int left = 3;
  } waiter;
  wire::RttPort port(
      up, down,
      [](void* context) {
        Waiter& self = *static_cast<Waiter*>(context);
        self.heard += Probe(*self.port).take();
        return self.left-- != 0;
      },
      &waiter);
  waiter.port = &port;
  port.write(as_bytes(text));
  CHECK(waiter.heard == text.substr(0, waiter.heard.size()));
  CHECK(waiter.heard.size() == 4 * 49);
}

TEST_CASE("RTT: what a probe writes there never leads beyond the ring") {
  std::byte up[50], down[16];
  wire::RttPort port(up, down);
  port.control().down.write.store(1000);
  CHECK(read_all(port, 8) == "");
  port.control().down.write.store(15);
  CHECK(read_all(port, 8).size() == 15);
  port.control().up.read.store(50);
  port.write(as_bytes("nowhere"));
  CHECK(port.control().up.write.load() == 0);
}
