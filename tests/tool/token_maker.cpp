// A program with a language model that attaches: `token_maker CONFIG PROMPT TOKENS [FAULT]` reads a prompt of
// PROMPT tokens in one step, and then token by token up to TOKENS of them. What it computes of a token
// depends on its position alone; from position FAULT on its second operator is off.
#include <cstdlib>
#include <vector>

#include "opdump/attach.hpp"

using namespace opdump::attach;

namespace {

constexpr std::int64_t kWidth = 6, kHeads = 2, kCells = 16;

float value(std::int64_t op, std::int64_t position, std::int64_t at) {
  return static_cast<float>(100 * op + 10 * position + at) + 0.25f;
}

struct Network {
  explicit Network(Dump& dump) : model(dump, "words") {
    embed = model.add_op("embed", "Gather");
    attend = model.add_op("attend", "Attention");
    keep = model.add_op("keep", "Scatter");
    head = model.add_op("head", "MatMul");
    model.describe("maker 1.0");
    model.describe(embed, {}, TensorInfos().add("e", OPDUMP_FLOAT32, {-1, kWidth}).tokens_along(0));
    model.describe(attend, {},
                   TensorInfos().add("a", OPDUMP_FLOAT32, {kHeads, -1, 3}).tokens_along(1).heads_along(0));
    model.describe(keep, {}, TensorInfos().add("k", OPDUMP_FLOAT32, {kCells, kWidth}).cells_along(0));
    model.describe(head, {}, TensorInfos().add("h", OPDUMP_FLOAT32, {-1, kWidth}).tokens_along(0));
  }

  void run(std::int64_t first, std::int64_t count, std::int64_t fault) {
    StepTokens tokens;
    tokens.count = static_cast<std::uint32_t>(count);
    tokens.first = first;
    const auto step = model.step(tokens);
    std::vector<float> e, a, h;
    std::vector<std::int64_t> cells;
    const std::int64_t last = first + count - 1;
    for (std::int64_t position = first; position <= last; ++position) {
      // Cells are given out from the end of the cache.
      cells.push_back(kCells - 1 - position);
      for (std::int64_t i = 0; i < kWidth; ++i) {
        e.push_back(value(1, position, i));
        cache[static_cast<std::size_t>(cells.back() * kWidth + i)] = value(3, position, i);
      }
    }
    for (std::int64_t head_index = 0; head_index < kHeads; ++head_index) {
      for (std::int64_t position = first; position <= last; ++position) {
        for (std::int64_t i = 0; i < 3; ++i)
          a.push_back(value(2, position, 3 * head_index + i) * (position >= fault ? -1.0f : 1.0f));
      }
    }
    for (std::int64_t i = 0; i < kWidth; ++i) h.push_back(value(4, last, i));
    model.capture(embed, {}, Tensors().add(e.data(), OPDUMP_FLOAT32, {count, kWidth}).tokens_along(0));
    model.capture(attend, {},
                  Tensors().add(a.data(), OPDUMP_FLOAT32, {kHeads, count, 3}).tokens_along(1).heads_along(0));
    model.capture(keep, {},
                  Tensors().add(cache.data(), OPDUMP_FLOAT32, {kCells, kWidth}).cells_along(0).rows(cells));
    model.capture(head, {},
                  Tensors().add(h.data(), OPDUMP_FLOAT32, {1, kWidth}).tokens_along(0).rows({count - 1}));
  }

  Model model;
  std::uint32_t embed = 0, attend = 0, keep = 0, head = 0;
  std::vector<float> cache = std::vector<float>(kCells * kWidth);
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const std::int64_t prompt = std::atoi(arguments[2]), tokens = std::atoi(arguments[3]);
  const std::int64_t fault = count > 4 ? std::atoi(arguments[4]) : kCells;
  Dump dump(arguments[1]);
  {
    Network network(dump);
    network.run(0, prompt, fault);
    for (std::int64_t position = prompt; position < tokens; ++position) network.run(position, 1, fault);
  }
  return dump.stop() == OPDUMP_OK ? 0 : 1;
}
