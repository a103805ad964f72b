// What it takes to read a config, check it and resolve it against a model, beside nlohmann::json, which only
// parses the text. Times are those of one thread, the least of many runs, so that other load counts little.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "opdump/config/parse.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/plan.hpp"
#include "timing.hpp"
#include "turns.hpp"

#if OPDUMP_BENCH_NLOHMANN
#include <nlohmann/json.hpp>
#endif

namespace {

using namespace opdump;
using namespace opdump::bench;

struct Row {
  std::size_t bytes;
  bool long_names;
  double goal;  ///< of the ratio, at most
};

std::string op_name(const Row& row, std::size_t op) {
  return row.long_names ? "features/block" + std::to_string(op) + "/conv_relu" : "conv" + std::to_string(op);
}

/// An acl.json of about so many bytes, which names operators of models.
std::string acl_json(const Row& row) {
  std::string text = R"({
  "dump": {
    "dump_path": "/data/dump",
    "dump_mode": "all",
    "dump_level": "op",
    "dump_step": "0|5-9|100-120",
    "dump_list": [)";
  constexpr std::string_view kEnd = "\n    ]\n  }\n}\n";
  constexpr std::size_t kItem = 100;
  for (std::size_t model = 0; text.size() + kEnd.size() + kItem < row.bytes; ++model) {
    text += (model == 0 ? "" : ",");
    text += "\n      {\"model_name\": \"model" + std::to_string(model) + "\", \"layer\": [";
    for (std::size_t op = 0; op < 16 && text.size() + kEnd.size() < row.bytes; ++op)
      text += (op == 0 ? "\"" : ", \"") + op_name(row, op) + '"';
    text += "]}";
  }
  return text.append(kEnd);
}

/// The least time of a call in each of several turns, in nanoseconds.
template <class Call>
std::vector<double> least_ns(Call call) {
  constexpr int kTurns = 5;
  constexpr int kCalls = 80;
  std::vector<double> turns;
  for (int turn = 0; turn < kTurns; ++turn) {
    double least = 1e18;
    for (int i = 0; i < kCalls; ++i) {
      const double start = nanoseconds_now();
      call();
      least = std::min(least, nanoseconds_now() - start);
    }
    turns.push_back(least);
  }
  return turns;
}

double least(const std::vector<double>& turns) {
  return *std::min_element(turns.begin(), turns.end());
}

void check(bool good) {
  if (good) return;
  std::fputs("config_bench: the config was not read as it should be\n", stderr);
  std::exit(1);
}

void measure(const Row& row) {
  const std::string text = acl_json(row);
  std::vector<std::string> names;
  std::vector<OpDesc> ops;
  for (std::size_t i = 0; i < 100; ++i) names.push_back(op_name(row, i));
  for (const std::string& name : names) ops.push_back({.name = name, .type = "Conv2D"});
  const ModelDesc model = {.name = "model0", .id = 1, .ops = ops};
  std::vector<std::byte> memory(config_memory_bytes(text.size()));
  std::vector<std::uint8_t> bits(ops.size());
  const std::vector<double> ours = least_ns([&] {
    Arena arena(memory);
    ConfigOutcome outcome;
    ModelPlan plan;
    check(parse_config({text, arena}, outcome) == Status::ok);
    check(resolve_plan(outcome.config, model, bits, plan) == Status::ok && plan.matched_ops != 0);
  });
  std::printf("%10zu  %5s  %14.1f", text.size(), row.long_names ? "long" : "short", least(ours) / 1000);
#if OPDUMP_BENCH_NLOHMANN
  const std::vector<double> theirs = least_ns([&] {
    const nlohmann::json json = nlohmann::json::parse(text);
    check(json.contains("dump"));
  });
  std::printf("  %14.1f  %8.2f  %8.2f\n", least(theirs) / 1000, least(ours) / least(theirs), row.goal);
#else
  std::printf("  %14s  %8s  %8.2f\n", "-", "-", row.goal);
#endif
}

}  // namespace

int main() {
  pin_to(0);
  std::puts("an acl.json read, checked and resolved against a model of 100 operators, beside a mere parse");
  std::printf("%10s  %5s  %14s  %14s  %8s  %8s\n", "bytes", "names", "opdump, us", "nlohmann, us", "ratio",
              "goal");
  for (const bool long_names : {true, false}) {
    measure({1024, long_names, 2});
    measure({16 * 1024, long_names, 1.0 / 3});
    measure({256 * 1024, long_names, 1.0 / 3});
  }
  return 0;
}
