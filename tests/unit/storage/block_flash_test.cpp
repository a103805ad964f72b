#include <doctest/doctest.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "platform/storage/raw_log.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/raw_objects.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;
using storage::Access;

namespace {

constexpr flashlog::Options kNewest = {.policy = flashlog::Policy::overwrite_oldest, .prepared_blocks = 0};

std::string sparse_file(const TemporaryDirectory& directory, std::uint64_t bytes) {
  const std::string path = (directory.path() / "storage.img").string();
  write_file(path, "");
  std::filesystem::resize_file(path, bytes);
  return path;
}

std::uint64_t taken_bytes(const std::string& path) {
  struct ::stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

RawContents contents_at(const std::string& path) {
  storage::RawStorage storage;
  if (const Status status = storage.open(path, Access::read); status != Status::ok) return {.status = status};
  return contents_of(storage.device());
}

/// A loop device over a file, if the machine lets the test have one.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) {
    const posix::UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int number = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    const posix::UniqueFd backing(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    if (number < 0 || !backing) return;
    path_ = "/dev/loop" + std::to_string(number);
    device_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    bound_ = device_ && ::ioctl(device_.get(), LOOP_SET_FD, backing.get()) == 0;
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() {
    if (bound_) ::ioctl(device_.get(), LOOP_CLR_FD, 0);
  }
  explicit operator bool() const { return bound_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  posix::UniqueFd device_;
  bool bound_ = false;
};

/// A log that goes round several times at `path`, and is read again.
void check_round(const std::string& path) {
  for (std::uint32_t boot = 0; boot < 4; ++boot) {
    storage::RawLog log;
    REQUIRE(log.open(path, kNewest) == Status::ok);
    for (std::uint32_t i = 0; i < 150; ++i) REQUIRE(put_object(log.log(), 150 * boot + i) == Status::ok);
    REQUIRE(log.log().sync() == Status::ok);
  }
  const RawContents contents = contents_at(path);
  CHECK(contents.wrong + contents.damaged == 0);
  CHECK(contents.good.contains(599));
  CHECK(contents.good.size() > 100);
}

}  // namespace

TEST_CASE("block storage: its blocks depend on its size alone") {
  CHECK(storage::block_bytes_for(100'000) == 16 * 1024);
  CHECK(storage::block_bytes_for(4u << 20) == 16 * 1024);
  CHECK(storage::block_bytes_for(64u << 20) == 256 * 1024);
  CHECK(storage::block_bytes_for(std::uint64_t{8} << 30) == 4u << 20);
  CHECK((std::uint64_t{1} << 40) / storage::block_bytes_for(std::uint64_t{1} << 40) <= 0xffff);
}

TEST_CASE("block storage: a file") {
  const TemporaryDirectory directory;
  const std::string path = sparse_file(directory, 1 << 20);
  check_round(path);
  storage::RawLog log;
  REQUIRE(log.open(path, kNewest) == Status::ok);
  CHECK(log.report() == path + ": file, 64 blocks of 16 KiB, 1 MiB; a log has 64 of them, and this is boot " +
                            std::to_string(log.log().boot()));
}

TEST_CASE("block storage: an erase gives the block back") {
  const TemporaryDirectory directory;
  const std::string path = sparse_file(directory, 1 << 20);
  storage::BlockFlash<> flash;
  REQUIRE(flash.open(path, Access::write) == Status::ok);
  const std::vector<std::byte> bytes(16 * 1024, std::byte{7});
  for (std::uint32_t block = 0; block < 8; ++block) REQUIRE(flash.program(block, 0, bytes) == Status::ok);
  REQUIRE(flash.sync() == Status::ok);
  const std::uint64_t before = taken_bytes(path);
  for (std::uint32_t block = 2; block < 8; ++block) REQUIRE(flash.erase(block) == Status::ok);
  REQUIRE(flash.sync() == Status::ok);
  if (!flash.discards()) {
    std::fprintf(stderr, "skipped: the file system of %s punches no holes\n", path.c_str());
  } else {
    CHECK(taken_bytes(path) + 6 * 16 * 1024 <= before);
  }
  std::vector<std::byte> read(16 * 1024, std::byte{1});
  REQUIRE(flash.read(2, 0, read) == Status::ok);
  CHECK(read == std::vector<std::byte>(16 * 1024));
  REQUIRE(flash.read(1, 0, read) == Status::ok);
  CHECK(read == bytes);
}

TEST_CASE("block storage: where nothing can be discarded, an erase writes zeros") {
  struct NoDiscard : storage::Kernel {
    int fallocate(int, int, off_t, off_t) {
      errno = EOPNOTSUPP;
      return -1;
    }
  };
  const TemporaryDirectory directory;
  const std::string path = sparse_file(directory, 1 << 20);
  storage::BlockFlash<NoDiscard> flash;
  REQUIRE(flash.open(path, Access::write) == Status::ok);
  const std::vector<std::byte> bytes(16 * 1024, std::byte{7});
  REQUIRE(flash.program(5, 0, bytes) == Status::ok);
  REQUIRE(flash.erase(5) == Status::ok);
  CHECK_FALSE(flash.discards());
  std::vector<std::byte> read(16 * 1024, std::byte{1});
  REQUIRE(flash.read(5, 0, read) == Status::ok);
  CHECK(read == std::vector<std::byte>(16 * 1024));
}

TEST_CASE("block storage: a loop device, which one program at a time may claim") {
  const TemporaryDirectory directory;
  const std::string file = sparse_file(directory, 1 << 20);
  const LoopDevice loop(file);
  if (!loop) {
    std::fprintf(stderr, "skipped: this machine gives the test no loop device\n");
    return;
  }
  check_round(loop.path());
  storage::RawLog log;
  REQUIRE(log.open(loop.path(), kNewest) == Status::ok);
  CHECK(log.report().starts_with(loop.path() + ": block device, 64 blocks of 16 KiB, 1 MiB; a log has 64"));
  storage::RawStorage other;
  CHECK(other.open(loop.path(), Access::write) == Status::io_error);
  CHECK(other.error() == loop.path() +
                             ": cannot be opened: Device or resource busy: it is mounted, or another program "
                             "has claimed it");
  CHECK(other.open(loop.path(), Access::read) == Status::ok);
}

TEST_CASE("block storage: one dump at a time writes to a file") {
  const TemporaryDirectory directory;
  const std::string path = sparse_file(directory, 1 << 20);
  storage::RawLog log;
  REQUIRE(log.open(path, kNewest) == Status::ok);
  storage::RawLog other;
  CHECK(other.open(path, kNewest) == Status::io_error);
  CHECK(other.error() == path + ": another dump writes to it");
  CHECK(contents_at(path).status == Status::ok);
}

TEST_CASE("block storage: what is no storage is refused") {
  const TemporaryDirectory directory;
  storage::RawStorage storage;
  const std::string small = sparse_file(directory, 40'000);
  CHECK(storage.open(small, Access::write) == Status::not_supported);
  CHECK(storage.error().starts_with(small + ": 40000 bytes in blocks of 16384"));
  CHECK(storage.open("/dev/null", Access::write) == Status::not_supported);
  CHECK(storage.error() == "/dev/null: is neither an MTD device, a UBI volume, a block device nor a file");
  CHECK(storage.open(directory.text() + "/none", Access::write) == Status::not_found);
  CHECK(storage.open(directory.text(), Access::write) == Status::not_supported);
}

TEST_CASE("block storage: a writer that is killed loses nothing that it has synced") {
  const TemporaryDirectory directory;
  const std::string path = sparse_file(directory, 1 << 20);
  std::uint32_t next = 0;
  for (std::uint32_t round = 0; round < 25; ++round) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const std::uint32_t first = next;
    const pid_t child = start_child([&] {
      storage::RawLog log;
      OPDUMP_CHILD_CHECK(log.open(path, kNewest) == Status::ok);
      for (std::uint32_t number = first;; ++number) {
        OPDUMP_CHILD_CHECK(put_object(log.log(), number) == Status::ok);
        if (number % 3 != 0) continue;
        OPDUMP_CHILD_CHECK(log.log().sync() == Status::ok);
        OPDUMP_CHILD_CHECK(::write(pipe_ends[1], &number, sizeof number) == sizeof number);
      }
      return 0;
    });
    ::close(pipe_ends[1]);
    // Killed at a time that differs from round to round, between two syncs or in one.
    std::uint32_t synced = 0;
    for (std::uint32_t told = 0; told <= round % 9; ++told)
      REQUIRE(::read(pipe_ends[0], &synced, sizeof synced) == sizeof synced);
    ::usleep(round * 731 % 5000);
    ::kill(child, SIGKILL);
    CHECK(wait_for(child) == -1);
    while (::read(pipe_ends[0], &synced, sizeof synced) == sizeof synced) continue;
    ::close(pipe_ends[0]);

    const RawContents contents = contents_at(path);
    REQUIRE(contents.status == Status::ok);
    CHECK(contents.wrong + contents.damaged == 0);
    // All that was synced, back to where newer objects took the room.
    std::uint32_t back = 0;
    while (back <= synced && contents.good.contains(synced - back)) ++back;
    CHECK(back > std::min(synced, 60u));
    next = contents.good.rbegin()->first + 1;
  }
}
