#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "opdump/exception_dump.hpp"

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
