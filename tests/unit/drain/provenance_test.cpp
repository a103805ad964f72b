#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "opdump/parts/build_id.hpp"
#include "opdump/parts/config_digest.hpp"
#include "tests/support/c_api_dump.hpp"
#include "tests/support/journal_account.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr char kLine[] = "provenance,00ff,9a3b12cd,0.1.0,,runtime 1.2, patched\n";
constexpr Provenance kToldOfRun = {
    .build_id = "00ff", .config = "9a3b12cd", .opdump = "0.1.0", .runtime = "runtime 1.2, patched"};

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A note of ELF.
std::string note(std::uint32_t type, std::string_view name, std::string_view content) {
  const std::uint32_t head[3] = {static_cast<std::uint32_t>(name.size()),
                                 static_cast<std::uint32_t>(content.size()), type};
  std::string text(reinterpret_cast<const char*>(head), sizeof head);
  for (const std::string_view part : {name, content}) {
    text += part;
    text.resize((text.size() + 3) / 4 * 4);
  }
  return text;
}

std::string id_in(const std::string& notes) {
  char text[kMostBuildIdDigits];
  return std::string(build_id_in(as_bytes(notes), text));
}

}  // namespace

TEST_CASE("provenance: a journal has it behind its head and before its end") {
  for (const JournalDetail detail : {JournalDetail::records, JournalDetail::gaps}) {
    Bench<4096> bench(WhenFull::inline_drain, 50, detail);
    REQUIRE(bench.session.init() == Status::ok);
    REQUIRE(bench.session.set_config(everything()) == Status::ok);
    REQUIRE(bench.session.tell_provenance(kToldOfRun) == Status::ok);
    REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
    bench.step();
    REQUIRE(bench.session.finalize() == Status::ok);
    REQUIRE(bench.sink.journals.size() == 1);
    const std::string& text = bench.sink.journals.begin()->second;
    CAPTURE(text);
    CHECK(text.starts_with(std::string("opdump-journal,1,") +
                           (detail == JournalDetail::records ? "records\n" : "gaps\n") + kLine +
                           "from,0,0\n"));
    CHECK(text.find(std::string(kLine) + "closed,3,") != text.npos);
    CHECK(count_of(text, "provenance,") == 2);
    if (detail == JournalDetail::records) {
      const JournalAccount account = account_of(text);
      CHECK(account.wrong == "");
      CHECK(account.written == 3);
    }
  }
}

TEST_CASE("provenance: is of the configs it was told of, and what nobody tells costs no byte") {
  Bench<4096> bench;
  Provenance other = kToldOfRun;
  other.build_id = "1234";
  CHECK(bench.session.tell_provenance(kToldOfRun) == Status::not_initialised);
  REQUIRE(bench.session.init() == Status::ok);
  CHECK(bench.session.tell_provenance(kToldOfRun) == Status::ok);  // no config is in force
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
  bench.step();
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  REQUIRE(bench.session.tell_provenance(other) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  REQUIRE(bench.sink.journals.size() == 2);
  CHECK(bench.sink.journals.begin()->second.starts_with("opdump-journal,1,records\nfrom,"));
  CHECK(bench.sink.journals.begin()->second.find("provenance") == std::string::npos);
  const std::string& last = bench.sink.journals.rbegin()->second;
  CHECK(last.starts_with("opdump-journal,1,records\nprovenance,1234,"));
}

TEST_CASE("provenance: what no journal can have is refused") {
  Bench<4096> bench;
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(everything()) == Status::ok);
  const std::string longest(kMostProvenanceBytes - kOpdumpVersion.size(), 'r');
  const std::string longer = longest + 'r';
  CHECK(bench.session.tell_provenance({.build_id = "a,b"}) == Status::invalid_argument);
  CHECK(bench.session.tell_provenance({.runtime = "a\nb"}) == Status::invalid_argument);
  CHECK(bench.session.tell_provenance({.runtime = longer}) == Status::too_large);
  const Provenance told = {.runtime = longest};
  REQUIRE(bench.session.tell_provenance(told) == Status::ok);
  REQUIRE(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
  bench.step();
  CHECK(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.journals.begin()->second.find(longest) != std::string::npos);
}

TEST_CASE("provenance: the build-id is found among other notes, and damaged notes end the search") {
  const std::string_view gnu("GNU\0", 4);
  const std::string id = note(3, gnu, "\x01\xab\xff\x10");
  CHECK(id_in(id) == "01abff10");
  CHECK(id_in(note(1, gnu, "abcdefg") + note(3, "XYZ", "1234") + id) == "01abff10");
  CHECK(id_in(note(3, gnu, std::string(32, 'a'))).size() == kMostBuildIdDigits);
  CHECK(id_in(note(3, gnu, std::string(33, 'a'))) == "");
  for (std::size_t bytes = 0; bytes < id.size(); ++bytes) CHECK(id_in(id.substr(0, bytes)) == "");
  std::string huge = id;
  std::memset(huge.data(), 0xff, 8);
  CHECK(id_in(huge) == "");
}

TEST_CASE("provenance: the digest of a config is its CRC-32") {
  char text[kConfigDigestDigits];
  CHECK(config_digest(as_bytes("123456789"), text) == "cbf43926");  // the check value of CRC-32/ISO-HDLC
}

TEST_CASE("provenance: C tells it too") {
  CDump dump;
  char digest[9], build_id[65];
  CHECK(opdump_config_digest("123456789", 9, digest) == OPDUMP_OK);
  CHECK(std::string(digest) == "cbf43926");
  const std::string notes = note(3, std::string_view("GNU\0", 4), "\x01\xab\xff\x10");
  CHECK(opdump_note_build_id(notes.data(), notes.size(), build_id) == OPDUMP_OK);
  CHECK(std::string(build_id) == "01abff10");
  char none[65];
  CHECK(opdump_note_build_id(notes.data(), 12, none) == OPDUMP_ERR_NOT_FOUND);
  CHECK(std::string(none) == "");
  opdump_provenance provenance = {};
  provenance.struct_bytes = sizeof provenance;
  provenance.build_id = build_id;
  provenance.config = digest;
  const Room room(opdump_provenance_size());
  const auto tell = [&](const opdump_provenance* told) {
    return opdump_session_tell_provenance(dump.session, told, room.at(), room.bytes());
  };
  CHECK(tell(&provenance) == OPDUMP_ERR_NOT_INITIALISED);
  REQUIRE(opdump_session_init(dump.session) == OPDUMP_OK);
  REQUIRE(opdump_session_set_config(dump.session, dump.config) == OPDUMP_OK);
  CHECK(tell(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_session_tell_provenance(dump.session, &provenance, room.at(), room.bytes() - 1) ==
        OPDUMP_ERR_NO_MEMORY);
  opdump_provenance wrong = provenance;
  wrong.model = "a,b";
  CHECK(tell(&wrong) == OPDUMP_ERR_INVALID_ARGUMENT);
  REQUIRE(tell(&provenance) == OPDUMP_OK);
  const Room model_room(opdump_model_size(&kNet));
  opdump_model* model = nullptr;
  REQUIRE(opdump_model_load(dump.session, &kNet, model_room.at(), model_room.bytes(), &model) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  REQUIRE(dump.received.journals.size() == 1);
  const std::string& text = dump.received.journals.begin()->second;
  CHECK(text.starts_with("opdump-journal,1,records\nprovenance,01abff10,cbf43926," +
                         std::string(opdump_version()) + ",,\n"));
  CHECK(kOpdumpVersion == opdump_version());
}
