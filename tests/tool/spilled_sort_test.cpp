// What the tool sorts and keeps in a temporary file, against the standard library, which does so in memory.
#include "src/tool/dump/spilled_sort.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/tool/dump/hash_list.hpp"

using namespace opdump::tool;

namespace {

/// By the first letter, so that many texts are equal.
bool letter_less(std::string_view a, std::string_view b) {
  return a.substr(0, 1) < b.substr(0, 1);
}

std::vector<std::string> random_texts(std::size_t count, std::size_t longest) {
  std::mt19937 random(7);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(random() % (longest + 1), 'x');
    for (char& c : text) c = static_cast<char>('a' + random() % 26);
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> texts_of(const SpilledSort& sort) {
  std::vector<std::string> texts;
  SpilledSort::Reader reader(sort);
  for (std::string_view text; reader.next(text);) texts.emplace_back(text);
  return texts;
}

}  // namespace

TEST_CASE("texts are sorted and equal ones keep their order, whatever fits into memory") {
  std::vector<std::string> texts = random_texts(5000, 40);
  texts.insert(texts.begin() + 2500,
               std::string(100'000, 'm'));  // passes each memory but the last, and a window
  std::vector<std::string> sorted = texts;
  std::stable_sort(sorted.begin(), sorted.end(), letter_less);
  // Of 16 bytes, each text is a run of its own, and runs are merged on the way.
  for (const std::size_t memory :
       {std::size_t{16}, std::size_t{1000}, std::size_t{50'000}, SpilledSort::kMemoryBytes}) {
    SpilledSort sort(letter_less, memory);
    for (const std::string& text : texts) REQUIRE(sort.add(text));
    REQUIRE(sort.finish());
    CHECK(sort.size() == texts.size());
    CHECK(texts_of(sort) == sorted);
    CHECK(texts_of(sort) == sorted);  // any number of times
    CHECK(sort.error().empty());
  }
}

TEST_CASE("a sort of nothing is empty") {
  SpilledSort sort(letter_less);
  REQUIRE(sort.finish());
  CHECK(sort.size() == 0);
  CHECK(texts_of(sort).empty());
}

TEST_CASE("a temporary directory that is not there is told") {
  const char* const before = getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere/at/all", 1);
  SpilledSort sort(letter_less, 16);
  bool added = true;
  for (const std::string& text : random_texts(10, 40)) added = sort.add(text) && added;
  CHECK(!added);
  CHECK(!sort.finish());
  CHECK(sort.error() == "/nowhere/at/all: No such file or directory");

  HashList hashes;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) hashes.add(i);
  hashes.finish();
  CHECK(hashes.error() == "/nowhere/at/all: No such file or directory");
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

TEST_CASE("hashes are counted, in memory and in the temporary file") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1000}, std::size_t{700'000}}) {
    std::mt19937_64 random(3);
    HashList list;
    std::map<std::uint64_t, std::size_t> counts;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = i % 3 == 0 ? random() % 5 : random();
      ++counts[hash];
      list.add(hash);
    }
    list.finish();
    bool same = true;
    std::size_t asked = 0;
    for (const auto& [hash, times] : counts) {
      if (hash >= 5 && ++asked % 16 != 0) continue;
      same = same && list.count(hash) == times &&
             list.count(hash + 1) == (counts.contains(hash + 1) ? counts[hash + 1] : 0);
    }
    CHECK(same);
    CHECK(list.count(UINT64_MAX) == 0);
    CHECK(list.error().empty());
  }
}
