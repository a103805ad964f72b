#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "opdump/config/environment.hpp"
#include "platform/posix/exception_environment.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace opdump;

namespace {

/// Directories that begin with "bad" cannot be used.
class FakeEnvironment final : public Environment {
 public:
  explicit FakeEnvironment(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {}
  const char* variable(const char* name) override {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second.c_str();
  }
  bool usable(std::string_view directory) override { return !directory.starts_with("bad"); }

 private:
  std::map<std::string, std::string> variables_;
};

/// "dump:asked_by:directory:directory_by", and the ignored variables after blanks.
std::string planned(std::map<std::string, std::string> variables, const DumpConfig& config = {}) {
  FakeEnvironment environment(std::move(variables));
  const ExceptionPlan plan = plan_exceptions(config, environment);
  const std::string names[] = {"none", "brief", "norm", "detail"};
  std::string text = names[static_cast<std::size_t>(plan.dump)];
  for (const std::string_view part : {plan.asked_by, plan.directory, plan.directory_by})
    text.append(":").append(part);
  for (std::size_t i = 0; i < plan.ignored_count; ++i) text.append(" ").append(plan.ignored[i]);
  return text;
}

}  // namespace

TEST_CASE("exception dump: a scene from the environment, the config, or neither") {
  CHECK(planned({}) == "none:::");
  CHECK(planned({{"ASCEND_DUMP_PATH", "d"}, {"ASCEND_WORK_PATH", "w"}}) == "none:::");
  CHECK(planned({{"ASCEND_DUMP_SCENE", "aic_err_brief_dump"}}) ==
        "brief:ASCEND_DUMP_SCENE:./:the current directory");
  CHECK(planned({{"ASCEND_DUMP_SCENE", "aic_err_norm_dump"}}).starts_with("norm:ASCEND_DUMP_SCENE"));
  CHECK(planned({{"ASCEND_DUMP_SCENE", "aic_err_detail_dump"}}).starts_with("detail:ASCEND_DUMP_SCENE"));
  for (const char* unknown : {"lite_exception", "watcher", "AIC_ERR_NORM_DUMP", "x"})
    CHECK(planned({{"ASCEND_DUMP_SCENE", unknown}}) == "none::: ASCEND_DUMP_SCENE");
  CHECK(planned({}, {.dump_path = "p", .exception = ExceptionDump::detail}) ==
        "detail:dump_scene:p:dump_path");
  // The first one set counts, and that is the environment's.
  CHECK(planned({{"ASCEND_DUMP_SCENE", "aic_err_norm_dump"}},
                {.dump_path = "p", .exception = ExceptionDump::detail}) ==
        "norm:ASCEND_DUMP_SCENE:p:dump_path");
}

TEST_CASE("exception dump: the directory is the first that can be used") {
  const DumpConfig config = {.dump_path = "p", .exception = ExceptionDump::brief};
  CHECK(planned({{"ASCEND_DUMP_PATH", "d"}, {"ASCEND_WORK_PATH", "w"}}, config) ==
        "brief:dump_scene:d:ASCEND_DUMP_PATH");
  CHECK(planned({{"ASCEND_DUMP_PATH", ""}, {"ASCEND_WORK_PATH", "w"}}, config) ==
        "brief:dump_scene:w:ASCEND_WORK_PATH");
  CHECK(planned({{"ASCEND_DUMP_PATH", "bad"}, {"ASCEND_WORK_PATH", "bad2"}}, config) ==
        "brief:dump_scene:p:dump_path ASCEND_DUMP_PATH ASCEND_WORK_PATH");
  CHECK(planned({}, {.exception = ExceptionDump::brief}) == "brief:dump_scene:./:the current directory");
}

TEST_CASE("exception dump: NPU_COLLECT_PATH asks for it where no scene is set") {
  CHECK(planned({{"NPU_COLLECT_PATH", "c"}, {"ASCEND_DUMP_PATH", "d"}}) ==
        "norm:NPU_COLLECT_PATH:c:NPU_COLLECT_PATH");
  CHECK(planned({{"NPU_COLLECT_PATH", "c"}, {"ASCEND_DUMP_SCENE", "aic_err_brief_dump"}}) ==
        "brief:ASCEND_DUMP_SCENE:./:the current directory");
  CHECK(planned({{"NPU_COLLECT_PATH", "bad"}}) == "none::: NPU_COLLECT_PATH");
  CHECK(planned({{"NPU_COLLECT_PATH", "bad"},
                 {"ASCEND_DUMP_SCENE", "x"},
                 {"ASCEND_DUMP_PATH", "bad"},
                 {"ASCEND_WORK_PATH", "bad"}},
                {.exception = ExceptionDump::norm}) ==
        "norm:dump_scene:./:the current directory ASCEND_DUMP_SCENE NPU_COLLECT_PATH ASCEND_DUMP_PATH "
        "ASCEND_WORK_PATH");
}

namespace {

/// What a config becomes, as "dump:directory", and the keys of the notes after blanks.
std::string followed(std::map<std::string, std::string> variables, const char* text) {
  posix::ConfigMemory memory;
  ConfigOutcome outcome;
  REQUIRE(posix::load_config_text(text, "acl.json", memory, outcome, {}, nullptr) == Status::ok);
  outcome.notes.clear();
  {
    FakeEnvironment environment(std::move(variables));
    REQUIRE(posix::follow_environment(environment, memory, outcome) == Status::ok);
  }
  const std::string names[] = {"none", "brief", "norm", "detail"};
  std::string told =
      outcome.config.active ? names[static_cast<std::size_t>(outcome.config.exception)] : "off";
  told.append(":").append(outcome.config.dump_path);
  for (const ConfigNote& note : outcome.notes) {
    told.append(" ").append(note.key);
    CHECK(to_string(note, "acl.json").starts_with("acl.json: note: "));
  }
  return told;
}

constexpr char kBrief[] = R"({"dump": {"dump_scene": "aic_err_brief_dump", "dump_path": "p"}})";

}  // namespace

TEST_CASE("exception dump: the environment's directory goes before the config's") {
  CHECK(followed({}, kBrief) == "brief:p");
  CHECK(followed({}, R"({"dump": {"dump_scene": "lite_exception"}})") == "brief:");
  CHECK(followed({{"ASCEND_WORK_PATH", "w"}}, kBrief) == "brief:w ASCEND_WORK_PATH");
  CHECK(followed({{"ASCEND_WORK_PATH", "w"}, {"ASCEND_DUMP_PATH", "d"}}, kBrief) ==
        "brief:d ASCEND_DUMP_PATH");
  CHECK(followed({{"ASCEND_WORK_PATH", "w"}, {"ASCEND_DUMP_PATH", "bad"}}, kBrief) ==
        "brief:w ASCEND_DUMP_PATH ASCEND_WORK_PATH");
  CHECK(followed({{"ASCEND_DUMP_SCENE", "aic_err_norm_dump"}}, kBrief) == "norm:p ASCEND_DUMP_SCENE");
}

TEST_CASE("exception dump: the environment asks for it where the config asks for nothing") {
  CHECK(followed({{"ASCEND_DUMP_PATH", "d"}}, "{}") == "off:");
  CHECK(followed({{"ASCEND_DUMP_SCENE", "aic_err_detail_dump"}}, "{}") == "detail: ASCEND_DUMP_SCENE");
  CHECK(followed({{"NPU_COLLECT_PATH", "c"}}, "") == "norm:c NPU_COLLECT_PATH NPU_COLLECT_PATH");
}

TEST_CASE("exception dump: no other dump goes where the environment says") {
  for (const char* text : {R"({"dump": {"dump_path": "p", "dump_scene": "watcher", "dump_mode": "output",
                                     "dump_list": [{"layer": ["a"], "watcher_nodes": ["b"]}]}})",
                           R"({"dump": {"dump_path": "p", "dump_debug": "on"}})",
                           R"({"dump": {"dump_path": "p", "dump_list": [{}]}})"}) {
    CHECK(followed({{"ASCEND_DUMP_PATH", "d"}, {"ASCEND_WORK_PATH", "w"}}, text) == "none:p");
    CHECK(followed({{"ASCEND_DUMP_SCENE", "aic_err_norm_dump"}}, text) == "none:p ASCEND_DUMP_SCENE");
  }
  CHECK(followed({{"ASCEND_DUMP_SCENE", "aic_err_norm_dump"}},
                 R"({"dump_config": {"enable_dump": true, "dump_path": "p"}})")
            .starts_with("none:p"));
}

TEST_CASE("exception dump: a directory of the environment is made, or would be") {
  const tests::TemporaryDirectory root;
  const std::string deep = root.text() + "/a/b", file = root.text() + "/file";
  std::ofstream(file) << "x";
  posix::ProcessEnvironment looking(false), making(true);
  CHECK(looking.usable(deep));
  CHECK_FALSE(std::filesystem::exists(root.text() + "/a"));
  CHECK(making.usable(deep));
  CHECK(std::filesystem::is_directory(deep));
  CHECK(looking.usable(deep));
  for (posix::ProcessEnvironment* environment : {&looking, &making}) {
    CHECK_FALSE(environment->usable(file));
    CHECK_FALSE(environment->usable(file + "/below"));
  }
}
