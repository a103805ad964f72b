// Counts what a config takes of the heap while it is read, checked and resolved against a model. Stands alone
// because it replaces the allocation functions.

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "opdump/config/parse.hpp"
#include "opdump/impl/plan/resolve_plan.hpp"
#include "opdump/types/plan.hpp"
#include "tests/support/counted_heap.hpp"

using namespace opdump;
using tests::heap;

namespace {

constexpr std::size_t kOps = 100;

/// An acl.json of about `bytes` bytes.
std::string text_of(std::size_t bytes) {
  const std::string item = R"({"model_name": "resnet50_v1", "layer": ["conv1", "fc"]})";
  std::string text = R"({"dump": {"dump_path": "dump", "dump_step": "0|5-9", "dump_list": [)" + item;
  while (text.size() + item.size() + 5 <= bytes) text += ", " + item;
  return text + "]}}";
}

/// False, said on stdout, when reading `text` takes more than `limit` bytes or leaves any behind.
bool check(const std::string& text, std::size_t limit) {
  std::vector<std::byte> memory(config_memory_bytes(text.size()));
  const std::vector<OpDesc> ops(kOps, OpDesc{.name = "conv1", .type = "Conv2D"});
  const ModelDesc model = {.name = "resnet50_v1", .ops = ops};
  std::uint8_t bits[kOps];
  const std::size_t before = heap.held;
  heap.most_held = heap.held;
  bool good = true;
  {
    Arena arena(memory);
    ConfigOutcome outcome;
    ModelPlan plan;
    good = parse_config({text, arena}, outcome) == Status::ok &&
           resolve_plan(outcome.config, model, bits, plan) == Status::ok && plan.matched_ops == kOps;
  }
  const std::size_t peak = heap.most_held - before;
  std::printf("a config of %zu bytes takes %zu bytes of heap, %zu allowed, and leaves %zu\n", text.size(),
              peak, limit, heap.held - before);
  return good && peak <= limit && heap.held == before;
}

}  // namespace

int main() {
  // simdjson keeps what it has found out about the processor: 168 bytes once per process.
  Arena none({});
  ConfigOutcome outcome;
  if (parse_config({"{}", none}, outcome) != Status::ok) return 1;

  const std::string small = text_of(1024);
  const std::string large = text_of(16 * 1024);
  const bool good = check(small, 24 * 1024);
  return check(large, 5 * large.size()) && good ? 0 : 1;
}
