#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "platform/posix/drain_thread.hpp"
#include "platform/posix/system_clock.hpp"
#include "tests/support/ascend/chunk_rig.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/random.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

struct SentFile {
  std::string name;
  std::string data;
};

/// The files of one thread, each of its own device, step and size.
std::vector<SentFile> sent_files(unsigned thread, unsigned count, Random& random) {
  std::vector<SentFile> files;
  for (unsigned i = 0; i < count; ++i) {
    SentFile file;
    file.name = "/dump/20260102030405/" + std::to_string(thread % 2) + "/net/1/" + std::to_string(i) +
                "/A.a" + std::to_string(thread) + ".1.0.1700000000000001";
    file.data.resize(random.below(30000) + 1);
    for (char& c : file.data) c = static_cast<char>(random.below(256));
    files.push_back(file);
  }
  return files;
}

}  // namespace

TEST_CASE("chunks: threads call back at random, and files and journals are whole") {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kFiles = 40;
  for (const WhenFull when_full : {WhenFull::block, WhenFull::drop}) {
    FakeSink sink;
    posix::SystemClock clock;
    ChunkRig<32 * 1024> rig(sink, clock, when_full, 10000);
    posix::DrainThread<ascend::ChunkConsumer> drainer;
    const DumpConfig config = chunk_config("/dump");
    REQUIRE(rig.consumer.start(config) == Status::ok);
    REQUIRE(drainer.start(rig.consumer) == Status::ok);
    std::vector<std::vector<SentFile>> files;
    Random seeds(when_full == WhenFull::drop ? 7 : 8);
    for (unsigned thread = 0; thread < kThreads; ++thread) files.push_back(sent_files(thread, kFiles, seeds));
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        Random random(thread + 1);
        // Two files at a time, in slices.
        for (unsigned i = 0; i < kFiles; i += 2) {
          std::size_t at[2] = {0, 0};
          for (unsigned open = 2; open != 0;) {
            const unsigned pick = static_cast<unsigned>(random.below(2));
            const std::string& data = files[thread][i + pick].data;
            if (at[pick] == data.size()) continue;
            const std::size_t now = std::min<std::size_t>(data.size() - at[pick], random.below(9000) + 1);
            const bool last = at[pick] + now == data.size();
            take_chunk(rig.consumer, files[thread][i + pick].name,
                       std::string_view(data).substr(at[pick], now), {.last = last ? 1u : 0u});
            static_cast<void>(rig.consumer.counts());
            at[pick] += now;
            open -= last ? 1 : 0;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    drainer.stop();
    CHECK(rig.consumer.stop() == Status::ok);

    const ascend::ChunkCounts counts = rig.consumer.counts();
    CHECK(counts.files.wanted == kThreads * kFiles);
    CHECK(counts.files.wanted == counts.files.written + counts.files.lost());
    if (when_full == WhenFull::block) CHECK(counts.whole());
    std::map<std::string, std::string> sent;
    for (const auto& of_thread : files) {
      for (const SentFile& file : of_thread) sent[file.name.substr(6)] = file.data;
    }
    CHECK(sink.objects.size() == counts.files.written);
    for (const auto& [name, data] : sink.objects) {
      std::string path = name.substr(name.find('|') + 1);
      path[path.find('|')] = '/';
      CHECK(sent[path] == as_text(data));
    }
    CHECK(sink.journals.size() == 2);
    for (const auto& [name, text] : sink.journals) CHECK(account_of(text).wrong == "");
  }
}
