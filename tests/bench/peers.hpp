#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rig.hpp"
#include "sinks.hpp"

/// What a user could capture tensors with instead of opdump. Each has `record`, the call that is measured. The queue
/// carries a `PeerHead` with the bytes and holds at most `kQueueBytes`; the files take the bytes alone.
namespace opdump::bench {

inline constexpr std::size_t kQueueBytes = std::size_t{64} << 20;

/// Bytes of opdump's ring for tensors of `bytes` bytes: some tensors, and no more than a core's own cache
/// holds where that can be.
constexpr std::size_t ring_bytes_for(std::size_t bytes) {
  return bytes < (1u << 20) ? 512u << 10 : 4 * bytes;
}

/// What opdump says of a tensor besides its bytes, for peers that can carry it: without time, place and shape
/// nobody could tell what the bytes are.
struct PeerHead {
  std::uint64_t unix_us;
  std::uint64_t step;
  std::uint64_t address;
  std::uint64_t bytes;
  Dim dims[4];
  std::uint32_t sequence;
  std::uint32_t op;
};

class PeerHeads {
 public:
  PeerHead next(const std::byte* data, std::size_t bytes) {
    return {clock_.unix_us(), 0, address_of(data), bytes, {1, 1, bytes, 1}, sequence_++, 3};
  }

 private:
  posix::CounterClock clock_;
  std::uint32_t sequence_ = 0;
};

/// The least that any of them can do: copy the bytes to memory as large as opdump's ring.
class Memcpy {
 public:
  explicit Memcpy(std::size_t bytes) : buffer_(ring_bytes_for(bytes)) {}
  void record(const std::byte* data, std::size_t bytes) {
    if (at_ + bytes > buffer_.bytes().size()) at_ = 0;
    std::memcpy(buffer_.bytes().data() + at_, data, bytes);
    at_ += (bytes + 63) / 64 * 64;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void finish() {}

 private:
  RingMemory buffer_;
  std::size_t at_ = 0;
};

/// Opdump as it is shipped: header, shape, names and time stamp, a ring of 512 KiB (4 MiB for records of 1
/// MiB), and its own drain thread.
class Opdump {
 public:
  explicit Opdump(std::size_t bytes)
      : rig_(sink_, {.ring_bytes = ring_bytes_for(bytes)}), tensor_(0, bytes) {}
  void record(const std::byte* data, std::size_t) {
    tensor_.view.address = address_of(data);
    if (recorder_.wants(3)) recorder_.capture(3, {}, {&tensor_.view, 1});
  }
  void finish() { rig_.finish(); }

 private:
  NullSink sink_;
  Rig<> rig_;
  Rig<>::Recorder& recorder_ = rig_.recorder();
  ByteTensor tensor_;
};

/// A thread on processor 1 that calls `consume` until it is told to stop; the loop has to look itself.
template <class Consume>
std::thread start_consumer(Consume consume) {
  pin_to(1);
  std::thread thread(consume);
  pin_to(0);
  return thread;
}

struct HeapBuffer {
  HeapBuffer() = default;
  HeapBuffer(const PeerHead& head, const std::byte* data)
      : bytes(new std::byte[sizeof head + head.bytes]), size(sizeof head + head.bytes) {
    std::memcpy(bytes.get(), &head, sizeof head);
    std::memcpy(bytes.get() + sizeof head, data, head.bytes);
  }
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size = 0;
};

/// The design of the vendor's host server.
class MutexQueue {
 public:
  explicit MutexQueue(std::size_t) {
    consumer_ = start_consumer([this] {
      std::unique_lock lock(mutex_);
      for (;;) {
        wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        HeapBuffer taken = std::move(queue_.front());
        queue_.pop_front();
        queued_bytes_ -= taken.size;
        lock.unlock();
        room_.notify_one();
        taken.bytes.reset();
        lock.lock();
      }
    });
  }
  void record(const std::byte* data, std::size_t bytes) {
    HeapBuffer buffer(heads_.next(data, bytes), data);
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] { return queued_bytes_ <= kQueueBytes; });
      queued_bytes_ += buffer.size;
      queue_.push_back(std::move(buffer));
    }
    wake_.notify_one();
  }
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    consumer_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  PeerHeads heads_;
  std::deque<HeapBuffer> queue_;
  std::size_t queued_bytes_ = 0;
  bool stop_ = false;
  std::thread consumer_;
};

/// A folder below OPDUMP_BENCH_FOLDER.
inline std::string new_folder() {
  const char* parent = std::getenv("OPDUMP_BENCH_FOLDER");
  std::string folder = std::string(parent == nullptr ? "." : parent) + "/bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    std::exit(2);
  }
  return folder;
}

/// A file per tensor. Names are used again after `kFiles`, so that the folder does not outgrow the memory.
class FilePerTensor {
 public:
  explicit FilePerTensor(std::size_t bytes)
      : files_(bytes < (1u << 16) ? 100'000 : 256), folder_(new_folder()) {}
  void record(const std::byte* data, std::size_t bytes) {
    char path[512];
    std::snprintf(path, sizeof path, "%s/%zu", folder_.c_str(), next_++ % files_);
    std::FILE* file = std::fopen(path, "wb");
    if (file == nullptr || std::fwrite(data, 1, bytes, file) != bytes || std::fclose(file) != 0) {
      std::perror(path);
      std::exit(2);
    }
  }
  void finish() {}

 private:
  std::size_t files_;
  std::size_t next_ = 0;
  std::string folder_;
};

}  // namespace opdump::bench
