#include <doctest/doctest.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "opdump/session.hpp"
#include "platform/dmabuf/dmabuf_memory.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "tests/support/fakes.hpp"

// A memfd is memory that is shared through a descriptor, as a dma-buf is, but knows no sync call. The call is
// caught here, in front of the C library, and told apart: order, flags, and which call fails how. A call with flags
// that there are none of is refused as a dma-buf refuses it, or as what is none does.

namespace {

struct SyncCalls {
  std::vector<std::uint64_t> flags;
  std::vector<int> errors;  ///< of the calls in order; 0: none
  std::size_t calls = 0;
};
SyncCalls* sync_calls = nullptr;
int error_of_no_flags = EINVAL;

}  // namespace

extern "C" int ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (request == DMA_BUF_IOCTL_SYNC && (static_cast<const dma_buf_sync*>(argument)->flags &
                                        ~std::uint64_t{DMA_BUF_SYNC_VALID_FLAGS_MASK}) != 0) {
    errno = error_of_no_flags;
    return -1;
  }
  if (sync_calls == nullptr || request != DMA_BUF_IOCTL_SYNC)
    return static_cast<int>(syscall(SYS_ioctl, descriptor, request, argument));
  const std::size_t call = sync_calls->calls++;
  const int error = call < sync_calls->errors.size() ? sync_calls->errors[call] : 0;
  if (error != 0) {
    errno = error;
    return -1;
  }
  sync_calls->flags.push_back(static_cast<const dma_buf_sync*>(argument)->flags);
  return 0;
}

using namespace opdump;
using opdump::tests::FakeClock;
using opdump::tests::FakeSink;

namespace {

constexpr std::uint64_t kStart = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_START;
constexpr std::uint64_t kEnd = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_END;

/// A device's buffer with the bytes 0, 1, 2...
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : fd_(memfd_create("buffer", MFD_CLOEXEC)), bytes_(bytes) {
    std::vector<unsigned char> content(bytes);
    std::iota(content.begin(), content.end(), static_cast<unsigned char>(0));
    REQUIRE(write(fd_.get(), content.data(), bytes) == static_cast<ssize_t>(bytes));
  }
  int descriptor() const { return fd_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  posix::UniqueFd fd_;
  std::size_t bytes_;
};

class Syncs : public SyncCalls {
 public:
  Syncs() { sync_calls = this; }
  ~Syncs() { sync_calls = nullptr; }
};

}  // namespace

TEST_CASE("dmabuf: what is no dma-buf is refused when it is added") {
  const Buffer buffer(64);
  DmabufMemory<> memory;
  for (const int error : {ENOTTY, EBADF}) {
    error_of_no_flags = error;
    CHECK(memory.add(buffer.descriptor(), buffer.bytes()).status() == Status::invalid_argument);
  }
  error_of_no_flags = EINVAL;
  CHECK(memory.add(buffer.descriptor(), buffer.bytes()).ok());
}

TEST_CASE("dmabuf: each copy lies between two sync calls") {
  Syncs syncs;
  const Buffer buffer(10000);
  DmabufMemory<> memory;
  const Result<Address> address = memory.add(buffer.descriptor(), buffer.bytes());
  REQUIRE(address.ok());
  CHECK(syncs.calls == 0);
  std::byte to[100];
  REQUIRE(memory.copy(to, address.value() + 5000, sizeof to) == Status::ok);
  CHECK(to[0] == static_cast<std::byte>(5000 % 256));
  CHECK(to[99] == static_cast<std::byte>(5099 % 256));
  CHECK(syncs.flags == std::vector<std::uint64_t>{kStart, kEnd});
  // What the device writes later is seen.
  const char later = 77;
  REQUIRE(pwrite(buffer.descriptor(), &later, 1, 5000) == 1);
  REQUIRE(memory.copy(to, address.value() + 5000, 1) == Status::ok);
  CHECK(to[0] == std::byte{77});
  CHECK(memory.copy(to, address.value(), 0) == Status::ok);
  CHECK(syncs.calls == 4);
}

TEST_CASE("dmabuf: interrupted sync calls are made again, others fail the copy") {
  const Buffer buffer(64);
  DmabufMemory<> memory;
  const Address address = memory.add(buffer.descriptor(), buffer.bytes()).value();
  std::byte to[64];
  {
    Syncs syncs;
    syncs.errors = {EINTR, EAGAIN, EINTR, 0, EAGAIN, EINTR, 0};
    CHECK(memory.copy(to, address, sizeof to) == Status::ok);
    CHECK(syncs.calls == 7);
    CHECK(syncs.flags == std::vector<std::uint64_t>{kStart, kEnd});
  }
  for (const int error : {EIO, ENOTTY, EBADF, EINVAL}) {
    Syncs first;
    first.errors = {error};
    std::memset(to, 0, sizeof to);
    CHECK(memory.copy(to, address, sizeof to) == Status::device_copy_failed);
    CHECK(first.calls == 1);
    CHECK(to[63] == std::byte{0});
    Syncs second;
    second.errors = {0, error};
    CHECK(memory.copy(to, address, sizeof to) == Status::device_copy_failed);
    CHECK(second.calls == 2);
  }
  // Without the shim, a memfd is no dma-buf.
  CHECK(memory.copy(to, address, sizeof to) == Status::device_copy_failed);
}

TEST_CASE("dmabuf: only what is mapped is read") {
  Syncs syncs;
  const Buffer first(4096), second(100);
  DmabufMemory<2> memory;
  const Address a = memory.add(first.descriptor(), first.bytes()).value();
  const Address b = memory.add(second.descriptor(), second.bytes()).value();
  CHECK(memory.add(second.descriptor(), 1).status() == Status::too_many_objects);
  std::byte to[4097];
  CHECK(memory.copy(to, a, 4096) == Status::ok);
  CHECK(memory.copy(to, a, 4097) == Status::device_copy_failed);
  CHECK(memory.copy(to, a + 4095, 1) == Status::ok);
  CHECK(memory.copy(to, a + 4096, 1) == Status::device_copy_failed);
  CHECK(memory.copy(to, a + 1, 4096) == Status::device_copy_failed);
  CHECK(memory.copy(to, b + 99, 1) == Status::ok);
  CHECK(memory.copy(to, b + 100, 1) == Status::device_copy_failed);
  for (const Address nowhere : {Address{0}, Address{1}, a - 1, ~Address{0}, 3 * a})
    CHECK(memory.copy(to, nowhere, 1) == Status::device_copy_failed);
  CHECK(memory.remove(b + 1) == Status::not_found);
  CHECK(memory.remove(b) == Status::ok);
  CHECK(memory.remove(b) == Status::not_found);
  CHECK(memory.copy(to, b, 1) == Status::device_copy_failed);
  CHECK(memory.add(first.descriptor(), 10).value() == b);
}

TEST_CASE("dmabuf: a buffer that cannot be mapped is refused") {
  DmabufMemory<> memory;
  CHECK(memory.add(-1, 100).status() == Status::invalid_argument);
  const Buffer buffer(100);
  CHECK(memory.add(buffer.descriptor(), 0).status() == Status::invalid_argument);
  const posix::UniqueFd write_only(open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (write_only) CHECK(memory.add(write_only.get(), 100).status() == Status::permission_denied);
}

TEST_CASE("dmabuf: any sync call that fails loses its record alone, and the others are whole") {
  const Buffer buffer(3000);
  DmabufMemory<> memory;
  const Address address = memory.add(buffer.descriptor(), buffer.bytes()).value();
  const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  const Dim dims[] = {3000};
  const TensorView tensor = {.address = address, .bytes = 3000, .dtype = DType::uint8, .shape = dims};
  const ModelRule rules[] = {{.any_model = true}};
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = "/d";
  config.models = rules;
  int lost = 0;
  bool every_call_reached = false;
  for (int fail_at = 0; !every_call_reached; ++fail_at) {
    CAPTURE(fail_at);
    Syncs syncs;
    syncs.errors.assign(static_cast<std::size_t>(fail_at) + 1, 0);
    syncs.errors.back() = EIO;
    FakeSink sink;
    FakeClock clock;
    alignas(8) std::byte ring[1024];
    std::byte scratch[4096];
    BasicSession<DmabufMemory<>> session({.memory = memory,
                                          .sink = sink,
                                          .clock = clock,
                                          .scratch = scratch,
                                          .when_full = WhenFull::inline_drain});
    auto& recorder = *session.add_recorder(ring).value();
    ModelPlanFor<1> plan;
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    REQUIRE(session.load_model(plan, model) == Status::ok);
    for (int step = 0; step < 2; ++step) {
      REQUIRE(recorder.begin_step(plan) == Status::ok);
      const Status status = recorder.capture(0, {}, {&tensor, 1});
      CHECK((status == Status::ok || status == Status::device_copy_failed));
      REQUIRE(recorder.end_step() == Status::ok);
    }
    REQUIRE(session.finalize() == Status::ok);
    every_call_reached = syncs.calls <= static_cast<std::size_t>(fail_at);
    const std::size_t whole = every_call_reached ? 2 : 1;
    CHECK(sink.objects.size() == whole);
    CHECK(sink.open_objects.empty());
    CHECK(session.counts().device_failed == 2 - whole);
    for (const auto& [name, bytes] : sink.objects)
      for (std::size_t i = 0; i < 3000; ++i)
        REQUIRE(bytes[bytes.size() - 3000 + i] == static_cast<std::byte>(i % 256));
    lost += every_call_reached ? 0 : 1;
  }
  CHECK(lost > 8);
}
