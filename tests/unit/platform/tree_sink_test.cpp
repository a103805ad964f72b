#include "platform/posix/tree_sink.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
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

mode_t mode_of(const fs::path& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// What mapping.csv says, short name by long name. Every row must be whole and name a file that is there.
std::map<std::string, std::string> read_mapping(const fs::path& directory) {
  std::map<std::string, std::string> rows;
  std::istringstream text(read_file(directory / "mapping.csv"));
  for (std::string row; std::getline(text, row);) {
    const std::size_t comma = row.find(',');
    REQUIRE(comma != row.npos);
    const std::string short_name = row.substr(0, comma);
    CHECK(fs::is_regular_file(directory / short_name));
    CHECK(rows.emplace(row.substr(comma + 1), short_name).second);
  }
  return rows;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// Puts the calling process into a mount namespace of its own, as root or as an ordinary user.
bool enter_mount_namespace() {
  if (unshare(CLONE_NEWNS) != 0) {
    const std::string uid = "0 " + std::to_string(getuid()) + " 1";
    const std::string gid = "0 " + std::to_string(getgid()) + " 1";
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", uid);
    write_file("/proc/self/gid_map", gid);
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Makes permission bits count in the calling process, which root passes by.
bool drop_root(const fs::path& new_owner_of) {
  constexpr uid_t kNobody = 65534;
  if (getuid() != 0) return true;
  return chown(new_owner_of.c_str(), kNobody, kNobody) == 0 && setgroups(0, nullptr) == 0 &&
         setgid(kNobody) == 0 && setuid(kNobody) == 0;
}

/// The first writes beyond `bytes` of a file come back short, the next ones fail.
void limit_file_size(rlim_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace

TEST_CASE("tree sink: an object is a file at root/directory/file") {
  TemporaryDirectory root;
  TreeSink sink;
  const Result<ObjectId> object = sink.begin({root.text(), "20250101/0/net/1/7", "Conv2D.c1.1.2.3"});
  REQUIRE(object.ok());
  const Bytes parts[] = {as_bytes("head "), Bytes(), as_bytes("body "), as_bytes("tail")};
  CHECK(sink.append(object.value(), parts) == Status::ok);
  CHECK(sink.append(object.value(), {}) == Status::ok);
  CHECK(append_text(sink, object.value(), "!") == Status::ok);
  CHECK(sink.commit(object.value()) == Status::ok);
  CHECK(read_file(root.path() / "20250101/0/net/1/7/Conv2D.c1.1.2.3") == "head body tail!");
  CHECK(sink.sync() == Status::ok);

  CHECK(store(sink, {root.text(), "", "at the root"}, "x") == Status::ok);
  CHECK(store(sink, {root.text(), "", "empty"}, "") == Status::ok);
  CHECK(names_in(root.path()) == Names{"20250101", "at the root", "empty"});
  CHECK(sink.sync() == Status::ok);
  CHECK(sink.last_errno() == 0);
}

TEST_CASE("tree sink: the root may be relative and may be a symbolic link") {
  TemporaryDirectory root;
  fs::create_directory(root.path() / "real");
  fs::create_directory_symlink("real", root.path() / "link");
  const int result = in_child([&] {
    TreeSink sink;
    OPDUMP_CHILD_CHECK(chdir(root.text().c_str()) == 0);
    OPDUMP_CHILD_CHECK(store(sink, {"link", "a", "x"}, "1") == Status::ok);
    OPDUMP_CHILD_CHECK(store(sink, {"./real/", "a", "y"}, "2") == Status::ok);
    return 0;
  });
  CHECK(result == 0);
  CHECK(names_in(root.path() / "real/a") == Names{"x", "y"});
}

TEST_CASE("tree sink: directories are 0700 and files 0600 under any umask") {
  for (const mode_t mask : {0000u, 0022u, 0077u, 0277u, 0777u}) {
    for (const bool ordinary_user : {false, true}) {
      CAPTURE(mask);
      CAPTURE(ordinary_user);
      TemporaryDirectory root;
      const std::string long_name(300, 'n');
      const int result = in_child([&] {
        if (ordinary_user && !drop_root(root.path())) return kSkipped;
        umask(mask);
        TreeSink sink;
        OPDUMP_CHILD_CHECK(store(sink, {root.text(), "a/b", "file"}, "x") == Status::ok);
        OPDUMP_CHILD_CHECK(store(sink, {root.text(), "a/b", long_name}, "x") == Status::ok);
        OPDUMP_CHILD_CHECK(store(sink, {root.text(), "a/c", "file"}, "x") == Status::ok);
        return 0;
      });
      if (result == kSkipped) {
        MESSAGE("skipped: cannot become an ordinary user");
        continue;
      }
      CHECK(result == 0);
      for (const char* directory : {"a", "a/b", "a/c"}) CHECK(mode_of(root.path() / directory) == 0700);
      for (const auto& file : fs::directory_iterator(root.path() / "a/b")) CHECK(mode_of(file) == 0600);
      CHECK(mode_of(root.path() / "a/c/file") == 0600);
    }
  }
}

TEST_CASE("tree sink: modes of what was there before stay") {
  TemporaryDirectory root;
  fs::create_directory(root.path() / "a");
  fs::permissions(root.path() / "a", fs::perms(02750));
  TreeSink sink;
  REQUIRE(store(sink, {root.text(), "a/b", "x"}, "1") == Status::ok);
  CHECK(mode_of(root.path() / "a") == 02750);
  CHECK(mode_of(root.path() / "a/b") == 02700);  // set-group-id is inherited
}

TEST_CASE("tree sink: nobody sees a file under its name before commit") {
  TemporaryDirectory root;
  TreeSink sink;
  const Result<ObjectId> object = sink.begin({root.text(), "d", "file"});
  REQUIRE(object.ok());
  CHECK(names_in(root.path() / "d") == Names{"file.part"});
  REQUIRE(append_text(sink, object.value(), "bytes") == Status::ok);
  CHECK(names_in(root.path() / "d") == Names{"file.part"});
  CHECK(mode_of(root.path() / "d/file.part") == 0600);

  SUBCASE("commit") {
    REQUIRE(sink.commit(object.value()) == Status::ok);
    CHECK(names_in(root.path() / "d") == Names{"file"});
  }
  SUBCASE("abort") {
    sink.abort(object.value());
    CHECK(names_in(root.path() / "d").empty());
    CHECK(store(sink, {root.text(), "d", "file"}, "again") == Status::ok);
  }
  SUBCASE("a process that is killed leaves it recognisable, and its name taken") {
    const int result = in_child([&] {
      TreeSink other;
      OPDUMP_CHILD_CHECK(other.begin({root.text(), "d", "killed"}).ok());
      _exit(0);
      return 0;
    });
    CHECK(result == 0);
    CHECK(names_in(root.path() / "d") == Names{"file.part", "killed.part"});
    CHECK(sink.begin({root.text(), "d", "killed"}).status() == Status::already_exists);
  }
}

TEST_CASE("tree sink: the destructor takes back what is open and closes everything") {
  TemporaryDirectory root;
  const std::size_t before = open_descriptors();
  {
    TreeSink sink;
    REQUIRE(store(sink, {root.text(), "a", "kept"}, "1") == Status::ok);
    for (const char* file : {"x", "y"}) REQUIRE(sink.begin({root.text(), "a", file}).ok());
    REQUIRE(sink.begin({root.text(), "b", std::string(400, 'z')}).ok());
    CHECK(open_descriptors() > before);
  }
  CHECK(names_in(root.path() / "a") == Names{"kept"});
  CHECK(names_in(root.path() / "b").empty());
  CHECK(open_descriptors() == before);
}

TEST_CASE("tree sink: a name is one object's only") {
  TemporaryDirectory root;
  const std::string text = root.text();
  auto first = std::make_unique<TreeSink>();
  TreeSink second;
  for (const std::string& file : {std::string("file"), std::string(252, 'f'), std::string(1000, 'f')}) {
    CAPTURE(file);
    const ObjectName name{text, "d", file};
    const Result<ObjectId> object = first->begin(name);
    REQUIRE(object.ok());
    CHECK(first->begin(name).status() == Status::already_exists);
    CHECK(second.begin(name).status() == Status::already_exists);
    CHECK(second.last_errno() == EEXIST);
    REQUIRE(append_text(*first, object.value(), "first") == Status::ok);
    REQUIRE(first->commit(object.value()) == Status::ok);
    const Names committed = names_in(root.path() / "d");
    CHECK(first->begin(name).status() == Status::already_exists);
    CHECK(second.begin(name).status() == Status::already_exists);
    CHECK(names_in(root.path() / "d") == committed);
  }
}

TEST_CASE("tree sink: a whole object is as one that is begun, appended to and committed") {
  TemporaryDirectory root;
  const std::string text = root.text();
  TreeSink sink;
  const Bytes parts[] = {as_bytes("one "), as_bytes("object")};
  for (const std::string& file : {std::string("file"), std::string(252, 'f'), std::string(1000, 'f')}) {
    CAPTURE(file);
    const ObjectName name{text, "d", file};
    const Result<ObjectId> open = sink.begin({text, "d", "open"});
    REQUIRE(open.ok());
    REQUIRE(sink.put_object(name, parts) == Status::ok);
    const Names there = names_in(root.path() / "d");
    CHECK(sink.put_object(name, parts) == Status::already_exists);
    CHECK(sink.last_errno() == EEXIST);
    CHECK(sink.begin(name).status() == Status::already_exists);
    CHECK(names_in(root.path() / "d") == there);
    if (file.size() <= 255) CHECK(read_file(root.path() / "d" / file) == "one object");
    sink.abort(open.value());
    CHECK(sink.put_object({text, "d", "a/b"}, parts) == Status::invalid_argument);
  }
  write_file(root.path() / "d" / "theirs", "theirs");
  CHECK(sink.put_object({text, "d", "theirs"}, parts) == Status::already_exists);
  CHECK(read_file(root.path() / "d" / "theirs") == "theirs");
  CHECK_FALSE(fs::exists(root.path() / "d" / "theirs.part"));
}

TEST_CASE("tree sink: a whole object that is too much for the limits leaves nothing") {
  TemporaryDirectory root;
  const std::string text = root.text();
  TreeSink sink({.limits = {.max_bytes = 15}});
  const Bytes part = as_bytes("one object");
  CHECK(sink.put_object({text, "d", "fits"}, {&part, 1}) == Status::ok);
  CHECK(sink.put_object({text, "d", "too much"}, {&part, 1}) == Status::quota_exceeded);
  CHECK(names_in(root.path() / "d") == Names{"fits"});
}

TEST_CASE("tree sink: a file made by others is not replaced") {
  TemporaryDirectory root;
  TreeSink sink;
  for (const char* kind : {"file", "directory", "dangling link"}) {
    CAPTURE(kind);
    const fs::path path = root.path() / kind;
    const auto make = [&] {
      if (kind == std::string("file")) write_file(path, "theirs");
      if (kind == std::string("directory")) fs::create_directory(path);
      if (kind == std::string("dangling link")) fs::create_symlink("nowhere", path);
    };
    SUBCASE("before begin") {
      make();
      CHECK(sink.begin({root.text(), "", kind}).status() == Status::already_exists);
    }
    SUBCASE("before commit") {
      const Result<ObjectId> object = sink.begin({root.text(), "", kind});
      REQUIRE(object.ok());
      REQUIRE(append_text(sink, object.value(), "ours") == Status::ok);
      make();
      CHECK(sink.commit(object.value()) == Status::already_exists);
      sink.abort(object.value());
    }
    CHECK_FALSE(fs::exists(root.path() / (std::string(kind) + ".part")));
    if (kind == std::string("file")) CHECK(read_file(path) == "theirs");
    CHECK_FALSE(fs::exists(root.path() / "nowhere"));
  }
}

TEST_CASE("tree sink: processes that race for the same names share them out") {
  constexpr int kProcesses = 4;
  constexpr int kNames = 300;
  TemporaryDirectory root;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(start_child([&] {
      TreeSink sink;
      const std::string text(10'000, static_cast<char>('a' + process));
      std::ofstream won(root.path() / ("won" + std::to_string(process)));
      for (int i = 0; i < kNames; ++i) {
        const std::string directory = "d" + std::to_string(i / 50);
        // Every third name is a long one.
        const std::string file = std::string(i % 3 == 0 ? 280u : 1u, 'f') + std::to_string(i);
        const Status status = store(sink, {root.text(), directory, file}, text);
        OPDUMP_CHILD_CHECK(status == Status::ok || status == Status::already_exists);
        if (status == Status::ok) won << directory << ' ' << file << '\n';
      }
      return 0;
    }));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);

  int winners = 0;
  for (int process = 0; process < kProcesses; ++process) {
    std::ifstream won(root.path() / ("won" + std::to_string(process)));
    for (std::string directory, file; won >> directory >> file; ++winners) {
      fs::path path = root.path() / directory / file;
      if (file.size() > 255) path.replace_filename(read_mapping(root.path() / directory).at(file));
      CHECK(read_file(path) == std::string(10'000, static_cast<char>('a' + process)));
    }
  }
  CHECK(winners == kNames);
  for (int i = 0; i < kNames / 50; ++i) {
    const fs::path directory = root.path() / ("d" + std::to_string(i));
    CHECK(names_in(directory).size() == 51);  // 50 objects and mapping.csv
    CHECK(read_mapping(directory).size() >= 16);
  }
}

TEST_CASE("tree sink: two sinks on two threads share a tree") {
  TemporaryDirectory root;
  std::atomic<int> stored{0};
  const auto run = [&] {
    TreeSink sink;
    for (int i = 0; i < 100; ++i) {
      const std::string file = std::string(i % 4 == 0 ? 300u : 3u, 't') + std::to_string(i);
      if (store(sink, {root.text(), "d", file}, file) == Status::ok) ++stored;
    }
  };
  std::thread other(run);
  run();
  other.join();
  CHECK(stored == 100);
  CHECK(names_in(root.path() / "d").size() == 101);
  CHECK(read_mapping(root.path() / "d").size() == 25);
}

TEST_CASE("tree sink: names up to 255 bytes stay as they are") {
  TemporaryDirectory root;
  TreeSink sink;
  for (std::size_t size = 245; size <= 255; ++size) {
    const std::string file(size, 'n');
    const Result<ObjectId> object = sink.begin({root.text(), "d", file});
    REQUIRE(object.ok());
    const Names open = names_in(root.path() / "d");
    CHECK(std::count_if(open.begin(), open.end(), [](auto& name) { return name.ends_with(".part"); }) == 1);
    REQUIRE(append_text(sink, object.value(), file) == Status::ok);
    REQUIRE(sink.commit(object.value()) == Status::ok);
    CHECK(read_file(root.path() / "d" / file) == file);
  }
  CHECK(names_in(root.path() / "d").size() == 11);
}

TEST_CASE("tree sink: a longer name becomes a number and a row of mapping.csv") {
  std::string multi_byte;
  while (multi_byte.size() < 700) multi_byte += "\xe5\xb1\x82\xc3\xa9";
  const Names long_names = {std::string(256, 'a'), std::string(1000, 'b'), std::string(2048, 'c'), multi_byte,
                            "Conv2D," + std::string(300, '"')};
  TemporaryDirectory root;
  TreeSink sink;
  for (const std::string& file : long_names) {
    const Result<ObjectId> object = sink.begin({root.text(), "d", file});
    REQUIRE(object.ok());
    REQUIRE(append_text(sink, object.value(), file) == Status::ok);
    if (fs::exists(root.path() / "d/mapping.csv"))
      CHECK(read_file(root.path() / "d/mapping.csv").find(file) == std::string::npos);
    REQUIRE(sink.commit(object.value()) == Status::ok);
  }
  const std::map<std::string, std::string> mapping = read_mapping(root.path() / "d");
  CHECK(mapping.size() == long_names.size());
  for (const std::string& file : long_names) {
    const std::string& short_name = mapping.at(file);
    CHECK(short_name.find_first_not_of("0123456789") == std::string::npos);
    CHECK(short_name.size() <= 20);
    CHECK(read_file(root.path() / "d" / short_name) == file);
  }
  CHECK(names_in(root.path() / "d").size() == long_names.size() + 1);
  CHECK(mode_of(root.path() / "d/mapping.csv") == 0600);
}

TEST_CASE("tree sink: a long name keeps its ending, an aborted one leaves no row") {
  for (const std::string suffix : {".npy", ".bin", ".json"}) {
    TemporaryDirectory root;
    TreeSink sink;
    const std::string file = std::string(300, 'x') + suffix;
    const Result<ObjectId> aborted = sink.begin({root.text(), "", file});
    REQUIRE(aborted.ok());
    sink.abort(aborted.value());
    CHECK(names_in(root.path()).empty());
    REQUIRE(store(sink, {root.text(), "", file}, "1") == Status::ok);
    const std::string short_name = read_mapping(root.path()).at(file);
    CHECK(short_name.ends_with(suffix));
    CHECK(short_name.find_first_not_of("0123456789") == short_name.size() - suffix.size());
  }
}

TEST_CASE("tree sink: a row that a crash cut short does not swallow the next") {
  TemporaryDirectory root;
  write_file(root.path() / "mapping.csv", "1,whole\n2,cut sho");
  TreeSink sink;
  const std::string file(256, 'x');
  REQUIRE(store(sink, {root.text(), "", file}, "1") == Status::ok);
  const std::string text = read_file(root.path() / "mapping.csv");
  CHECK(text.starts_with("1,whole\n2,cut sho\n"));
  CHECK(text.ends_with("," + file + "\n"));
}

TEST_CASE("tree sink: without its row, an object of a long name is not there") {
  TemporaryDirectory root;
  TemporaryDirectory outside;
  write_file(outside.path() / "victim", "theirs");
  const fs::path mapping = root.path() / "mapping.csv";
  Status expected = Status::io_error;
  SUBCASE("mapping.csv is a directory") {
    fs::create_directory(mapping);
  }
  SUBCASE("mapping.csv is a symbolic link") {
    fs::create_symlink(outside.path() / "victim", mapping);
  }
  SUBCASE("mapping.csv is a dangling link") {
    fs::create_symlink(outside.path() / "new", mapping);
  }
  SUBCASE("mapping.csv is a hard link") {
    fs::create_hard_link(outside.path() / "victim", mapping);
    expected = Status::permission_denied;
  }
  SUBCASE("mapping.csv is a pipe") {
    REQUIRE(mkfifo(mapping.c_str(), 0600) == 0);
    expected = Status::permission_denied;
  }
  TreeSink sink;
  CHECK(store(sink, {root.text(), "", std::string(256, 'x')}, "1") == expected);
  CHECK(sink.last_errno() != 0);
  CHECK(names_in(root.path()) == Names{"mapping.csv"});
  CHECK(names_in(outside.path()) == Names{"victim"});
  CHECK(read_file(outside.path() / "victim") == "theirs");
}

TEST_CASE("tree sink: a row that does not fit is taken back") {
  TemporaryDirectory root;
  const std::string before = std::string(90, 'r') + "\n";
  write_file(root.path() / "mapping.csv", before);
  const int result = in_child([&] {
    limit_file_size(100);
    TreeSink sink;
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "", std::string(256, 'x')}, "1") == Status::file_too_large);
    OPDUMP_CHILD_CHECK(sink.last_errno() == EFBIG);
    return 0;
  });
  CHECK(result == 0);
  CHECK(names_in(root.path()) == Names{"mapping.csv"});
  CHECK(read_file(root.path() / "mapping.csv") == before);
}

TEST_CASE("tree sink: refuses names that could land elsewhere or be mistaken") {
  TemporaryDirectory root;
  TreeSink sink;
  using namespace std::string_view_literals;
  for (const std::string_view file : {""sv, "."sv, ".."sv, "a/b"sv, "/"sv, "../x"sv, "a\0b"sv, "\0"sv,
                                      "x.part"sv, ".part"sv, "mapping.csv"sv}) {
    CAPTURE(file);
    CHECK(sink.begin({root.text(), "d", file}).status() == Status::invalid_argument);
  }
  CHECK(sink.begin({root.text(), "d", std::string(300, 'x') + "\n"}).status() == Status::invalid_argument);
  for (const std::string_view directory : {"/"sv, "/etc"sv, "a/"sv, "a//b"sv, "."sv, ".."sv, "a/.."sv,
                                           "../a"sv, "a/./b"sv, "a/../../b"sv, "a\0b"sv, "a/\0"sv}) {
    CAPTURE(directory);
    CHECK(sink.begin({root.text(), directory, "file"}).status() == Status::invalid_argument);
  }
  CHECK(sink.begin({"", "d", "file"}).status() == Status::invalid_argument);
  CHECK(sink.begin({"", "", "file"}).status() == Status::invalid_argument);
  CHECK(sink.begin({"/\0"sv, "d", "file"}).status() == Status::invalid_argument);
  CHECK(names_in(root.path()) == Names{"d"});
  CHECK(names_in(root.path() / "d").empty());
  for (const char* odd : {"...", "..a", "a b", "\xff\xfe", "-rf", "new\nline"})
    CHECK(store(sink, {root.text(), odd, odd}, "x") == Status::ok);
}

TEST_CASE("tree sink: refuses names beyond its limits") {
  TemporaryDirectory root;
  TreeSink sink;
  CHECK(sink.begin({root.text(), "", std::string(2049, 'x')}).status() == Status::name_too_long);
  CHECK(sink.begin({root.text(), std::string(256, 'x'), "f"}).status() == Status::name_too_long);
  CHECK(sink.begin({root.text(), "a/" + std::string(256, 'x') + "/b", "f"}).status() ==
        Status::name_too_long);
  std::string deep = "d";
  while (root.text().size() + deep.size() + 2 <= TreeSink::kMaxPathBytes) deep += "/d";
  CHECK(store(sink, {root.text(), deep, "f"}, "x") == Status::ok);
  CHECK(sink.begin({root.text(), deep + "/d", "f"}).status() == Status::name_too_long);
  CHECK(sink.begin({std::string(5000, '/'), "", "f"}).status() == Status::name_too_long);
}

TEST_CASE("tree sink: root and directory are told apart") {
  TemporaryDirectory root;
  for (const char* directory : {"ab", "a", "b"}) fs::create_directory(root.path() / directory);
  const int result = in_child([&] {
    OPDUMP_CHILD_CHECK(chdir(root.text().c_str()) == 0);
    TreeSink sink;
    OPDUMP_CHILD_CHECK(store(sink, {"ab", "c", "1"}, "x") == Status::ok);
    OPDUMP_CHILD_CHECK(store(sink, {"a", "bc", "2"}, "x") == Status::ok);
    OPDUMP_CHILD_CHECK(store(sink, {"abc", "", "3"}, "x") == Status::not_found);
    return 0;
  });
  CHECK(result == 0);
  CHECK(names_in(root.path() / "ab/c") == Names{"1"});
  CHECK(names_in(root.path() / "a/bc") == Names{"2"});
}

TEST_CASE("tree sink: follows no link below the root") {
  TemporaryDirectory root;
  TemporaryDirectory outside;
  TreeSink sink;
  fs::create_directory_symlink(outside.path(), root.path() / "link");
  fs::create_directory(root.path() / "a");
  fs::create_directory_symlink(outside.path(), root.path() / "a/link");
  fs::create_symlink(outside.path() / "new", root.path() / "a/file.part");
  fs::create_directory_symlink("nowhere", root.path() / "dangling");
  CHECK(sink.begin({root.text(), "link", "file"}).status() == Status::io_error);
  CHECK(sink.begin({root.text(), "link/deeper", "file"}).status() == Status::io_error);
  CHECK(sink.begin({root.text(), "a/link", "file"}).status() == Status::io_error);
  CHECK(sink.begin({root.text(), "dangling", "file"}).status() == Status::io_error);
  CHECK(sink.begin({root.text(), "a", "file"}).status() == Status::already_exists);
  CHECK(names_in(outside.path()).empty());

  // A directory in use that is exchanged for a link keeps its files.
  REQUIRE(store(sink, {root.text(), "b", "1"}, "x") == Status::ok);
  fs::rename(root.path() / "b", root.path() / "moved");
  fs::create_directory_symlink(outside.path(), root.path() / "b");
  CHECK(store(sink, {root.text(), "b", "2"}, "x") == Status::ok);
  CHECK(names_in(root.path() / "moved") == Names{"1", "2"});
  CHECK(names_in(outside.path()).empty());
}

TEST_CASE("tree sink: a full disk") {
  TemporaryDirectory root;
  const int result = in_child([&] {
    if (!enter_mount_namespace()) return kSkipped;
    if (mount("none", root.text().c_str(), "tmpfs", 0, "size=64k,nr_inodes=20") != 0) return kSkipped;
    const std::string block(40'000, 'x');
    TreeSink sink;
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "fits"}, block) == Status::ok);
    const Result<ObjectId> object = sink.begin({root.text(), "d", "too big"});
    OPDUMP_CHILD_CHECK(object.ok());
    OPDUMP_CHILD_CHECK(append_text(sink, object.value(), block) == Status::no_space);
    OPDUMP_CHILD_CHECK(sink.last_errno() == ENOSPC);
    OPDUMP_CHILD_CHECK(names_in(root.path() / "d") == Names{"fits"});
    // Its room is free again before it is aborted.
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "small"}, "x") == Status::ok);
    OPDUMP_CHILD_CHECK(append_text(sink, object.value(), "x") == Status::no_space);
    OPDUMP_CHILD_CHECK(sink.commit(object.value()) == Status::no_space);
    OPDUMP_CHILD_CHECK(read_file(root.path() / "d/fits") == block);
    OPDUMP_CHILD_CHECK(sink.sync() == Status::ok);

    Status status = Status::ok;
    for (int i = 0; i < 100 && status == Status::ok; ++i)
      status = store(sink, {root.text(), "d", std::to_string(i)}, "");
    OPDUMP_CHILD_CHECK(status == Status::no_space);  // no inode
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "e", "x"}, "") == Status::no_space);
    return 0;
  });
  if (result == kSkipped) {
    MESSAGE("skipped: cannot mount a tmpfs");
  } else {
    CHECK(result == 0);
  }
}

TEST_CASE("tree sink: a read-only file system") {
  TemporaryDirectory root;
  const int result = in_child([&] {
    if (!enter_mount_namespace()) return kSkipped;
    if (mount("none", root.text().c_str(), "tmpfs", 0, "size=64k") != 0) return kSkipped;
    TreeSink sink;
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "before"}, "x") == Status::ok);
    if (mount("none", root.text().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return kSkipped;
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "x"}, "x") == Status::permission_denied);
    OPDUMP_CHILD_CHECK(sink.last_errno() == EROFS);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "e", "x"}, "x") == Status::permission_denied);
    return 0;
  });
  if (result == kSkipped) {
    MESSAGE("skipped: cannot mount a tmpfs");
  } else {
    CHECK(result == 0);
  }
}

TEST_CASE("tree sink: more file systems than it can sync") {
  TemporaryDirectory root;
  const int result = in_child([&] {
    if (!enter_mount_namespace()) return kSkipped;
    TreeSink sink;
    for (std::size_t i = 0; i <= TreeSink::kMaxFileSystems; ++i) {
      const std::string name = "mount" + std::to_string(i);
      fs::create_directory(root.path() / name);
      if (mount("none", (root.path() / name).c_str(), "tmpfs", 0, "size=64k") != 0) return kSkipped;
      const Status expected = i < TreeSink::kMaxFileSystems ? Status::ok : Status::too_many_objects;
      OPDUMP_CHILD_CHECK(store(sink, {root.text(), name + "/d", "x"}, "x") == expected);
    }
    OPDUMP_CHILD_CHECK(sink.sync() == Status::ok);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "mount0/d", "y"}, "x") == Status::ok);
    return 0;
  });
  if (result == kSkipped) {
    MESSAGE("skipped: cannot mount a tmpfs");
  } else {
    CHECK(result == 0);
  }
}

TEST_CASE("tree sink: a root without permission, missing, or no directory") {
  TemporaryDirectory root;
  TreeSink sink;
  CHECK(sink.begin({root.text() + "/missing", "d", "x"}).status() == Status::not_found);
  CHECK(sink.last_errno() == ENOENT);
  CHECK_FALSE(fs::exists(root.path() / "missing"));
  write_file(root.path() / "file", "");
  CHECK(sink.begin({root.text() + "/file", "", "x"}).status() == Status::io_error);
  CHECK(sink.last_errno() == ENOTDIR);
  CHECK(sink.begin({root.text(), "file", "x"}).status() == Status::io_error);

  fs::create_directory(root.path() / "closed");
  const int result = in_child([&] {
    TreeSink other;
    const std::string closed = root.text() + "/closed";
    OPDUMP_CHILD_CHECK(chmod(closed.c_str(), 0500) == 0);
    if (!drop_root(root.path())) return kSkipped;
    OPDUMP_CHILD_CHECK(store(other, {closed, "", "x"}, "x") == Status::permission_denied);
    OPDUMP_CHILD_CHECK(store(other, {closed, "d", "x"}, "x") == Status::permission_denied);
    OPDUMP_CHILD_CHECK(store(other, {root.text(), "", "x"}, "x") == Status::ok);
    return 0;
  });
  if (result == kSkipped) {
    MESSAGE("skipped: cannot become an ordinary user");
  } else {
    CHECK(result == 0);
  }
}

TEST_CASE("tree sink: what is deleted while it runs is made anew, except the root") {
  TemporaryDirectory parent;
  const fs::path root = parent.path() / "root";
  const std::string text = root.string();
  fs::create_directory(root);
  TreeSink sink;
  REQUIRE(store(sink, {text, "a/b", "1"}, "x") == Status::ok);
  const Result<ObjectId> open = sink.begin({text, "a/b", "open"});
  const Result<ObjectId> open_long = sink.begin({text, "a/b", std::string(300, 'o')});
  REQUIRE(open.ok());
  REQUIRE(open_long.ok());
  fs::remove_all(root / "a");
  CHECK(store(sink, {text, "a/b", "2"}, "x") == Status::ok);
  CHECK(store(sink, {text, "a/b", "3"}, "x") == Status::ok);
  CHECK(append_text(sink, open.value(), "x") == Status::ok);
  CHECK(sink.commit(open.value()) == Status::not_found);
  sink.abort(open_long.value());
  CHECK(names_in(root / "a/b") == Names{"2", "3"});

  fs::remove_all(root);
  CHECK(store(sink, {text, "a/b", "4"}, "x") == Status::not_found);
  CHECK_FALSE(fs::exists(root));
  fs::create_directory(root);
  CHECK(store(sink, {text, "a/b", "5"}, "x") == Status::ok);
  CHECK(names_in(root / "a/b") == Names{"5"});
}

TEST_CASE("tree sink: a write that comes back short and then fails") {
  TemporaryDirectory root;
  const int result = in_child([&] {
    TreeSink sink;
    limit_file_size(1000);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "", "fits"}, std::string(1000, 'x')) == Status::ok);
    const Result<ObjectId> object = sink.begin({root.text(), "", "too big"});
    const std::string part(300, 'x');
    const std::vector<Bytes> parts(4, as_bytes(part));
    OPDUMP_CHILD_CHECK(sink.append(object.value(), parts) == Status::file_too_large);
    OPDUMP_CHILD_CHECK(sink.last_errno() == EFBIG);
    OPDUMP_CHILD_CHECK(names_in(root.path()) == Names{"fits"});
    sink.abort(object.value());
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "", "too big"}, "x") == Status::ok);
    return 0;
  });
  CHECK(result == 0);
}

TEST_CASE("tree sink: no descriptor left") {
  TemporaryDirectory root;
  const int result = in_child([&] {
    TreeSink sink;
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "x"}, "x") == Status::ok);
    const rlimit none{.rlim_cur = 0, .rlim_max = 1024};
    const rlimit some{.rlim_cur = 1024, .rlim_max = 1024};
    OPDUMP_CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "y"}, "x") == Status::too_many_objects);
    OPDUMP_CHILD_CHECK(sink.last_errno() == EMFILE);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "e", "y"}, "x") == Status::too_many_objects);
    OPDUMP_CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &some) == 0);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "d", "y"}, "x") == Status::ok);
    OPDUMP_CHILD_CHECK(store(sink, {root.text(), "e", "y"}, "x") == Status::ok);
    return 0;
  });
  CHECK(result == 0);
  CHECK(names_in(root.path() / "d") == Names{"x", "y"});
}

TEST_CASE("tree sink: as many objects at once as it has slots, each in its own directory") {
  TemporaryDirectory root;
  TreeSink sink;
  std::vector<ObjectId> objects;
  for (std::size_t i = 0; i < TreeSink::kMaxOpenObjects; ++i) {
    const Result<ObjectId> object = sink.begin({root.text(), "d" + std::to_string(i), "file"});
    REQUIRE(object.ok());
    objects.push_back(object.value());
  }
  CHECK(sink.begin({root.text(), "d0", "other"}).status() == Status::too_many_objects);
  CHECK(sink.last_errno() == 0);
  for (std::size_t i = 0; i < objects.size(); ++i)
    CHECK(append_text(sink, objects[i], std::to_string(i)) == Status::ok);
  sink.abort(objects[0]);
  for (int i = 0; i < 20; ++i)
    CHECK(store(sink, {root.text(), "more" + std::to_string(i), "other"}, "x") == Status::ok);
  for (std::size_t i = 1; i < objects.size(); ++i) {
    CHECK(sink.commit(objects[i]) == Status::ok);
    CHECK(read_file(root.path() / ("d" + std::to_string(i)) / "file") == std::to_string(i));
  }
}

TEST_CASE("tree sink: a stale id touches nothing") {
  TemporaryDirectory root;
  TreeSink sink;
  CHECK(append_text(sink, ObjectId{}, "x") == Status::invalid_argument);
  CHECK(sink.commit(ObjectId{0xffffffff}) == Status::invalid_argument);
  const Result<ObjectId> old = sink.begin({root.text(), "", "old"});
  REQUIRE(old.ok());
  REQUIRE(sink.commit(old.value()) == Status::ok);
  const Result<ObjectId> now = sink.begin({root.text(), "", "new"});
  REQUIRE(now.ok());
  CHECK(append_text(sink, old.value(), "stale") == Status::invalid_argument);
  CHECK(sink.commit(old.value()) == Status::invalid_argument);
  sink.abort(old.value());
  CHECK(append_text(sink, now.value(), "fresh") == Status::ok);
  CHECK(sink.commit(now.value()) == Status::ok);
  CHECK(read_file(root.path() / "old").empty());
  CHECK(read_file(root.path() / "new") == "fresh");
}

TEST_CASE("tree sink: a forked child leaves its parent's objects alone") {
  TemporaryDirectory root;
  auto sink = std::make_unique<TreeSink>();
  const Result<ObjectId> object = sink->begin({root.text(), "", "parent"});
  REQUIRE(object.ok());
  REQUIRE(append_text(*sink, object.value(), "parent") == Status::ok);
  const int result = in_child([&] {
    OPDUMP_CHILD_CHECK(append_text(*sink, object.value(), "child") == Status::not_supported);
    OPDUMP_CHILD_CHECK(sink->commit(object.value()) == Status::not_supported);
    OPDUMP_CHILD_CHECK(store(*sink, {root.text(), "", "parent"}, "x") == Status::not_supported);
    OPDUMP_CHILD_CHECK(store(*sink, {root.text(), "", "child"}, "child") == Status::not_supported);
    sink.reset();
    OPDUMP_CHILD_CHECK(names_in(root.path()) == Names{"parent.part"});
    return 0;
  });
  CHECK(result == 0);
  CHECK(sink->commit(object.value()) == Status::ok);
  CHECK(read_file(root.path() / "parent") == "parent");
}

TEST_CASE("tree sink: an append of more parts than one system call takes") {
  TemporaryDirectory root;
  TreeSink sink;
  std::string expected;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 5000; ++i)
    texts.push_back(i % 3 == 0 ? "" : std::string(i % 7, static_cast<char>('a' + i % 26)));
  std::vector<Bytes> parts;
  for (const std::string& text : texts) {
    parts.push_back(as_bytes(text));
    expected += text;
  }
  const Result<ObjectId> object = sink.begin({root.text(), "", "file"});
  REQUIRE(object.ok());
  CHECK(sink.append(object.value(), parts) == Status::ok);
  CHECK(sink.commit(object.value()) == Status::ok);
  CHECK(read_file(root.path() / "file") == expected);
}
