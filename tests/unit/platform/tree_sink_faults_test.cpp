#define OPDUMP_TEST_RECORDERS 3
#define OPDUMP_POSIX_SYNCFS 1
#include "tests/support/faulty_tree_sink.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/child_process.hpp"
#include "tests/support/sink_calls.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace opdump;
using namespace opdump::tests;
using opdump::posix::TreeSink;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct Fixture {
  Fixture() { g_faults = {}; }
  TemporaryDirectory root;
  std::string text = root.text();
  TreeSink sink;
};

constexpr std::string_view kHead = "opdump-journal,1,records\nfrom,0,0\n";
constexpr std::string_view kOp = "op,9,0,9,9,0,0,9,0,0,0,0,0,0,0,7,m/T.";

/// A session whose records are all as large; those of `begun` are begun, and then written or lost.
struct FilledDisk : Fixture {
  Status tell(std::string line) {
    const Bytes part = as_bytes(line);
    return sink.append_lines({text, "d", "opdump.0.1.journal", {.kind = ObjectKind::journal}}, {&part, 1});
  }

  void record(bool begun) {
    const std::string number = std::to_string(next++);
    const std::string path = "0/m/1/" + number + "/T.some_operator.0.0.1700000000000000";
    if (begun) REQUIRE(tell("begun,0," + number + "," + path + "\n") == Status::ok);
    const Status stored = store(sink, {text, "d/" + number, "file"}, std::string(1000, 'r'));
    const bool is_stored = stored == Status::ok;
    written += is_stored ? 1 : 0;
    if (!is_stored) CHECK((stored == Status::no_space || stored == Status::quota_exceeded));
    REQUIRE(tell((is_stored ? "written,0," : "lost,0,") + number + (is_stored ? ",1000," : ",sink_failed,") +
                 (begun ? "" : path) + "\n") == Status::ok);
  }

  std::string journal() const { return read_file(root.path() / "d/opdump.0.1.journal"); }

  /// Each record has one line, or is counted in one.
  void check() const {
    int due = 0, stored = 0, lost = 0, begun = -1;
    std::istringstream lines(journal());
    for (std::string line; std::getline(lines, line);) {
      int first = 0, last = 0, counts[2] = {}, losses[9] = {};
      if (std::sscanf(line.c_str(), "forgotten,0,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d", &first, &last,
                      counts, counts + 1, losses, losses + 1, losses + 2, losses + 3, losses + 4, losses + 5,
                      losses + 6, losses + 7, losses + 8) >= 12) {
        CHECK(counts[0] == 0);
        CHECK(std::accumulate(std::begin(losses), std::end(losses), 0) == last - first + 1);
        lost += last - first + 1;
      } else if (std::sscanf(line.c_str(), "begun,0,%d,", &begun) == 1) {
        continue;
      } else if (std::sscanf(line.c_str(), "written,0,%d,", &first) == 1) {
        if (line.ends_with(',')) CHECK(begun == first);
        last = first;
        ++stored;
      } else if (std::sscanf(line.c_str(), "lost,0,%d,", &first) == 1) {
        last = first;
        ++lost;
      } else {
        continue;
      }
      REQUIRE(first == due);
      due = last + 1;
    }
    CHECK(due == next);
    CHECK(stored == written);
    CHECK(lost == next - written);
  }

  int next = 0;
  int written = 0;
};

}  // namespace

TEST_CASE_FIXTURE(FilledDisk,
                  "tree sink faults: a full disk takes the journal's lines, which count what is lost") {
  constexpr std::uint64_t kDisk = 200'000;
  for (const bool begun : {false, true}) {
    for (const bool reserves : {true, false}) {
      CAPTURE(begun);
      CAPTURE(reserves);
      g_faults = {};
      g_faults.has_disk = true;
      g_faults.free = kDisk;
      g_faults.reserves = reserves;
      fs::remove_all(root.path() / "d");
      sink.~TreeSink();
      new (&sink) TreeSink;
      next = written = 0;
      REQUIRE(tell(std::string(kHead)) == Status::ok);
      while (next < 1000) record(begun);
      CHECK(written > 100);
      const std::string named = journal();
      CHECK(named.find("lost,0," + std::to_string(written) + ",") != named.npos);
      CHECK(named.find("forgotten,0,") != named.npos);
      CHECK(named.size() < 70'000);
      check();
      // Lines that would take too much give way to the end.
      for (int i = 0; i < 200; ++i)
        REQUIRE(tell(std::string(kOp) + std::string(500, 'n') + std::to_string(i) + "\n") == Status::ok);
      REQUIRE(tell("to,0,1000\nclosed,1000\n") == Status::ok);
      CHECK(journal().ends_with("to,0,1000\nclosed,1000\n"));
      check();
      // What was kept is others' again.
      std::uint64_t used = 0;
      for (const auto& entry : fs::recursive_directory_iterator(root.path()))
        if (entry.is_regular_file()) used += entry.file_size();
      if (reserves) CHECK(g_faults.free + used == kDisk);
    }
  }
}

TEST_CASE_FIXTURE(FilledDisk,
                  "tree sink faults: a journal names losses again where a full disk has room again") {
  g_faults.has_disk = true;
  g_faults.free = 100'000;
  REQUIRE(tell(std::string(kHead)) == Status::ok);
  while (next < 1200) record(false);
  const std::size_t full = journal().size();
  g_faults.free = 500'000;
  for (int i = 0; i < 10; ++i) record(next % 2 == 0);
  CHECK(journal().find("written,0,1209,1000,", full) != std::string::npos);
  g_faults.free = 0;
  while (next < 2400) record(next % 2 == 0);
  CHECK(written > 13);
  check();
}

TEST_CASE_FIXTURE(FilledDisk, "tree sink faults: a disk that is full from the start takes no journal") {
  g_faults.has_disk = true;
  CHECK(tell(std::string(kHead)) == Status::no_space);
  CHECK(store(sink, {text, "d/0", "file"}, "x") == Status::no_space);
  CHECK(journal().empty());
}

TEST_CASE_FIXTURE(FilledDisk, "tree sink faults: on a full disk the oldest dump gives way to a journal") {
  constexpr std::string_view kJournal = "20260201000000/opdump.0.1.journal";
  const ObjectName name = {
      text, kJournal.substr(0, 14), kJournal.substr(15), {.kind = ObjectKind::journal, .dump_bytes = 14}};
  const Bytes part = as_bytes(kHead);
  for (const char* old : {"20260101000000", "20260102000000"}) {
    fs::create_directories(root.path() / old / "0");
    for (int i = 0; i < 100; ++i)
      std::ofstream(root.path() / old / "0" / std::to_string(i)) << std::string(500, 'x');
  }
  g_faults.has_disk = true;
  sink.configure({.limits = {.max_bytes = 10'000'000}});
  CHECK(sink.append_lines(name, {&part, 1}) == Status::no_space);
  sink.configure({.limits = {.max_bytes = 10'000'000, .keep = Keep::newest}});
  REQUIRE(sink.append_lines(name, {&part, 1}) == Status::ok);
  CHECK(read_file(root.path() / kJournal) ==
        std::string(kHead) + "dumps_removed,1,20260101000000,20260101000000\n");
  CHECK(fs::exists(root.path() / "20260101000000.removed/0"));
  CHECK(sink.quota_counts().removed_files <= 2);
  CHECK(fs::exists(root.path() / "20260102000000/0/0"));
}

TEST_CASE_FIXTURE(FilledDisk, "tree sink faults: a journal that a quota leaves no room counts losses") {
  sink.configure({.limits = {.max_bytes = 60'000}});
  REQUIRE(tell(std::string(kHead)) == Status::ok);
  while (next < 3000) record(next % 2 == 0);
  check();
  std::uint64_t used = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root.path()))
    if (entry.is_regular_file()) used += entry.file_size();
  CHECK(used <= 60'000);
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a file system of shorter names") {
  g_faults.name_limit = 100;
  const std::string fits(95, 'a');
  const std::string suffix_does_not_fit(98, 'b');
  const std::string too_long(101, 'c');
  for (const std::string& file : {fits, suffix_does_not_fit, too_long}) {
    const Result<ObjectId> object = sink.begin({text, "d", file});
    REQUIRE(object.ok());
    CHECK(sink.begin({text, "d", file}).status() == Status::already_exists);
    REQUIRE(append_text(sink, object.value(), file) == Status::ok);
    REQUIRE(sink.commit(object.value()) == Status::ok);
    CHECK(sink.begin({text, "d", file}).status() == Status::already_exists);
  }
  CHECK(read_file(root.path() / "d" / fits) == fits);
  CHECK(read_file(root.path() / "d" / suffix_does_not_fit) == suffix_does_not_fit);
  const std::string row = read_file(root.path() / "d/mapping.csv");
  REQUIRE(row.find(',') != row.npos);
  CHECK(row.substr(row.find(',')) == "," + too_long + "\n");
  CHECK(read_file(root.path() / "d" / row.substr(0, row.find(','))) == too_long);
  CHECK(names_in(root.path() / "d").size() == 4);
  CHECK(sink.begin({text, std::string(101, 'd'), "file"}).status() == Status::name_too_long);
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a FAT card takes no colon, so the name goes into the mapping") {
  g_faults.forbidden = "\"*:<>?\\|";
  for (const std::string file :
       {"Conv2D.a:0.1.2.3", "Conv2D.b.1.2.3", "Conv2D.what?.1.2.3.output.0.ND.npy"}) {
    const Result<ObjectId> object = sink.begin({text, "d", file});
    REQUIRE(object.ok());
    REQUIRE(append_text(sink, object.value(), file) == Status::ok);
    REQUIRE(sink.commit(object.value()) == Status::ok);
  }
  std::map<std::string, std::string> rows;
  std::ifstream mapping(root.path() / "d/mapping.csv");
  for (std::string line; std::getline(mapping, line);)
    rows[line.substr(line.find(',') + 1)] = line.substr(0, line.find(','));
  REQUIRE(rows.size() == 2);
  CHECK(read_file(root.path() / "d" / rows["Conv2D.a:0.1.2.3"]) == "Conv2D.a:0.1.2.3");
  const std::string npy = rows["Conv2D.what?.1.2.3.output.0.ND.npy"];
  CHECK(npy.ends_with(".npy"));
  CHECK(read_file(root.path() / "d" / npy) == "Conv2D.what?.1.2.3.output.0.ND.npy");
  CHECK(read_file(root.path() / "d/Conv2D.b.1.2.3") == "Conv2D.b.1.2.3");
  CHECK(names_in(root.path() / "d").size() == 4);
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: EINVAL for a name that any file system takes stays an error") {
  g_faults.forbidden = "a";
  CHECK(sink.begin({text, "d", "a"}).status() == Status::invalid_argument);
  CHECK(names_in(root.path() / "d").empty());
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: without RENAME_NOREPLACE") {
  for (const int missing : {EINVAL, ENOSYS}) {
    for (const int link_error : {0, EPERM, EOPNOTSUPP}) {
      CAPTURE(missing);
      CAPTURE(link_error);
      g_faults.renameat2 = missing;
      g_faults.linkat = link_error;
      const std::string directory = std::to_string(missing) + "." + std::to_string(link_error);
      CHECK(store(sink, {text, directory, "file"}, "ours") == Status::ok);
      CHECK(store(sink, {text, directory, std::string(300, 'x')}, "ours") == Status::ok);
      CHECK(store(sink, {text, directory, "file"}, "again") == Status::already_exists);

      const Result<ObjectId> object = sink.begin({text, directory, "theirs"});
      REQUIRE(object.ok());
      write_file(root.path() / directory / "theirs", "theirs");
      CHECK(sink.commit(object.value()) == Status::already_exists);
      CHECK(read_file(root.path() / directory / "theirs") == "theirs");
      CHECK(read_file(root.path() / directory / "file") == "ours");
      CHECK(names_in(root.path() / directory).size() == 4);  // and no .part
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a rename that fails takes the file back") {
  g_faults.renameat2 = EIO;
  CHECK(store(sink, {text, "", "file"}, "x") == Status::io_error);
  CHECK(sink.last_errno() == EIO);
  g_faults.renameat2 = EINVAL;
  g_faults.linkat = EDQUOT;
  CHECK(store(sink, {text, "", "file"}, "x") == Status::no_space);
  CHECK(names_in(root.path()).empty());

  g_faults.linkat = 0;  // linked under both names, and the first unlink fails
  g_faults.unlinkat = EIO;
  CHECK(store(sink, {text, "", "file"}, "x") == Status::io_error);
  CHECK(names_in(root.path()).empty());
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: mapping.csv that cannot be locked") {
  g_faults.flock = ENOLCK;
  CHECK(store(sink, {text, "", std::string(300, 'x')}, "x") == Status::io_error);
  CHECK(sink.last_errno() == ENOLCK);
  CHECK(names_in(root.path()) == Names{"mapping.csv"});
  CHECK(read_file(root.path() / "mapping.csv").empty());
  g_faults.flock = EINTR;
  CHECK(store(sink, {text, "", std::string(300, 'x')}, "x") == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: the row is there before the file has its number") {
  const std::string file(300, 'x');
  g_faults.renameat2 = EIO;  // as if the process ended here
  CHECK(store(sink, {text, "", file}, "x") == Status::io_error);
  const std::string rows = read_file(root.path() / "mapping.csv");
  REQUIRE(rows.find(',') != rows.npos);
  CHECK(rows.substr(rows.find(',')) == "," + file + "\n");
  CHECK(names_in(root.path()) == Names{"mapping.csv"});
  g_faults.renameat2 = 0;
  REQUIRE(store(sink, {text, "", file}, "x") == Status::ok);
  CHECK(read_file(root.path() / rows.substr(0, rows.find(','))) == "x");
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: rows that another process holds are waited for once") {
  std::ofstream(root.path() / "mapping.csv").flush();
  const int held = open((root.path() / "mapping.csv").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(held >= 0);
  REQUIRE(flock(held, LOCK_EX) == 0);  // of another opening, as in another process
  g_faults.flock_calls = 0;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    CHECK(store(sink, {text, "", std::string(300, letter)}, "x") == Status::io_error);
    CHECK(sink.last_errno() == ETIMEDOUT);
  }
  CHECK(names_in(root.path()) == Names{"mapping.csv"});
  CHECK(g_faults.flock_calls == TreeSink::kMaxMappingWaitMs + 1 + 3);
  close(held);
  CHECK(store(sink, {text, "", std::string(300, 'x')}, "x") == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a directory that others own or may write in is refused") {
  const fs::path directory = root.path() / "20260131130559";
  fs::create_directory(directory);
  const ObjectName name{text, "20260131130559/0/m/1/0", "file"};
  SUBCASE("all may write in it") {
    fs::permissions(directory, fs::perms::all);
  }
  SUBCASE("as above, with the sticky bit above") {
    fs::permissions(root.path(), fs::perms::all | fs::perms::sticky_bit);
    fs::permissions(directory, fs::perms::all);
  }
  SUBCASE("another owner") {
    if (chown(directory.c_str(), 65534, 65534) != 0) return;  // only root may try
  }
  CHECK(store(sink, name, "x") == Status::permission_denied);
  CHECK(names_in(directory).empty());
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a directory is good enough where the one above is no better") {
  const fs::path directory = root.path() / "rank_0";
  fs::create_directory(directory);
  SUBCASE("no file system of owners and modes") {
    fs::permissions(root.path(), fs::perms::all);
    fs::permissions(directory, fs::perms::all);
  }
  SUBCASE("a group works together") {
    fs::permissions(directory, fs::perms::owner_all | fs::perms::group_all);
  }
  SUBCASE("the owner of all of it lets us in") {
    for (const fs::path& path : {root.path(), directory})
      if (chown(path.c_str(), 65534, 65534) != 0) return;
  }
  CHECK(store(sink, {text, "rank_0", "file"}, "x") == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a commit that fails late spares the next writer of the name") {
  const std::string file(300, 'x');
  const Result<ObjectId> first = sink.begin({text, "", file});
  REQUIRE(first.ok());
  const Names claim = names_in(root.path());
  REQUIRE(claim.size() == 1);
  g_faults.flock = ENOLCK;
  g_faults.made_after_unlink = claim[0].c_str();
  CHECK(sink.commit(first.value()) == Status::io_error);
  CHECK(names_in(root.path()) == Names{claim[0], "mapping.csv"});
}

TEST_CASE_FIXTURE(FilledDisk,
                  "tree sink faults: a sync that fails is told until one succeeds, in the journal too") {
  g_faults.syncfs = EIO;
  CHECK(sink.sync() == Status::ok);  // nothing was written
  REQUIRE(store(sink, {text, "", "file"}, "x") == Status::ok);
  CHECK(sink.sync() == Status::io_error);
  CHECK(sink.last_errno() == EIO);
  CHECK(sink.sync() == Status::io_error);
  REQUIRE(tell(std::string(kHead) + "to,0,0\nclosed,0\n") == Status::ok);
  CHECK(sink.sync() == Status::io_error);
  g_faults.syncfs = ENOTSUP;  // as far as the file system can
  CHECK(sink.sync() == Status::ok);
  CHECK(journal() == std::string(kHead) + "to,0,0\nclosed,0\nunsynced,5\n");
  g_faults.syncfs = EIO;
  CHECK(sink.sync() == Status::ok);
  CHECK(g_faults.fsync_calls == 0);
}

#if OPDUMP_FAULTS == 2
TEST_CASE_FIXTURE(Fixture, "tree sink faults: a pair is there whole or not at all") {
  const std::string name_that_is_mapped(300, 'x');
  for (const std::string& second : {std::string("blob"), name_that_is_mapped}) {
    const auto open_both = [&] {
      const ObjectId op = sink.begin({text, "d", "op"}).value();
      const ObjectId blob = sink.begin({text, "d", second}).value();
      REQUIRE(append_text(sink, op, "1") == Status::ok);
      REQUIRE(append_text(sink, blob, "2") == Status::ok);
      return std::pair{op, blob};
    };
    const auto files = [&] {
      Names names = names_in(root.path() / "d");
      std::erase(names, "mapping.csv");
      return names;
    };
    // Something else takes the name of one of them meanwhile.
    for (const char* taken : {"op", "blob"}) {
      if (second != "blob" && std::string(taken) == "blob") continue;
      CAPTURE(taken);
      const auto [op, blob] = open_both();
      write_file(root.path() / "d" / taken, "theirs");
      CHECK(sink.commit(op, blob) == Status::already_exists);
      CHECK(files() == Names{taken});
      fs::remove(root.path() / "d" / taken);
      CHECK(sink.commit(op) == Status::invalid_argument);
    }
    if (second != "blob") {  // the second one's row cannot be written
      const auto [op, blob] = open_both();
      g_faults.flock = ENOLCK;
      CHECK(sink.commit(op, blob) == Status::io_error);
      CHECK(files().empty());
    }
    {
      const auto [op, blob] = open_both();
      CHECK(sink.commit(op, op) == Status::invalid_argument);
      CHECK(sink.commit(op, blob) == Status::invalid_argument);
      CHECK(files().empty());
    }
    const auto [op, blob] = open_both();
    CHECK(sink.commit(op, blob) == Status::ok);
    CHECK(files().size() == 2);
    CHECK(read_file(root.path() / "d/op") == "1");
    fs::remove_all(root.path() / "d");
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "tree sink faults: a pair counts whole or not at all, wherever its process is killed") {
  for (const int renameat2 : {0, EINVAL}) {
    for (const std::string& second : {std::string("blob"), std::string(300, 'x')}) {
      CAPTURE(renameat2);
      CAPTURE(second);
      int whole = 0;
      int one_alone = 0;
      for (unsigned call = 1; whole == 0; ++call) {
        CAPTURE(call);
        REQUIRE(call < 20);
        fs::remove_all(root.path() / "d");
        const int exit = in_child([&] {
          const ObjectId op = sink.begin({text, "d", "op"}).value();
          const ObjectId blob = sink.begin({text, "d", second}).value();
          OPDUMP_CHILD_CHECK(append_text(sink, op, "1") == Status::ok);
          OPDUMP_CHILD_CHECK(append_text(sink, blob, "2") == Status::ok);
          g_faults = {.renameat2 = renameat2, .killed_at_call = call};
          OPDUMP_CHILD_CHECK(sink.commit(op, blob) == Status::ok);
          return 0;
        });
        REQUIRE((exit == 0 || exit == kKilledExit));
        std::string named;  // in notes
        Names there;
        for (const std::string& name : names_in(root.path() / "d")) {
          if (name.ends_with(".pair.part")) named += read_file(root.path() / "d" / name);
          if (!name.ends_with(".part") && name != "mapping.csv") there.push_back(name);
        }
        if (exit == 0) {
          CHECK(named.empty());
          CHECK(there.size() == 2);
          whole = 1;
          continue;
        }
        if (there.size() == 1) ++one_alone;
        for (const std::string& name : there) CHECK(named.find(name + '\0') != named.npos);
      }
      CHECK(one_alone != 0);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "tree sink faults: a pair that cannot be committed leaves nothing") {
  const ObjectId op = sink.begin({text, "d", "op"}).value();
  const ObjectId blob = sink.begin({text, "d", "blob"}).value();
  g_faults.unlinkat = EIO;  // of the note, with which both would count
  CHECK(sink.commit(op, blob) == Status::io_error);
  CHECK(names_in(root.path() / "d").empty());
  const ObjectId here = sink.begin({text, "d", "op"}).value();
  const ObjectId elsewhere = sink.begin({text, "e", "blob"}).value();
  CHECK(sink.commit(here, elsewhere) == Status::invalid_argument);
  CHECK(names_in(root.path() / "d").empty());
  CHECK(names_in(root.path() / "e").empty());
}
#endif
