#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "platform/posix/tree_sink.hpp"
#include "tests/support/temporary_directory.hpp"

namespace fs = std::filesystem;
using namespace opdump;
using opdump::posix::TreeOptions;
using opdump::posix::TreeSink;
using opdump::tests::TemporaryDirectory;

namespace {

constexpr const char* kOld[] = {"20260101000000", "20260102000000", "20260103000000"};
constexpr const char* kNow = "20260201000000";
constexpr const char* kJournal = "opdump.0.1.journal";
const std::string kThousand(1000, 'r');

std::string stamp(int number) {
  return "T.n.0.0." + std::to_string(1'700'000'000'000'000 + number);
}

/// Of an object in `directory`, which begins with that of its dump, if there is one.
ObjectFacts facts_of(const std::string& directory, ObjectKind kind) {
  const std::size_t at = directory.starts_with("worldsize") ? directory.find('/') + 1 : 0;
  const std::string time = directory.substr(at, directory.find('/', at) - at);
  if (time.size() != 14) return {.kind = kind};
  return {.kind = kind, .dump_bytes = static_cast<std::uint8_t>(at + 14)};
}

struct Tree {
  explicit Tree(const TreeOptions& options) : sink(options) {}

  Status store(const std::string& time, int number, std::size_t bytes) {
    const std::string directory = time + "/0/m/1/" + std::to_string(number);
    const Result<ObjectId> object =
        sink.begin({root.text(), directory, stamp(number), facts_of(directory, ObjectKind::record)});
    if (!object.ok()) return object.status();
    const std::string half(bytes / 2, 'x');
    for (int i = 0; i < 2; ++i) {
      const Bytes part = as_bytes(half);
      if (const Status status = sink.append(object.value(), {&part, 1}); status != Status::ok) {
        sink.abort(object.value());
        return status;
      }
    }
    return sink.commit(object.value());
  }

  Status tell(const std::string& time, const std::string& line) {
    const Bytes part = as_bytes(line);
    return sink.append_lines({root.text(), time, kJournal, facts_of(time, ObjectKind::journal)}, {&part, 1});
  }

  /// What another program left.
  void put(const std::string& path, std::size_t bytes) {
    fs::create_directories((root.path() / path).parent_path());
    std::ofstream(root.path() / path) << std::string(bytes, 'o');
  }

  void put_dump(const std::string& time) {
    put(time + "/0/m/1/0/" + stamp(0), 1000);
    put(time + "/0/m/1/1/" + stamp(1), 1000);
    put(time + "/" + kJournal, 100);
  }

  std::set<std::string> files() const {
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(root.path()))
      if (entry.is_regular_file()) paths.insert(fs::relative(entry.path(), root.path()).string());
    return paths;
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const std::string& path : files()) sum += fs::file_size(root.path() / path);
    return sum;
  }

  std::string journal(const std::string& time) const {
    std::ifstream file(root.path() / time / kJournal);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Of a record whose name is too long for the file system.
  Status store_long(const std::string& time, int number, std::size_t bytes) {
    const std::string directory = time + "/0/m/1/" + std::to_string(number);
    const std::string data(bytes, 'x');
    const Bytes part = as_bytes(data);
    return sink.put_object({root.text(), directory, std::string(250, 'n') + stamp(number),
                            facts_of(directory, ObjectKind::record)},
                           {&part, 1});
  }

  bool has(const std::string& path) const { return fs::exists(root.path() / path); }

  TemporaryDirectory root;
  TreeSink sink;
};

}  // namespace

TEST_CASE("quota: keep oldest refuses what does not fit, and takes back what it began") {
  Tree tree({.limits = {.max_bytes = 16'000}});
  int stored = 0;
  while (tree.store(kNow, stored, 1000) == Status::ok) ++stored;
  CHECK(stored == 15);  // the rest is the journal's
  CHECK(tree.store(kNow, 99, 1000) == Status::quota_exceeded);
  CHECK(tree.sink.quota_counts().refused == 2);
  CHECK(tree.files().size() == 15);
  CHECK(tree.bytes() == 15'000);
  CHECK(tree.tell(kNow, std::string(1000, 'l')) == Status::ok);
  CHECK(tree.tell(kNow, "l") == Status::quota_exceeded);
  CHECK(tree.bytes() == 16'000);
  CHECK(tree.sink.quota_counts().removed_files == 0);
}

TEST_CASE("quota: a limit of files counts those that are there, in dumps only") {
  Tree tree({.limits = {.max_files = 8}});
  tree.put_dump(kOld[0]);
  tree.put("notes.txt", 10);
  tree.put("2026/x", 10);
  int stored = 0;
  while (tree.store(kNow, stored, 10) == Status::ok) ++stored;
  CHECK(stored == 4);
  CHECK(tree.tell(kNow, "line\n") == Status::ok);
  CHECK(tree.files().size() == 8 + 2);  // and those that are no dump's
}

TEST_CASE("quota: keep newest removes whole dumps, the oldest first, and nothing else") {
  Tree tree({.limits = {.max_bytes = 7000, .keep = Keep::newest}});
  for (const char* time : kOld) tree.put_dump(time);
  tree.put_dump("20260301000000");  // younger than the one that will be written
  tree.put("notes.txt", 50'000);
  tree.put("20260101000000.txt", 50'000);
  tree.put("2026010100000x/0/file", 50'000);
  CHECK(tree.store(kNow, 1, 1000) == Status::ok);
  CHECK(tree.sink.quota_counts().removed_dumps == 2);
  CHECK(tree.sink.quota_counts().removed_files == 4);
  CHECK(tree.sink.quota_counts().removed_bytes == 3100);
  CHECK_FALSE(tree.has(kOld[0]));
  CHECK_FALSE(tree.has(kOld[1]));
  CHECK(tree.has(std::string(kOld[2]) + "/0/m/1/1/" + stamp(1)));
  CHECK(tree.tell(kNow, "head\n") == Status::ok);
  CHECK(tree.journal(kNow) == "head\ndumps_removed,2,20260101000000,20260102000000\n");
  CHECK(tree.store(kNow, 2, 4000) == Status::ok);
  CHECK_FALSE(tree.has(kOld[2]));
  CHECK(tree.journal(kNow).find("\ndumps_removed,1,20260103000000,20260103000000\n") != std::string::npos);
  for (const char* stays :
       {"20260301000000/0/m/1/0", "notes.txt", "20260101000000.txt", "2026010100000x/0/file"})
    CHECK(tree.has(stays));
  CHECK(tree.sink.quota_counts().refused == 0);
}

TEST_CASE("quota: keep newest goes on to the oldest records of the dump itself, and its journal names them") {
  Tree tree({.limits = {.max_bytes = 40'000, .keep = Keep::newest}});
  CHECK(tree.tell(kNow, "head\n") == Status::ok);
  const std::string card = std::string(kNow) + "/opdump.0.1.model.json";
  tree.put(card, 100);
  constexpr std::chrono::hours kYears(24 * 365 * 20);
  fs::last_write_time(tree.root.path() / card, fs::last_write_time(tree.root.path() / card) - kYears);
  for (int i = 0; i < 500; ++i) {
    REQUIRE(tree.store(kNow, i, 1000) == Status::ok);
    REQUIRE(tree.bytes() <= 40'000);
  }
  const std::string journal = tree.journal(kNow);
  std::size_t lines = 0;
  // Each number is there or told to be removed, and what is there are the latest.
  bool there = false;
  for (int i = 0; i < 500; ++i) {
    const std::string path = "0/m/1/" + std::to_string(i) + "/" + stamp(i);
    const bool is_there = tree.has(std::string(kNow) + "/" + path);
    const bool is_told = journal.find("\nremoved," + path + "\n") != journal.npos;
    REQUIRE(is_there != is_told);
    REQUIRE(is_there >= there);
    there = is_there;
    lines += is_told ? 1 : 0;
    if (!is_there) REQUIRE_FALSE(tree.has(std::string(kNow) + "/0/m/1/" + std::to_string(i)));
  }
  CHECK(there);
  CHECK(tree.has(card));
  CHECK(tree.sink.quota_counts().removed_files == lines);
  CHECK(tree.sink.quota_counts().refused == 0);
}

TEST_CASE("quota: of records at unequal distances in time only the oldest go") {
  Tree tree({.limits = {.max_files = 64, .keep = Keep::newest}, .has_journal = false});
  REQUIRE(tree.store(kNow, -1'000'000'000, 10) == Status::ok);
  for (int i = 0; i < 63; ++i) REQUIRE(tree.store(kNow, i, 10) == Status::ok);
  REQUIRE(tree.store(kNow, 1000, 10) == Status::ok);
  CHECK(tree.files().size() == 61);
  CHECK(tree.has(std::string(kNow) + "/0/m/1/62"));
  CHECK(tree.has(std::string(kNow) + "/0/m/1/4"));
  CHECK_FALSE(tree.has(std::string(kNow) + "/0/m/1/2"));
}

TEST_CASE("quota: what gives way goes a little at each object, old dumps and records of the dump itself") {
  Tree tree({.limits = {.max_files = 1000, .keep = Keep::newest}});
  for (int i = 0; i < 900; ++i)
    tree.put(std::string(kOld[0]) + "/0/m/1/" + std::to_string(i) + "/" + stamp(i), 9);
  REQUIRE(tree.tell(kNow, "head\n") == Status::ok);
  std::uint64_t before = 0;
  for (int i = 0; i < 1200; ++i) {
    REQUIRE(tree.store(kNow, i, 10) == Status::ok);
    const std::uint64_t removed = tree.sink.quota_counts().removed_files;
    REQUIRE(removed - before <= 10);
    before = removed;
    if (i % 250 == 0) REQUIRE(tree.files().size() <= 1000);
  }
  CHECK_FALSE(tree.has(std::string(kOld[0]) + ".removed"));
  CHECK(before - 900 == tree.sink.quota_counts().removed_records);
  CHECK(tree.files().size() >= 1000 - 2 * 1000 / 16);
  // In the end none is left that is older than one that went.
  REQUIRE(tree.sink.sync() == Status::ok);
  const auto is_there = [&](int i) { return tree.has(std::string(kNow) + "/0/m/1/" + std::to_string(i)); };
  int first = 0;
  while (first < 1200 && !is_there(first)) ++first;
  CHECK(first <= 1200 - 750);
  for (int i = first; i < 1200; ++i) REQUIRE(is_there(i));
}

TEST_CASE("quota: without a journal to tell in, records of the dump itself stay") {
  Tree tree({.limits = {.max_files = 4, .keep = Keep::newest}});
  for (int i = 0; i < 3; ++i) REQUIRE(tree.store(kNow, i, 10) == Status::ok);
  CHECK(tree.store(kNow, 3, 10) == Status::quota_exceeded);
  CHECK(tree.files().size() == 3);
}

TEST_CASE("quota: an object larger than the limit is refused and removes nothing") {
  Tree tree({.limits = {.max_bytes = 16'000, .keep = Keep::newest}});
  REQUIRE(tree.tell(kNow, "head\n") == Status::ok);
  for (int i = 0; i < 5; ++i) REQUIRE(tree.store(kNow, i, 1000) == Status::ok);
  CHECK(tree.store(kNow, 9, 32'000) == Status::quota_exceeded);
  CHECK(tree.files().size() == 6);
  CHECK(tree.sink.quota_counts().refused == 1);
}

TEST_CASE("quota: what is being written stays, here and in another sink") {
  Tree tree({.limits = {.max_files = 6, .keep = Keep::newest}});
  tree.put_dump(kOld[0]);
  TreeSink other({.limits = {.max_files = 100}});
  const auto begun = other.begin(
      {tree.root.text(), std::string(kOld[0]) + "/0", "open", facts_of(kOld[0], ObjectKind::record)});
  REQUIRE(begun.ok());
  REQUIRE(tree.tell(kNow, "head\n") == Status::ok);
  const auto own = tree.sink.begin(
      {tree.root.text(), std::string(kNow) + "/0", stamp(0), facts_of(kNow, ObjectKind::record)});
  REQUIRE(own.ok());
  CHECK(tree.store(kNow, 1, 10) == Status::quota_exceeded);
  CHECK(tree.has(std::string(kOld[0]) + "/0/m/1/0/" + stamp(0)));
  CHECK(other.commit(begun.value()) == Status::ok);
  CHECK(tree.sink.commit(own.value()) == Status::ok);
  CHECK(tree.has(std::string(kNow) + "/0/" + stamp(0)));
}

TEST_CASE("quota: the dump before stays while it may be unfinished, and goes after sync") {
  Tree tree({.limits = {.max_files = 5, .keep = Keep::newest}});
  for (int i = 0; i < 3; ++i) REQUIRE(tree.store(kOld[0], i, 10) == Status::ok);
  REQUIRE(tree.store(kNow, 1, 10) == Status::ok);
  CHECK(tree.store(kNow, 2, 10) == Status::quota_exceeded);
  CHECK(tree.has(kOld[0]));
  REQUIRE(tree.sink.sync() == Status::ok);
  CHECK(tree.store(kNow, 2, 10) == Status::ok);
  CHECK_FALSE(tree.has(kOld[0]));
}

TEST_CASE("quota: no part of a dump that gave way is left when the sink is done") {
  Tree tree({.limits = {.max_files = 100, .keep = Keep::newest}});
  for (int i = 0; i < 99; ++i)
    tree.put(std::string(kOld[0]) + "/0/m/1/" + std::to_string(i) + "/" + stamp(i), 9);
  for (int i = 0; i < 3; ++i) REQUIRE(tree.store(kNow, i, 10) == Status::ok);
  CHECK(tree.has(std::string(kOld[0]) + ".removed"));
  CHECK(tree.sink.sync() == Status::ok);
  CHECK_FALSE(tree.has(std::string(kOld[0]) + ".removed"));
  CHECK(tree.files().size() == 3);
}

TEST_CASE("quota: a removal that was cut off is finished, and its files do not count") {
  Tree tree({.limits = {.max_files = 3}});
  tree.put("20260101000000.removed/0/m/1/0/" + stamp(0), 10);
  CHECK(tree.store(kNow, 1, 10) == Status::ok);
  CHECK_FALSE(tree.has("20260101000000.removed"));
  CHECK(tree.store(kNow, 2, 10) == Status::ok);
  CHECK(tree.store(kNow, 3, 10) == Status::quota_exceeded);
}

TEST_CASE("quota: links in a dump are neither followed nor counted") {
  Tree tree({.limits = {.max_bytes = 3000, .keep = Keep::newest}});
  tree.put_dump(kOld[0]);
  TemporaryDirectory elsewhere;
  std::ofstream(elsewhere.path() / "precious") << "data";
  fs::create_directory_symlink(elsewhere.path(), tree.root.path() / kOld[0] / "link");
  fs::create_directory_symlink(elsewhere.path(), tree.root.path() / kOld[1]);
  REQUIRE(tree.store(kNow, 1, 2000) == Status::ok);
  CHECK(fs::exists(elsewhere.path() / "precious"));
  CHECK(tree.has(kOld[1]));
  CHECK_FALSE(tree.has(std::string(kOld[0]) + "/0"));
}

TEST_CASE("quota: the ranks of torchair's layout are limited each for itself") {
  Tree tree({.limits = {.max_files = 3}});
  const std::string rank = "worldsize2_global_rank1/";
  tree.put(std::string("worldsize2_global_rank0/") + kOld[0] + "/0/file", 10);
  tree.put(rank + kOld[0] + "/0/file", 10);
  CHECK(tree.store(rank + kNow, 1, 10) == Status::ok);
  CHECK(tree.store(rank + kNow, 2, 10) == Status::quota_exceeded);
}

TEST_CASE("quota: a layout without a directory per dump is limited as a whole, and loses nothing old") {
  Tree tree({.limits = {.max_bytes = 16'000, .keep = Keep::newest}});
  tree.put("rank_0/net/1/0/" + stamp(0) + ".npy", 10'000);
  const auto store = [&tree](int number) {
    const Bytes part = as_bytes(std::string_view(kThousand));
    const Result<ObjectId> object = tree.sink.begin({tree.root.text(), "rank_0/net/1/1", stamp(number)});
    if (!object.ok()) return object.status();
    const Status status = tree.sink.append(object.value(), {&part, 1});
    if (status == Status::ok) return tree.sink.commit(object.value());
    tree.sink.abort(object.value());
    return status;
  };
  int stored = 0;
  while (store(stored) == Status::ok) ++stored;
  CHECK(stored == 5);
  CHECK(tree.bytes() == 15'000);
  CHECK(tree.tell("rank_0", std::string(900, 'l')) == Status::ok);
  CHECK(tree.sink.quota_counts().removed_files == 0);
}

TEST_CASE("quota: rows of a table leave journals their room, and are not taken for one") {
  Tree tree({.limits = {.max_bytes = 16'000, .keep = Keep::newest}});
  tree.put_dump(kOld[0]);
  const auto add_row = [&tree] {
    const Bytes part = as_bytes(std::string_view(kThousand));
    return tree.sink.append_lines(
        {tree.root.text(), std::string(kNow) + "/0", "statistic.csv", facts_of(kNow, ObjectKind::table)},
        {&part, 1});
  };
  CHECK(tree.tell(kNow, "head\n") == Status::ok);
  int rows = 0;
  while (add_row() == Status::ok) ++rows;
  CHECK(rows == 14);
  CHECK_FALSE(tree.has(kOld[0]));
  CHECK(tree.sink.quota_counts().refused == 1);
  CHECK(tree.tell(kNow, std::string(900, 'l')) == Status::ok);
  CHECK(tree.journal(kNow).starts_with("head\ndumps_removed,1,20260101000000,20260101000000\n"));
}

TEST_CASE("options: those of a config go before the program's") {
  const TreeOptions own = {.limits = {.max_bytes = 5, .max_files = 6}, .fsync = Fsync::never};
  const TreeOptions both = posix::tree_options(
      {.journal = JournalDetail::none, .max_bytes = 7, .reserve_bytes = 8, .keep = Keep::newest}, own);
  CHECK(both.limits.max_bytes == 7);
  CHECK(both.limits.max_files == 6);
  CHECK(both.limits.reserve_bytes == 8);
  CHECK(both.limits.keep == Keep::newest);
  CHECK(both.fsync == Fsync::never);
  CHECK_FALSE(both.has_journal);
}

TEST_CASE("quota: what an object is comes from what is known of it, not from how its name looks") {
  Tree tree({.limits = {.max_bytes = 16'000}});
  const std::string thousand(1000, 'l');
  const auto add = [&](const ObjectFacts& facts) {
    const Bytes part = as_bytes(thousand);
    return tree.sink.append_lines({tree.root.text(), kNow, kJournal, facts}, {&part, 1});
  };
  const ObjectFacts rows = facts_of(kNow, ObjectKind::table);
  for (int i = 0; i < 15; ++i) REQUIRE(add(rows) == Status::ok);
  CHECK(add(rows) == Status::quota_exceeded);  // the rest is the journal's
  CHECK(add(facts_of(kNow, ObjectKind::journal)) == Status::ok);
}

TEST_CASE("quota: the rows and files of long names count") {
  Tree bytes({.limits = {.max_bytes = 16'000}});
  int stored = 0;
  while (bytes.store_long(kNow, stored, 100) == Status::ok) ++stored;
  CHECK(stored == 15'000 / (100 + 20 + 1 + 250 + 24 + 1));
  CHECK(bytes.bytes() <= 15'000);
  CHECK(bytes.sink.quota_counts().refused == 1);
  Tree files({.limits = {.max_files = 8}, .has_journal = false});
  for (int i = 0; i < 4; ++i) REQUIRE(files.store_long(kNow, i, 100) == Status::ok);
  CHECK(files.store_long(kNow, 4, 100) == Status::quota_exceeded);
  CHECK(files.files().size() == 8);
}

TEST_CASE("quota: of records with long names the oldest go, and mapping.csv with the last of a directory") {
  Tree tree({.limits = {.max_files = 20, .keep = Keep::newest}});
  REQUIRE(tree.tell(kNow, "head\n") == Status::ok);
  for (int i = 0; i < 60; ++i) {
    REQUIRE(tree.store_long(kNow, i, 100) == Status::ok);
    REQUIRE(tree.files().size() <= 20);
    const auto then = fs::file_time_type::clock::now() - std::chrono::seconds(1000 - i);
    for (const auto& file : fs::directory_iterator(tree.root.path() / kNow / "0/m/1" / std::to_string(i)))
      fs::last_write_time(file.path(), then);
  }
  CHECK(tree.has(std::string(kNow) + "/0/m/1/59"));
  CHECK(tree.has(std::string(kNow) + "/0/m/1/53"));
  CHECK_FALSE(tree.has(std::string(kNow) + "/0/m/1/40"));
  CHECK(tree.journal(kNow).find("mapping.csv") == std::string::npos);
}

TEST_CASE("quota: a journal forgets what is gone, under keep newest alone") {
  for (const Keep keep : {Keep::newest, Keep::oldest}) {
    Tree tree({.limits = {.max_bytes = 160'000, .keep = keep}});
    REQUIRE(tree.tell(kNow, "opdump-journal,1,records\nfrom,0,0\n") == Status::ok);
    for (int i = 0; i < 1500; ++i) {
      const bool stored = tree.store(kNow, i, 1000) == Status::ok;
      const std::string number = std::to_string(i), path = "0/m/1/" + number + "/" + stamp(i);
      const Status told = i % 10 == 9 ? tree.tell(kNow, "lost,0," + number + ",ring_full," + path + "\n")
                                      : tree.tell(kNow, "written,0," + number + ",1000," + path + "\n");
      if (keep == Keep::oldest) continue;
      REQUIRE(stored);
      REQUIRE(told == Status::ok);
      if (i % 20 == 0) REQUIRE(tree.bytes() <= 160'000);
    }
    const std::string journal = tree.journal(kNow);
    CHECK((journal.find("forgotten,0,0,") != journal.npos) == (keep == Keep::newest));
    if (keep == Keep::oldest) continue;
    CHECK(journal.size() < 40'000);
    CHECK(tree.files().size() > 100);
    CHECK(journal.starts_with("opdump-journal,1,records\nfrom,0,0\nforgotten,0,0,"));
    CHECK(tree.has(std::string(kNow) + "/0/m/1/1498"));
    // What is there is named; each number has one line, or is counted in one.
    int next = 0, written = 0, lost = 0;
    std::istringstream lines(journal);
    for (std::string line; std::getline(lines, line);) {
      int last = 0, counts[2] = {}, first = 0, losses[2] = {};
      if (std::sscanf(line.c_str(), "forgotten,0,%d,%d,%d,%d,%d,%d", &first, &last, counts, counts + 1,
                      losses, losses + 1) == 6) {
        CHECK(counts[0] + losses[1] == last - first + 1);
        written += counts[0];
        lost += losses[1];
      } else if (std::sscanf(line.c_str(), "written,0,%d,", &first) == 1) {
        last = first;
        ++written;
      } else if (std::sscanf(line.c_str(), "lost,0,%d,", &first) == 1) {
        last = first;
        ++lost;
      } else {
        continue;
      }
      REQUIRE(first == next);
      next = last + 1;
    }
    CHECK(written == 1350);
    CHECK(lost == 150);
    for (const auto& entry : fs::recursive_directory_iterator(tree.root.path() / kNow / "0")) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && !name.ends_with("9")) CHECK(journal.find(name) != journal.npos);
    }
  }
}

TEST_CASE("quota: a journal of gaps counts the files that gave way, whatever else it has") {
  Tree tree({.limits = {.max_bytes = 60'000, .keep = Keep::newest}});
  REQUIRE(tree.tell(kNow, "opdump-journal,1,gaps\nfrom,0,0\n") == Status::ok);
  for (int i = 0; i < 3000; ++i) REQUIRE(tree.store(kNow, i, 100) == Status::ok);
  CHECK(tree.bytes() <= 60'000);
  CHECK(tree.files().size() > 200);
  CHECK(tree.journal(kNow).size() < 20'000);
  CHECK(tree.journal(kNow).starts_with("opdump-journal,1,gaps\nfrom,0,0\nfiles_removed,"));
}

TEST_CASE(
    "quota: a dump without a directory of its own counts its losses when it is full, whatever is kept") {
  Tree tree({.limits = {.max_bytes = 16'000, .keep = Keep::newest}});
  REQUIRE(tree.tell("net", "opdump-journal,1,records\nfrom,0,0\n") == Status::ok);
  for (int i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    if (tree.store("net", i, 1000) == Status::ok) {
      REQUIRE(tree.tell("net", "written,0," + number + ",1000,0/m/1/" + number + "/" + stamp(i) + "\n") ==
              Status::ok);
    } else {
      REQUIRE(tree.tell("net", "lost,0," + number + ",quota,0/m/1/" + number + "/" + stamp(i) + "\n") ==
              Status::ok);
    }
  }
  REQUIRE(tree.tell("net", "to,0,1000\nclosed,1000\n") == Status::ok);
  CHECK(tree.bytes() <= 16'000);
  CHECK(tree.journal("net").find("\nforgotten,0,") != std::string::npos);
  CHECK(tree.journal("net").ends_with("closed,1000\n"));
}

TEST_CASE("quota: a journal counts firings that are older, and has the latest counts of triggers") {
  Tree tree({.limits = {.max_bytes = 32'000, .keep = Keep::newest}});
  REQUIRE(tree.tell(kNow, "opdump-journal,1,gaps\nhistory,3,1\nfrom,0,0\n") == Status::ok);
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(i);
    REQUIRE(tree.tell(kNow, "fired," + std::to_string(i % 2) + ",max," + number + ",50,>49.5,1,m/T.n\n") ==
            Status::ok);
    REQUIRE(tree.tell(kNow, "trigger,0,max," + std::to_string(i / 2 + 1) + ",0,0,0,0,0,0," + number + "\n") ==
            Status::ok);
  }
  const std::string journal = tree.journal(kNow);
  CHECK(journal.size() < 10'000);
  int forgotten = 0, fired = 0;
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);) {
    int trigger = 0, count = 0;
    if (std::sscanf(line.c_str(), "firings_forgotten,%d,max,%d", &trigger, &count) == 2) forgotten += count;
    fired += line.starts_with("fired,");
  }
  CHECK(forgotten + fired == 2000);
  CHECK(fired > 0);
  CHECK(journal.ends_with("\ntrigger,0,max,1000,0,0,0,0,0,0,1999\n"));
}

TEST_CASE("quota: a journal that cannot be shortened stays as it is") {
  Tree tree({.limits = {.max_bytes = 32'000, .keep = Keep::newest}});
  REQUIRE(tree.tell(kNow, "opdump-journal,1,records\nfrom,0,0\n") == Status::ok);
  fs::create_directories(tree.root.path() / kNow / (std::string(kJournal) + ".part") / "in the way");
  std::string all = tree.journal(kNow);
  const auto lose = [&tree](int number) {
    const std::string line =
        "lost,0," + std::to_string(number) + ",ring_full,0/m/1/0/T." + std::string(200, 'n') + ".0.0\n";
    REQUIRE(tree.tell(kNow, line) == Status::ok);
    return line;
  };
  for (int i = 0; i < 100; ++i) all += lose(i);
  CHECK(tree.journal(kNow) == all);
  fs::remove_all(tree.root.path() / kNow / (std::string(kJournal) + ".part"));
  for (int i = 100; i < 1000; ++i) lose(i);
  CHECK(tree.journal(kNow).find("forgotten,0,0,") != std::string::npos);
}

TEST_CASE("quota: tables of statistics go with the oldest, but for the one that grows") {
  Tree tree({.limits = {.max_bytes = 32'000, .keep = Keep::newest}});
  REQUIRE(tree.tell(kNow, "head\n") == Status::ok);
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (int i = 0; i < 100; ++i) {
    const std::string directory = std::string(kNow) + "/0/m/1/" + std::to_string(i);
    const Bytes part = as_bytes(std::string_view(kThousand));
    REQUIRE(tree.sink.append_lines(
                {tree.root.text(), directory, "statistic.csv", facts_of(kNow, ObjectKind::table)},
                {&part, 1}) == Status::ok);
    fs::last_write_time(tree.root.path() / directory / "statistic.csv", then + std::chrono::seconds(i));
    REQUIRE(tree.bytes() <= 32'000);
  }
  CHECK(tree.has(std::string(kNow) + "/0/m/1/99/statistic.csv"));
  CHECK_FALSE(tree.has(std::string(kNow) + "/0/m/1/50"));
  CHECK(tree.journal(kNow).find("removed,0/m/1/50/statistic.csv\n") != std::string::npos);
}
