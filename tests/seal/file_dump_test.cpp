#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "opdump/config/write_blob.hpp"
#include "platform/posix/basic_file_dump.hpp"
#include "platform/posix/file_dump.hpp"
#include "src/card/hexadecimal.hpp"
#include "tests/seal/sealed_bench.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

// Sanitizers have handlers of their own for the signals.
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define OPDUMP_TEST_SANITIZED
#endif
#elif defined __SANITIZE_ADDRESS__
#define OPDUMP_TEST_SANITIZED
#endif

const OpDesc kOps[] = {{.name = "a", .type = "Relu"}};
const ModelDesc kModel = {.name = "m", .ops = kOps};
const std::string kSecret = "the patient is called Q. Example";

struct Place {
  explicit Place(const std::string& options) {
    std::filesystem::create_directory(dump);
    write_file(config, R"({"dump": {"dump_path": ")" + dump.string() +
                           R"(", "dump_list": [{}]}, "opdump": {)" + options + "}}");
  }

  /// The text of each file of the dump, all of which must be sealed.
  std::vector<Opened> opened() {
    std::vector<Opened> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dump)) {
      if (!entry.is_regular_file()) continue;
      const std::string bytes = read_file(entry.path());
      CAPTURE(entry.path());
      CHECK(bytes.starts_with("OPSEAL"));
      CHECK(bytes.find(kSecret) == bytes.npos);
      files.push_back(open_file(*recipient.key, bytes));
      CHECK(files.back().faults == "");
      CHECK(entry.path().string().ends_with(files.back().directory + "/" + files.back().file));
    }
    return files;
  }

  static const Recipient& anyone() {
    static const Recipient recipient;
    return recipient;
  }

  Recipient recipient;
  TemporaryDirectory directory;
  std::filesystem::path dump = directory.path() / "dump";
  std::string config = (directory.path() / "acl.json").string();
};

std::string sealed_options() {
  return "\"seal\": \"" + cards::hexadecimal(Place::anyone().key->recipient()) + "\"";
}

void capture(posix::FileDump& dump, ModelPlan& plan, int steps) {
  const Dim dims[] = {static_cast<Dim>(kSecret.size())};
  const TensorView tensor = {address_of(kSecret.data()), kSecret.size(), DType::uint8, Format::nd, dims};
  for (int step = 0; step < steps; ++step) {
    REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
    REQUIRE(dump.recorder().capture(0, {}, {&tensor, 1}) == Status::ok);
    REQUIRE(dump.recorder().end_step() == Status::ok);
  }
}

std::size_t with_secret(const std::vector<Opened>& files) {
  std::size_t count = 0;
  for (const Opened& file : files) count += file.text.find(kSecret) != file.text.npos ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("seal: a FileDump seals what its config asks for") {
  Place place(sealed_options());
  HostMemory memory;
  posix::FileDump dump(memory);
  dump.log_to(nullptr, nullptr);
  REQUIRE(dump.start(place.config.c_str()) == Status::ok);
  ModelPlanFor<1> plan;
  REQUIRE(dump.load_model(plan, kModel) == Status::ok);
  capture(dump, plan, 5);
  REQUIRE(dump.stop() == Status::ok);
  const std::vector<Opened> files = place.opened();
  CHECK(files.size() == 6);
  CHECK(with_secret(files) == 5);
}

#ifndef OPDUMP_TEST_SANITIZED
TEST_CASE("seal: a program that crashes writes nothing in clear") {
  for (const char* options : {"", ", \"history_steps\": 3"}) {
    CAPTURE(options);
    Place place(sealed_options() + options);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(number, SIG_DFL);
      HostMemory memory;
      posix::FileDump dump(memory);
      dump.log_to(nullptr, nullptr);
      dump.on_crash(posix::OnCrash::dump);
      ModelPlanFor<1> plan;
      if (dump.start(place.config.c_str()) != Status::ok || dump.load_model(plan, kModel) != Status::ok)
        _exit(9);
      capture(dump, plan, 7);
      abort();
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(with_secret(place.opened()) >= 3);
  }
}
#endif

TEST_CASE("seal: a session is sealed in one way") {
  Place place(sealed_options());
  HostMemory memory;
  std::byte scratch[4096];
  posix::DumpKit<HostMemory> kit(memory, {.scratch = scratch, .when_full = WhenFull::inline_drain});
  DumpConfig plain = {.asked = true, .active = true, .dump_path = place.dump.c_str()};
  DumpConfig sealed = plain;
  sealed.options.seal = Place::anyone().public_key();
  REQUIRE(kit.apply(sealed) == Status::ok);
  CHECK(kit.apply(plain) == Status::not_supported);
  CHECK(kit.apply(sealed) == Status::ok);
  REQUIRE(kit.end() == Status::ok);
  for (const Opened& file : place.opened()) CHECK(file.text.find("closed") != file.text.npos);
  std::filesystem::remove_all(place.dump);
  std::filesystem::create_directory(place.dump);
  REQUIRE(kit.apply(plain) == Status::ok);
  CHECK(kit.apply(sealed) == Status::not_supported);
  REQUIRE(kit.end() == Status::ok);
  DumpConfig conflict = sealed;
  conflict.form.layout = Layout::mindspore_cpu;
  CHECK(kit.apply(conflict) == Status::not_supported);
}

TEST_CASE("seal: no card of a model is written beside a sealed dump, nor from a plan") {
  for (const bool compiled : {false, true}) {
    Place place(sealed_options());
    if (compiled) {
      // A plan does not say that there are no cards.
      DumpConfig config = {.asked = true, .active = true, .dump_path = place.dump.c_str()};
      static const ModelRule kAny[] = {{.any_model = true}};
      config.models = kAny;
      config.options.seal = Place::anyone().public_key();
      write_file(place.config, std::string(as_text(write_plan(config))));
    }
    attach::Dump dump(place.config.c_str());
    attach::Model model(dump, "m", 1);
    const std::uint32_t op = model.add_op("a", "Relu");
    {
      const auto step = model.step();
      REQUIRE(model.wants(op));
      model.capture(
          op, {},
          attach::Tensors().add(kSecret.data(), OPDUMP_UINT8, {static_cast<std::int64_t>(kSecret.size())}));
    }
    CHECK(dump.stop() == OPDUMP_OK);
    const std::vector<Opened> files = place.opened();
    CHECK(files.size() == 2);
    CHECK(with_secret(files) == 1);
  }
}
