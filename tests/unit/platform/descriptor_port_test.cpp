#include "platform/posix/descriptor_port.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "platform/posix/base/unique_fd.hpp"
#include "platform/wire/byte_port.hpp"

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
