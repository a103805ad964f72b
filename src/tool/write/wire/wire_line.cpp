#include "src/tool/write/wire/wire_line.hpp"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include <cstdint>
#include <memory>
#include <optional>

#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {

void FrameReader::take(Bytes bytes, const std::function<void(WireFrame&& frame)>& use) {
  for (const std::byte byte : bytes) {
    if (byte == std::byte{0}) {
      end_frame(use);
      count_ = 0;
    } else {
      if (count_ < sizeof memory_) memory_[count_] = byte;
      ++count_;
    }
  }
}

void FrameReader::end_frame(const std::function<void(WireFrame&& frame)>& use) {
  if (count_ == 0) return;
  if (!wire::unseal(memory_, count_)) {
    stray_bytes_ += count_;
    return;
  }
  const std::byte* const frame = memory_ + 1;
  const auto first = std::to_integer<std::uint32_t>(frame[0]);
  if (first >> 5 != wire::kVersion) {
    ++strange_frames_;
    strange_version_ = first >> 5;
    return;
  }
  use(WireFrame{.kind = static_cast<wire::Kind>(first & 0xf),
                .continued = (first & wire::kContinued) != 0,
                .boot = load_little_endian<std::uint32_t>(frame + wire::kBootAt),
                .number = load_little_endian<std::uint32_t>(frame + wire::kNumberAt),
                .body = {frame + wire::kBodyAt, frame + (count_ - 1 - wire::kCrcBytes)}});
}

namespace {

struct Speed {
  unsigned baud;
  speed_t code;
};

constexpr Speed kSpeeds[] = {
    {1200, B1200},       {2400, B2400},       {4800, B4800},       {9600, B9600},       {19200, B19200},
    {38400, B38400},     {57600, B57600},     {115200, B115200},   {230400, B230400},
#ifdef B4000000
    {460800, B460800},   {500000, B500000},   {576000, B576000},   {921600, B921600},   {1000000, B1000000},
    {1152000, B1152000}, {1500000, B1500000}, {2000000, B2000000}, {2500000, B2500000}, {3000000, B3000000},
    {3500000, B3500000}, {4000000, B4000000},
#endif
};

const Speed* speed_of(unsigned baud) {
  for (const Speed& speed : kSpeeds) {
    if (speed.baud == baud) return &speed;
  }
  return nullptr;
}

}  // namespace

bool WireLine::has_baud(unsigned baud) {
  return speed_of(baud) != nullptr;
}

bool WireLine::open(const std::string& name, unsigned baud) {
  name_ = name;
  baud_ = baud;
  return reopen();
}

bool WireLine::reopen() {
  two_way_ = is_recording_ = is_other_device_ = false;
  file_.reset();
  if (name_ == "-") {
    file_.reset(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    return file_ ? true : fail(strerror(errno));
  }
  struct stat status {};
  if (stat(name_.c_str(), &status) != 0) {
    const int error = errno;
    const std::size_t colon = name_.rfind(':');
    if (colon == name_.npos || colon == 0 || colon + 1 == name_.size() || name_.find('/') != name_.npos)
      return fail(strerror(error));
    return open_address(name_.substr(0, colon), name_.substr(colon + 1));
  }
  if (S_ISDIR(status.st_mode)) return fail("a directory");
  if (S_ISSOCK(status.st_mode)) return open_socket();
  two_way_ = S_ISCHR(status.st_mode);
  is_recording_ = S_ISREG(status.st_mode);
  // Without waiting for a carrier.
  file_.reset(::open(name_.c_str(), (two_way_ ? O_RDWR | O_NONBLOCK : O_RDONLY) | O_NOCTTY | O_CLOEXEC));
  if (!file_) return fail(strerror(errno));
  const bool is_terminal = isatty(file_.get()) == 1;
  is_other_device_ = two_way_ && !is_terminal;
  return !is_terminal || set_raw();
}

bool WireLine::set_raw() {
  termios settings{};
  if (tcgetattr(file_.get(), &settings) != 0) return fail(strerror(errno));
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  settings.c_cflag &= ~static_cast<tcflag_t>(CSTOPB | CRTSCTS);
  settings.c_cc[VMIN] = 1;  // else nothing to read looks like the end
  settings.c_cc[VTIME] = 0;
  const Speed* const speed = speed_of(baud_);
  if (speed == nullptr || cfsetispeed(&settings, speed->code) != 0 ||
      cfsetospeed(&settings, speed->code) != 0)
    return fail("not at " + std::to_string(baud_) + " baud");
  return tcsetattr(file_.get(), TCSANOW, &settings) == 0 || fail(strerror(errno));
}

bool WireLine::open_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name_.size() >= sizeof address.sun_path) return fail(strerror(ENAMETOOLONG));
  memcpy(address.sun_path, name_.c_str(), name_.size() + 1);
  file_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file_ || connect(file_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(strerror(errno));
  two_way_ = true;
  return true;
}

bool WireLine::open_address(const std::string& host, const std::string& port) {
  // getaddrinfo takes it modulo 65536.
  if (const std::optional<std::uint64_t> number = parse_decimal(port); number && *number > 65535)
    return fail("a port is at most 65535");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int problem = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); problem != 0)
    return fail(gai_strerror(problem));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  int error = ENOENT;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    file_.reset(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (file_ && connect(file_.get(), at->ai_addr, at->ai_addrlen) == 0) {
      two_way_ = true;
      const int at_once = 1;  // requests are short, and waited for
      setsockopt(file_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
      return true;
    }
    error = errno;
  }
  return fail(strerror(error));
}

WireLine::Got WireLine::read(MutableBytes to, int milliseconds, std::size_t& count) {
  count = 0;
  pollfd wait = {.fd = file_.get(), .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, milliseconds) <= 0) return Got::nothing;
  const ssize_t got = ::read(file_.get(), to.data(), to.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Got::nothing;
  if (got > 0) {
    count = static_cast<std::size_t>(got);
    return Got::bytes;
  }
  if (got == 0 && is_other_device_) {
    fail("at its end, which a line never is; name a serial line, a socket or what was recorded");
    return Got::end;
  }
  if (two_way_) {
    file_.reset();
    return Got::gone;
  }
  if (got == 0) return Got::end;
  fail(strerror(errno));
  return Got::end;
}

void WireLine::write(Bytes bytes) {
  if (!two_way_) return;
  pollfd wait = {.fd = file_.get(), .events = POLLOUT, .revents = 0};
  if (poll(&wait, 1, 0) != 1 || (wait.revents & POLLOUT) == 0) return;
  if (::send(file_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK)
    return;
  // A request that is cut short is asked again.
  [[maybe_unused]] const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
}

bool WireLine::fail(const std::string& reason) {
  error_ = name_ + ": " + reason;
  file_.reset();
  return false;
}

}  // namespace opdump::tool
