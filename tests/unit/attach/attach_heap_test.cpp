// Counts what a program that attaches takes of the heap in its steps: nothing while the dump is off, and
// nothing once each operator has been captured. Stands alone because it replaces the allocation functions.

#include <stdlib.h>

#include <cstdio>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"
#include "tests/support/counted_heap.hpp"

using namespace opdump;
using opdump::attach::Tensors;
using tests::heap;

namespace {

/// Bytes that `steps` steps ask for.
std::size_t run(attach::Model& model, attach::DynamicModel& dynamic, const Tensors& tensors, int steps) {
  const std::size_t before = heap.asked;
  for (int i = 0; i < steps; ++i) {
    const auto step = model.step();
    const auto other = dynamic.step();
    for (std::uint32_t op = 0; op < 4; ++op) {
      if (model.wants(op)) model.capture(op, tensors, tensors);
      const std::uint32_t seen = dynamic.see("operator with a name that no short string holds", "MatMul");
      if (seen != attach::kNoOp) dynamic.capture(seen, tensors, tensors);
    }
  }
  return heap.asked - before;
}

/// False, said on stdout, unless steps with `config` (null: off) ask for nothing after the first one.
bool check(const char* what, const char* config, const opdump_attach_options& options) {
  attach::Dump dump(config, options);
  attach::Model model(dump, "net", 0);
  attach::DynamicModel dynamic(dump, "dynamic", 1);
  for (const char* name : {"a", "b", "c", "d"}) model.add_op(name, "Relu");
  const std::vector<float> values(100, 1.0f);
  Tensors tensors;
  tensors.add(values.data(), OPDUMP_FLOAT32, {5, 5}).strides({40, 4});
  const std::size_t wanted = model.wanted_ops().size();
  const std::size_t first = run(model, dynamic, tensors, 1);
  const std::size_t later = run(model, dynamic, tensors, 100);
  std::printf("%s: %zu operators to tap, %zu bytes in the first step, %zu in 100 more\n", what, wanted, first,
              later);
  return config == nullptr ? wanted + first + later == 0 : wanted == 4 && later == 0;
}

}  // namespace

int main() {
  unsetenv("OPDUMP_CONFIG");
  tests::AttachRun asked(R"("dump_mode": "all", "dump_list": [{}])");
  const bool off = check("off", nullptr, asked.options());
  const bool on = check("on", asked.config().c_str(), asked.options());
  return off && on && asked.records().size() == 2 * 4 * 101 ? 0 : 1;
}
