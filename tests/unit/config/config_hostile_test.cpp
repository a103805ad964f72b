#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/child_process.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/parsed_config.hpp"

#if defined(__has_feature)
#define OPDUMP_HAS_FEATURE(name) __has_feature(name)
#else
#define OPDUMP_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                 \
    OPDUMP_HAS_FEATURE(address_sanitizer) || OPDUMP_HAS_FEATURE(thread_sanitizer) || \
    OPDUMP_HAS_FEATURE(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

using namespace opdump;
using namespace opdump::tests;

namespace {

std::string with_list(const std::string& list, const std::string& more = "") {
  return "{\"dump\": {\"dump_path\": \"output\"" + more + ", \"dump_list\": [" + list + "]}}";
}

std::string joined(std::string_view piece, std::size_t count) {
  std::string text = repeated(std::string(piece) + ',', count);
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("config: 10 MiB are read, one byte more is not") {
  std::string text = "{}";
  text.resize(kMaxConfigBytes, ' ');
  CHECK(ParsedConfig(0, text).status == Status::ok);
  text += ' ';
  const ParsedConfig longer(0, text);
  CHECK(longer.status == Status::config_refused);
  CHECK(longer.error.fault == ConfigFault::unreadable);
}

TEST_CASE("config: damage to any byte is either accepted or told with a place") {
  const auto check = [](const std::string& text) {
    const ParsedConfig parsed(text);
    if (parsed.status == Status::ok) {
      CHECK(parsed.error.fault == ConfigFault::none);
      return;
    }
    INFO(text);
    CHECK(parsed.status == Status::config_refused);
    CHECK(parsed.error.fault != ConfigFault::none);
    CHECK(parsed.error.fault != ConfigFault::no_memory);
    CHECK_FALSE(parsed.error.reason.empty());
    CHECK_FALSE(parsed.config.active);
    REQUIRE(parsed.error.offset <= text.size());
    const std::string before = text.substr(0, parsed.error.offset);
    CHECK(parsed.error.line == 1 + std::count(before.begin(), before.end(), '\n'));
    CHECK(parsed.error.column == before.size() - (before.rfind('\n') + 1) + 1);
  };
  for (const char* name :
       {"cann/accept/documented_model_dump", "cann/accept/steps", "cann/accept/escapes",
        "cann/accept/unknown_keys", "cann/accept/path_with_address", "cann/accept/range_beside_layers",
        "cann/accept/blacklist_positions", "lite/accept/documented", "mindspore/accept/documented_o0",
        "mindspore/accept/kernels_regex_rich", "mindspore/accept/categories_all",
        "torchair/accept/documented"}) {
    const std::string text = packed_text(name);
    for (std::size_t i = 0; i < text.size(); ++i) {
      check(text.substr(0, i));
      check(text.substr(0, i) + text.substr(i + 1));
      for (const int bit : {1, 2, 4, 8, 16, 32, 64, 128}) {
        std::string flipped = text;
        flipped[i] = static_cast<char>(flipped[i] ^ bit);
        check(flipped);
      }
      for (const char put : {'"', '\\', '[', ']', '{', '}', ',', ':', '\0', '\n'})
        check(text.substr(0, i) + put + text.substr(i));
    }
  }
}

TEST_CASE("config: config_memory_bytes is enough for any text") {
  constexpr std::size_t kBytes = 300000;
  const std::string hundred_steps = packed_text("cann/accept/steps_100_items");
  const std::vector<std::string> items = {
      "{}",
      R"({"model_name":"m"})",
      R"({"layer":[""]})",
      R"({"layer":["",""]})",
      R"({"layer":["a"]})",
      R"({"layer":["\n\n\n\n"]})",
      R"({"model_name":"1234567","layer":["1","12","123"]})",
      R"({"layer":[)" + joined(R"("")", kBytes / 3) + "]}",
      R"({"layer":[)" + joined(R"("x")", kBytes / 4) + "]}",
      R"({"model_name":")" + std::string(kBytes, 'm') + "\"}",
      R"({"opname_range":[{"begin":"a","end":"b"}],"model_name":"m"})",
      R"({"opname_range":[)" + joined(R"({"begin":"a","end":"b"})", kBytes / 25) + R"(],"model_name":"m"})",
      R"({"optype_blacklist":[{}]})",
      R"({"optype_blacklist":[{"name":"a","pos":["input0"]}]})",
      R"({"opname_blacklist":[{"name":"a","pos":[)" + joined(R"("input0")", kBytes / 10) + "]}]}",
  };
  for (const std::string& item : items) {
    CAPTURE(item.substr(0, 80));
    const std::string text =
        with_list(joined(item, std::max<std::size_t>(1, kBytes / item.size())), R"(,"dump_level":"op")");
    const ParsedConfig parsed(text);
    CHECK(parsed.status == Status::ok);
    CHECK(parsed.config.active);
    CHECK(parsed.used <= config_memory_bytes(text.size()));
  }
  CHECK(ParsedConfig(hundred_steps).used <= config_memory_bytes(hundred_steps.size()));
  for (const std::string& item : std::initializer_list<std::string>{
           R"({"watcher_nodes":[""]})", R"({"watcher_nodes":[)" + joined(R"("")", kBytes / 3) + "]}"}) {
    const std::string text =
        with_list(joined(item, std::max<std::size_t>(1, kBytes / item.size())), R"(,"dump_scene":"watcher")");
    CHECK(ParsedConfig(text).config.watch);
  }
  // Short texts, whose own size counts for little.
  for (const char* text : {"", "{}", R"({"dump":{"dump_path":"x","dump_list":[{}]}})",
                           R"({"dump":{"dump_path":"x","dump_step":"1|2|3|4|5|6|7|8|9","dump_list":[{}]}})"})
    CHECK(ParsedConfig(text).status == Status::ok);
}

TEST_CASE("config: memory that is too small is told, whatever does not fit") {
  const std::string text = with_list(R"({"model_name":"m","layer":["a","b"]})", R"(, "dump_step": "1|2-3")");
  const std::size_t needed = ParsedConfig(text).used;
  REQUIRE(needed > 0);
  std::set<std::string> keys;
  for (std::size_t bytes = 0; bytes < needed; ++bytes) {
    const ParsedConfig parsed(bytes, text);
    CHECK(parsed.status == Status::config_refused);
    CHECK(parsed.error.fault == ConfigFault::no_memory);
    CHECK_FALSE(parsed.config.active);
    keys.insert(parsed.error.key);
  }
  CHECK(ParsedConfig(needed, text).status == Status::ok);
  CHECK(keys ==
        std::set<std::string>{"dump.dump_path", "dump.dump_step", "dump.dump_list", "dump.dump_list[0]"});
}

TEST_CASE("config: a heap that is too small is told") {
  if (kSanitized || OPDUMP_TEST_SHARE > 1) {
    MESSAGE("skipped: sanitizers and emulators need more memory than the limit leaves");
    return;
  }
  const std::string text = "[0" + repeated(",0", kMaxConfigBytes / 2 - 2) + "]";
  CHECK(in_child([&text] {
          constexpr rlim_t kRoom = rlim_t{64} << 20;
          const rlimit limit{kRoom, kRoom};
          OPDUMP_CHILD_CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
          Arena arena({});
          ConfigOutcome outcome;
          OPDUMP_CHILD_CHECK(parse_config({text, arena}, outcome) == Status::config_refused);
          OPDUMP_CHILD_CHECK(outcome.error.fault == ConfigFault::no_memory);
          OPDUMP_CHILD_CHECK(outcome.error.reason.find("heap") != std::string::npos);
          return 0;
        }) == 0);
}
