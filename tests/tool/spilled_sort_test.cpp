// What the tool sorts and keeps in a temporary file, against the standard library, which does so in memory.
#include "src/tool/read/dump/spilled_sort.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/tool/read/dump/hash_index.hpp"
#include "src/tool/read/dump/hash_list.hpp"
#include "src/tool/read/dump/numbered_texts.hpp"
#include "src/tool/read/dump/spilled_list.hpp"

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

TEST_CASE("a table gives each of its texts, whatever fits into memory") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3000}, std::size_t{120'000}}) {
    std::vector<std::string> texts = random_texts(count, 60);
    if (count > 1) texts[count / 2] = std::string(100'000, 'm');  // passes a page
    SpilledTable table;
    for (const std::string& text : texts) REQUIRE(table.add(text));
    REQUIRE(table.size() == texts.size());
    std::mt19937 random(3);
    std::string text;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (const std::size_t number : {i, static_cast<std::size_t>(random() % count)})
        wrong += table.read(number, text) && text == texts[number] ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(!table.read(count, text));
    CHECK(table.error().empty());
  }
}

TEST_CASE("a list gives copies of its values, also while it grows, and of a copy") {
  struct Value {
    std::uint64_t number = 0;
    std::uint8_t byte = 0;
  };
  SpilledList<Value> list;
  std::size_t wrong = 0;
  constexpr std::uint64_t kCount = 200'000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    list.push_back({i * i, static_cast<std::uint8_t>(i)});
    const std::uint64_t other = i * 7919 % (i + 1);
    wrong += list[static_cast<std::size_t>(other)].number == other * other ? 0 : 1;
  }
  const SpilledList<Value> copy = list;
  list.clear();
  CHECK(list.empty());
  CHECK(list.begin() == list.end());
  std::uint64_t i = 0;
  for (const Value& value : copy) {
    wrong += value.number == i * i && value.byte == static_cast<std::uint8_t>(i) ? 0 : 1;
    ++i;
  }
  CHECK(i == kCount);
  CHECK(wrong == 0);
}

TEST_CASE("a table tells of a temporary directory that is not there") {
  const char* const before = getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere/at/all", 1);
  SpilledTable table;
  bool added = true;
  for (const std::string& text : random_texts(100'000, 60)) added = table.add(text) && added;
  CHECK(!added);
  CHECK(table.error() == "/nowhere/at/all: No such file or directory");
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

TEST_CASE("an index finds the numbers of a hash in the order in which they were added") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{500}, std::size_t{200'000}}) {
    std::mt19937_64 random(5);
    HashIndex index;
    std::map<std::uint64_t, std::vector<std::uint64_t>> wanted;
    for (std::size_t i = 0; i < count; ++i) {
      // Some of them so often that they fill several blocks.
      const std::uint64_t hash = i % 5 == 0 ? 42 : random() % (count * 4) << 40;
      index.add(hash, i);
      wanted[hash].push_back(i);
    }
    index.finish();
    std::size_t wrong = 0;
    for (const auto& [hash, numbers] : wanted) {
      std::vector<std::uint64_t> found, first;
      index.find(hash, [&](std::uint64_t number) {
        found.push_back(number);
        return true;
      });
      index.find(hash, [&](std::uint64_t number) {
        first.push_back(number);
        return false;
      });
      wrong += found == numbers && first == std::vector<std::uint64_t>{numbers[0]} ? 0 : 1;
    }
    CHECK(wrong == 0);
    index.find(7, [](std::uint64_t) {
      FAIL("a hash that was not added");
      return false;
    });
    CHECK(index.error().empty());
  }
}

TEST_CASE("texts are numbered once, in the order in which they come first") {
  std::vector<std::string> texts = random_texts(60'000, 4);
  NumberedTexts numbered;
  std::map<std::string, std::uint32_t> wanted;
  std::size_t wrong = 0;
  for (const std::string& text : texts) {
    const auto [at, first] = wanted.emplace(text, static_cast<std::uint32_t>(wanted.size()));
    bool is_new = !first;
    wrong += numbered.number(text, is_new) == at->second && is_new == first ? 0 : 1;
  }
  REQUIRE(wanted.size() > 10'000);
  for (const auto& [text, number] : wanted) wrong += numbered.text(number) == text ? 0 : 1;
  CHECK(wrong == 0);
  CHECK(numbered.size() == wanted.size());
  CHECK(numbered.error().empty());
}
