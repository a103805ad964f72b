// A program outside opdump, in C++17: attaches a runtime of one operator.

#include <opdump/attach.hpp>

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  opdump::attach::Dump dump(arguments[1]);
  opdump::attach::Model model(dump, "net");
  const auto op = model.add_op("double", "Mul");
  const std::vector<int> dims = {2, 2};
  for (float x = 0; x < 3; ++x) {
    const auto step = model.step();
    const float output[] = {x, 2 * x, 3 * x, 4 * x};
    if (model.wants(op)) model.capture(op, {}, opdump::attach::Tensors().add(output, OPDUMP_FLOAT32, dims));
  }
  const bool whole = dump.stop() == OPDUMP_OK;
  std::printf("%u records%s\n", static_cast<unsigned>(dump.records().written), whole ? "" : ", some lost");
  return whole ? 0 : 1;
}
