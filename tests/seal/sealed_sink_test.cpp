#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "opdump/parts/callback_sink.hpp"
#include "opdump/parts/sealed_sink.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/posix/tree_sink.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kStreamChunk = 64;
// Of the pieces that are left out, swapped or torn in turn, one in so many.
constexpr std::size_t kPieceShare = OPDUMP_TEST_SHARE > 10 ? 12 : OPDUMP_TEST_SHARE > 1 ? 3 : 1;

struct SealBench {
  SealBench() { REQUIRE(sink.seal(recipient.public_key()) == Status::ok); }

  Status write(const std::string& file, const std::string& text, std::size_t piece = 50) {
    const Result<ObjectId> object = sink.begin({"/dump", "time/0", file});
    if (!object.ok()) return object.status();
    for (std::size_t i = 0; i < text.size(); i += piece) {
      const Bytes part = as_bytes(std::string_view(text).substr(i, piece));
      if (const Status status = sink.append(object.value(), {&part, 1}); status != Status::ok) {
        sink.abort(object.value());
        return status;
      }
    }
    return sink.commit(object.value());
  }

  Status write_lines(const std::string& file, const std::string& text) {
    const Bytes part = as_bytes(text);
    return sink.append_lines({"/dump", "time", file}, {&part, 1});
  }

  std::string stored(const std::string& path) const {
    const std::vector<std::byte>& bytes = inner.objects.at(path);
    return std::string(as_text(bytes));
  }
  std::string object(const std::string& file) const { return stored("/dump|time/0|" + file); }
  std::string lines(const std::string& file) const { return inner.journals.at("/dump|time|" + file); }

  FakeSink inner;
  Recipient recipient;
  sodium::SodiumSealer sealer{sodium_library()};
  std::byte memory[SealedSink<FakeSink>::bytes_for(kStreamChunk)];
  SealedSink<FakeSink> sink{inner, sealer, memory};
};

std::string text_of(std::size_t bytes, unsigned seed = 7) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>((seed = seed * 1103515245 + 12345) >> 16);
  return text;
}

struct Piece {
  std::size_t at;
  std::size_t bytes;
};

/// Where the chunks of a file of one stream lie.
std::vector<Piece> chunks_of(const std::string& file) {
  std::vector<Piece> chunks;
  for (std::size_t at = sealed::kHeadBytes; at < file.size();) {
    const std::size_t text = load_little_endian<std::uint32_t>(as_bytes(file).data() + at + 8) >> 1;
    chunks.push_back({at, text + sealed::kChunkMore});
    at += chunks.back().bytes;
  }
  return chunks;
}

std::string with(const std::string& file, std::initializer_list<Piece> pieces) {
  std::string made = file.substr(0, sealed::kHeadBytes);
  for (const Piece& piece : pieces) made += file.substr(piece.at, piece.bytes);
  return made;
}

}  // namespace

TEST_CASE("seal: objects of every length are opened, and nothing of them is in clear") {
  SealBench bench;
  for (std::size_t bytes = 0; bytes < 4 * kStreamChunk; ++bytes) {
    const std::string name = "op" + std::to_string(bytes);
    const std::string text = text_of(bytes);
    REQUIRE(bench.write(name, text, bytes % 3 == 0 ? 1 : 50) == Status::ok);
    const std::string file = bench.object(name);
    const Opened opened = open_file(*bench.recipient.key, file);
    if (opened.text != text || opened.directory != "time/0" || opened.file != name || opened.lines ||
        opened.faults != "")
      FAIL(name, ": ", opened.faults);
    const std::size_t whole = 4 + 6 + name.size() + bytes;
    REQUIRE(file.size() ==
            sealed::kHeadBytes + whole + (whole + kStreamChunk - 1) / kStreamChunk * sealed::kChunkMore);
    for (std::size_t i = 0; i + 8 <= bytes; ++i) {
      if (file.find(text.substr(i, 8)) != file.npos) FAIL("in clear: ", name, " from byte ", i);
    }
  }
}

TEST_CASE("seal: a bit that is flipped anywhere is named") {
  SealBench bench;
  const std::string text = text_of(2 * kStreamChunk + 9);
  REQUIRE(bench.write("op", text) == Status::ok);
  const std::string file = bench.object("op");
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string changed = file;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const Opened opened = open_file(*bench.recipient.key, changed);
    const bool named = opened.faults.find("changed") != std::string::npos;
    if (!named || opened.wrong_key || opened.cut_short || text.find(opened.text) != 0)
      FAIL("bit ", bit % 8, " of byte ", bit / 8, ": ", opened.faults);
  }
}

TEST_CASE("seal: of a file that is cut anywhere only the chunk under way is missing") {
  SealBench bench;
  const std::string text = text_of(5 * kStreamChunk);
  REQUIRE(bench.write("op", text) == Status::ok);
  const std::string file = bench.object("op");
  const std::vector<Piece> chunks = chunks_of(file);
  for (std::size_t bytes = 8; bytes < file.size(); ++bytes) {
    const Opened opened = open_file(*bench.recipient.key, file.substr(0, bytes));
    std::size_t whole = 0;
    for (const Piece& chunk : chunks)
      whole += chunk.at + chunk.bytes <= bytes ? chunk.bytes - sealed::kChunkMore : 0;
    const std::size_t head = 4 + 6 + 2;
    const std::string expected = text.substr(0, whole < head ? 0 : whole - head);
    if (opened.text != expected || !opened.cut_short || opened.faults.find("ends ") != 0)
      FAIL("cut at ", bytes, ": ", opened.faults);
  }
}

TEST_CASE("seal: chunks that are swapped, repeated, left out or another object's are named") {
  SealBench bench;
  REQUIRE(bench.write("op", text_of(3 * kStreamChunk)) == Status::ok);
  REQUIRE(bench.write("other", text_of(3 * kStreamChunk, 8)) == Status::ok);
  const std::string file = bench.object("op");
  const std::string other = bench.object("other");
  const std::vector<Piece> c = chunks_of(file);
  REQUIRE(c.size() == 4);
  const auto faults = [&](const std::string& bytes) { return open_file(*bench.recipient.key, bytes).faults; };
  CHECK(faults(with(file, {c[0], c[1], c[2], c[3]})) == "");
  CHECK(faults(with(file, {c[0], c[2], c[1], c[3]})) ==
        "chunk 2 stands where chunk 1 belongs: chunks are missing or swapped\n");
  CHECK(faults(with(file, {c[0], c[1], c[1], c[2], c[3]})) ==
        "chunk 1 stands where chunk 2 belongs: chunks are repeated or swapped\n");
  CHECK(faults(with(file, {c[0], c[1], c[3]})) ==
        "chunk 3 stands where chunk 2 belongs: chunks are missing or swapped\n");
  CHECK(faults(with(file, {c[0], c[1], c[2]})) == "ends before chunk 3: the rest is missing\n");
  CHECK(faults(with(file, {c[1], c[2], c[3]})).find("chunk 1 stands where chunk 0 belongs") == 0);
  CHECK(faults(file + "x") == "1 bytes stand behind its last chunk\n");
  CHECK(faults(file + file) == std::to_string(file.size()) + " bytes stand behind its last chunk\n");
  std::string mixed = file;
  mixed.replace(c[1].at, c[1].bytes, other, c[1].at, c[1].bytes);
  CHECK(faults(mixed) ==
        "chunk 1 of another object of the same dump, stream 1, stands where chunk 1 belongs\n");
  CHECK(faults("plain text") == "is not sealed, or its first bytes are changed\n");
  CHECK(faults("") == "is not sealed, or its first bytes are changed\n");
}

TEST_CASE("seal: a wrong key is told from a changed file") {
  SealBench bench;
  REQUIRE(bench.write("op", "text") == Status::ok);
  REQUIRE(bench.write_lines("journal", "line\n") == Status::ok);
  Recipient other(2);
  for (const std::string& file : {bench.object("op"), bench.lines("journal")}) {
    const Opened opened = open_file(*other.key, file);
    CHECK(opened.wrong_key);
    CHECK(opened.faults == "sealed for key " + tool::key_id_text(bench.recipient.key->recipient()) +
                               ", and the key given is " + tool::key_id_text(other.key->recipient()) +
                               ": the wrong key\n");
    CHECK(opened.text == "");
  }
}

TEST_CASE("seal: lines are opened, and pieces that are swapped, repeated, changed or left out are named") {
  SealBench bench;
  std::string all;
  std::vector<std::size_t> ends;
  for (int i = 0; i < 200; ++i) {
    const std::string line =
        "line " + std::to_string(i) + text_of(static_cast<std::size_t>(i) % 90, 3) + "\n";
    REQUIRE(bench.write_lines("journal", line) == Status::ok);
    // Another file of lines, and an object between.
    if (i % 7 == 0) REQUIRE(bench.write_lines("table", line) == Status::ok);
    if (i % 9 == 0) REQUIRE(bench.write("op" + std::to_string(i), line) == Status::ok);
    all += line;
    ends.push_back(bench.lines("journal").size());
  }
  const std::string file = bench.lines("journal");
  const Opened opened = open_file(*bench.recipient.key, file);
  CHECK(opened.faults == "");
  CHECK(opened.text == all);
  CHECK(opened.lines);
  CHECK(opened.streams > 5);
  CHECK(opened.file == "journal");
  CHECK(file.find("line 1") == file.npos);
  CHECK(open_file(*bench.recipient.key, bench.lines("table")).faults == "");

  // The piece of line i.
  const auto piece = [&](std::size_t i) { return file.substr(ends[i - 1], ends[i] - ends[i - 1]); };
  const auto faults = [&](const std::string& bytes) { return open_file(*bench.recipient.key, bytes).faults; };
  std::size_t streams = 0;
  for (std::size_t i = 1; i + 1 < ends.size(); ++i) {
    const std::string before = file.substr(0, ends[i - 1]);
    const std::string after = file.substr(ends[i]);
    streams += piece(i).starts_with("OPSEAL") ? 1 : 0;
    if (i % kPieceShare != 0) continue;
    if (faults(before + after) == "") FAIL("left out: piece ", i);
    if (faults(before + piece(i) + piece(i) + after) == "") FAIL("repeated: piece ", i);
    if (faults(before + piece(i + 1) + piece(i) + file.substr(ends[i + 1])) == "") FAIL("swapped: piece ", i);
  }
  CHECK(streams + 1 == opened.streams);
  for (std::size_t byte = 0; byte<file.size(); byte += OPDUMP_TEST_SHARE> 10 ? 11 : 1) {
    std::string changed = file;
    changed[byte] = static_cast<char>(changed[byte] ^ 4);
    if (faults(changed) == "") FAIL("changed: byte ", byte);
  }
  // A whole stream is missing.
  const std::size_t second = file.find("OPSEAL", 1);
  const std::size_t third = file.find("OPSEAL", second + 1);
  CHECK(faults(file.substr(0, second) + file.substr(third)).find("are missing, repeated or swapped") !=
        std::string::npos);
  CHECK(faults(file.substr(second)).find("its beginning is missing") == 0);
  // What a flash log leaves that has gone round, with the note of `extract`.
  const Opened gone = open_file(*bench.recipient.key, file.substr(second - 40) + "overwritten\n");
  CHECK(gone.faults == "");
  CHECK(gone.notes.find("its beginning is missing") != std::string::npos);
  CHECK(gone.text.ends_with("\noverwritten\n"));

  // What a wire loses, with the notes of `receive`, costs the piece that is lost, and is named.
  const Bytes head = as_bytes(file).first(sealed::kHeadBytes);
  const tool::KnownHeads known = {std::vector<std::byte>(head.begin(), head.end())};
  const std::string note = "unreceived,3,4\nunreceived,9,9\n";
  std::size_t begin_of_line = 0;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    const std::size_t from = i == 0 ? 0 : ends[i - 1];
    const std::size_t end_of_line =
        all.find("\n", all.find("line " + std::to_string(i + 1), begin_of_line) - 1) + 1;
    const std::string wanted = all.substr(0, begin_of_line) + all.substr(end_of_line) + note;
    begin_of_line = end_of_line;
    if (i != 0 && i % kPieceShare != 0) continue;
    const Opened torn =
        open_file(*bench.recipient.key, file.substr(0, from) + file.substr(ends[i]) + note, &known);
    if (torn.text != wanted || torn.faults == "" || torn.notes.find("never arrived") == std::string::npos)
      FAIL("piece ", i, ": ", torn.faults);
  }
}

TEST_CASE("seal: no nonce comes twice under a key, and each session has its own") {
  SealBench bench;
  std::set<std::string> nonces;
  std::size_t count = 0;
  const auto add = [&](const std::string& file) {
    for (const Piece& chunk : chunks_of(file)) {
      nonces.insert(file.substr(chunk.at, 12));
      ++count;
    }
  };
  bench.inner.fail_at = 30;
  for (int i = 0; i < 60; ++i) static_cast<void>(bench.write("op" + std::to_string(i), text_of(100)));
  for (const auto& [path, bytes] : bench.inner.objects) add(std::string(as_text(bytes)));
  REQUIRE(bench.write_lines("journal", "line\n") == Status::ok);
  add(bench.lines("journal"));
  CHECK(nonces.size() == count);
  const std::string first = bench.object("op1").substr(24, 32);
  CHECK(bench.object("op2").substr(24, 32) == first);
  REQUIRE(bench.sink.seal(bench.recipient.public_key()) == Status::ok);
  REQUIRE(bench.write("later", "x") == Status::ok);
  CHECK(bench.object("later").substr(24, 32) != first);
}

TEST_CASE("seal: what the other sink refuses costs that only, also lines") {
  for (int fail_at = 0; fail_at < 40; ++fail_at) {
    SealBench bench;
    bench.inner.fail_at = fail_at;
    std::string lines;
    int failed = 0;
    for (int i = 0; i < 8; ++i) {
      const std::string name = "op" + std::to_string(i);
      if (bench.write(name, text_of(150)) == Status::ok) {
        const Opened opened = open_file(*bench.recipient.key, bench.object(name));
        CHECK(opened.faults == "");
        CHECK(opened.text == text_of(150));
      } else {
        ++failed;
      }
      const std::string line = "line " + std::to_string(i) + "\n";
      if (bench.write_lines("journal", line) == Status::ok) {
        lines += line;
      } else {
        ++failed;
      }
    }
    CHECK(failed == 1);
    const Opened opened = open_file(*bench.recipient.key, bench.lines("journal"));
    CHECK(opened.faults == "");
    CHECK(opened.text == lines);
  }
}

TEST_CASE("seal: pairs, aborted objects and two objects at once are opened as they were written") {
  SealBench bench;
  const Bytes a = as_bytes("first object"), b = as_bytes("second object");
  const ObjectId one = bench.sink.begin({"/dump", "time/0", "one"}).value();
  const ObjectId two = bench.sink.begin({"/dump", "time/0", "two"}).value();
  CHECK(bench.sink.append(one, {&a, 1}) == Status::ok);
  CHECK(bench.sink.append(two, {&b, 1}) == Status::ok);
  CHECK(bench.sink.append(one, {&b, 1}) == Status::ok);
  CHECK(bench.sink.commit(one, two) == Status::ok);
  CHECK(open_file(*bench.recipient.key, bench.object("one")).text == "first objectsecond object");
  CHECK(open_file(*bench.recipient.key, bench.object("two")).text == "second object");
  const ObjectId gone = bench.sink.begin({"/dump", "time/0", "gone"}).value();
  bench.sink.abort(gone);
  CHECK(bench.sink.append(gone, {&a, 1}) == Status::invalid_argument);
  CHECK(bench.sink.commit(gone) == Status::invalid_argument);
  CHECK(bench.inner.objects.size() == 2);
  CHECK(bench.inner.open_objects.empty());
  CHECK(bench.sink.begin({"/dump", "time/0", "one"}).status() == Status::already_exists);
}

TEST_CASE("seal: without a sealer, with a wrong key or too little memory nothing is taken") {
  FakeSink inner;
  Recipient recipient;
  sodium::SodiumSealer sealer{sodium_library()};
  std::vector<std::byte> memory(SealedSink<>::bytes_for(63));
  const Bytes line = as_bytes("line\n");
  const auto takes_nothing = [&](SealedSink<>& sink) {
    CHECK(sink.begin({{}, {}, "op"}).status() == Status::not_supported);
    CHECK(sink.append_lines({{}, {}, "journal"}, {&line, 1}) == Status::not_supported);
    CHECK(inner.objects.empty());
    CHECK(inner.journals.empty());
  };
  SealedSink<> without(inner);
  CHECK(without.seal(recipient.public_key()) == Status::not_supported);
  takes_nothing(without);
  SealedSink<> small(inner, sealer, memory);
  CHECK(small.seal(recipient.public_key()) == Status::no_memory);
  takes_nothing(small);
  memory.resize(SealedSink<>::bytes_for(64));
  small.equip(sealer, memory);
  CHECK(small.seal("short") == Status::invalid_argument);
  CHECK(small.seal(std::string(32, '\0')) == Status::invalid_argument);  // shares no secret
  takes_nothing(small);
  CHECK(small.seal(recipient.public_key()) == Status::ok);
  CHECK(small.append_lines({{}, {}, "journal"}, {&line, 1}) == Status::ok);
  small.pass();
  CHECK(small.append_lines({{}, {}, "clear"}, {&line, 1}) == Status::ok);
  CHECK(inner.journals.at("||clear") == "line\n");
}

TEST_CASE("seal: a config with a key is refused wherever nothing seals") {
  Recipient recipient;
  DumpConfig config = {.active = true, .dump_path = "."};
  config.options.seal = recipient.public_key();
  posix::TreeSink tree;
  CHECK(tree.follow(config.options, JournalDetail::records) == Status::not_supported);
  CHECK(asks_sink(config.options));
  FakeSink plain;
  CHECK(follow_options(plain, config.options, JournalDetail::records) == Status::not_supported);
  FakeMemory memory;
  FakeClock clock;
  std::byte scratch[4096];
  BasicSession<FakeMemory> session({.memory = memory, .sink = plain, .clock = clock, .scratch = scratch});
  CHECK(boot(session, plain, config) == Status::not_supported);
  CHECK_FALSE(session.initialised());
  REQUIRE(session.init() == Status::ok);
  CHECK(session.set_config(config) == Status::not_supported);
  REQUIRE(session.finalize() == Status::ok);
  CHECK(plain.journals.empty());

  sodium::SodiumSealer sealer{sodium_library()};
  std::byte buffers[SealedSink<FakeSink>::bytes_for(256)];
  SealedSink<FakeSink> sealed(plain, sealer, buffers);
  BasicSession<FakeMemory> sealing({.memory = memory, .sink = sealed, .clock = clock, .scratch = scratch});
  CHECK(boot(sealing, sealed, config) == Status::ok);
  CHECK(sealed.seals());
  REQUIRE(sealing.finalize() == Status::ok);
  for (const auto& [path, lines] : plain.journals) {
    CHECK(lines.starts_with("OPSEAL"));
    CHECK(open_file(*recipient.key, lines).faults == "");
  }
  CHECK_FALSE(plain.journals.empty());
}

TEST_CASE("seal: what goes over a wire has nothing of the plaintext") {
  std::string wire;
  std::byte paths[1024];
  CallbackSink inner(
      [](void* to, const SinkPiece& piece) {
        static_cast<std::string*>(to)->append(as_text(piece.bytes));
        return Status::ok;
      },
      &wire, paths);
  Recipient recipient;
  sodium::SodiumSealer sealer{sodium_library()};
  std::byte memory[SealedSink<>::bytes_for(128)];
  SealedSink<> sink(inner, sealer, memory);
  REQUIRE(sink.seal(recipient.public_key()) == Status::ok);
  const std::string text = text_of(3000);
  const Bytes part = as_bytes(text);
  const ObjectId object = sink.begin({"dump", "time", "op"}).value();
  REQUIRE(sink.append(object, {&part, 1}) == Status::ok);
  REQUIRE(sink.commit(object) == Status::ok);
  for (std::size_t i = 0; i + 6 <= text.size(); ++i) {
    if (wire.find(text.substr(i, 6)) != wire.npos) FAIL("in clear from byte ", i);
  }
  CHECK(open_file(*recipient.key, wire).text == text);
}
