#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;

namespace {

std::vector<float> counted(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A run whose config has these rules for tokens.
struct TokenRun : AttachRun {
  explicit TokenRun(const std::string& rules,
                    const std::string& dump = R"("dump_mode": "all", "dump_list": [{}])")
      : AttachRun(dump, R"("when_full": "block", "block_limit_ms": 60000, "tokens": )" + rules) {}

  std::string table(const std::string& name = "opdump.0.0.tokens") const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dump_path())) {
      if (entry.path().filename() == name) return read_file(entry.path());
    }
    return {};
  }
};

/// A model of one operator that makes one tensor.
struct OneOp {
  explicit OneOp(TokenRun& run) : dump(run.config().c_str(), run.options()), model(dump, "net") {
    op = model.add_op("a", "Op");
  }

  void step(const attach::StepTokens& tokens, const Tensors& tensors) {
    const auto step = model.step(tokens);
    if (model.wants(op)) model.capture(op, {}, tensors);
  }

  attach::Dump dump;
  attach::Model model;
  std::uint32_t op = 0;
};

constexpr attach::StepTokens kPrompt = {.count = 4};

constexpr attach::StepTokens token_at(std::int64_t position) {
  return {.count = 1, .first = position};
}

}  // namespace

TEST_CASE("attach tokens: of a prompt the last row moves, and the table tells which") {
  TokenRun run(R"({"rows": "last"})");
  OneOp net(run);
  const std::vector<float> rows = counted(12);
  net.step(kPrompt, Tensors().add(rows.data(), OPDUMP_FLOAT32, {4, 3}).tokens_along(0));
  net.step(token_at(4), Tensors().add(rows.data(), OPDUMP_FLOAT32, {1, 3}).tokens_along(0));
  CHECK(net.dump.stop() == OPDUMP_OK);
  const auto records = run.records();
  CHECK(ends_with(records.at("0/Op.a"), std::vector<float>{9, 10, 11}));
  CHECK(ends_with(records.at("1/Op.a"), std::vector<float>{0, 1, 2}));
  CHECK(records.at("0/Op.a").size() == records.at("1/Op.a").size());
  CHECK(run.table() ==
        "{\"opdump_tokens\": 1, \"device\": 0, \"id\": 0, \"model\": \"net\"}\n"
        "{\"step\": 0, \"phase\": \"prefill\", \"positions\": \"0-3\", \"kept\": \"3\"}\n"
        "{\"step\": 0, \"op\": \"a\", \"tensors\": [{\"output\": 0, \"axis\": 0, \"of\": 4}]}\n"
        "{\"step\": 1, \"phase\": \"decode\", \"positions\": \"4\", \"kept\": \"4\"}\n"
        "{\"step\": 1, \"op\": \"a\", \"tensors\": [{\"output\": 0, \"axis\": 0, \"of\": 1}]}\n");
}

TEST_CASE("attach tokens: a step of which no token is chosen is passed over, and not missed") {
  TokenRun run(R"({"phase": "decode", "positions": "5-9|12", "every": 3})",
               R"("dump_step": "0-10", "dump_list": [{}])");
  OneOp net(run);
  const std::vector<float> row = counted(3);
  net.step(kPrompt, Tensors().add(counted(12).data(), OPDUMP_FLOAT32, {4, 3}).tokens_along(0));
  for (int position = 4; position < 14; ++position)
    net.step(token_at(position), Tensors().add(row.data(), OPDUMP_FLOAT32, {3}));
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(keys(run.records()) == std::vector<std::string>{"3/Op.a", "6/Op.a", "9/Op.a"});
  CHECK(run.journal().find("never") == std::string::npos);
  CHECK(run.told("never captured") == 0);
}

TEST_CASE("attach tokens: prompts and single tokens have rules of their own") {
  TokenRun run(R"([{"phase": "prefill", "rows": "1-2"}, {"phase": "decode", "every": 2}])");
  OneOp net(run);
  const std::vector<float> rows = counted(12);
  net.step(kPrompt, Tensors().add(rows.data(), OPDUMP_FLOAT32, {4, 3}).tokens_along(0));
  for (int position : {4, 5, 6})
    net.step(token_at(position), Tensors().add(rows.data(), OPDUMP_FLOAT32, {3}));
  // Of one token, and yet a prompt.
  net.step({.count = 1, .first = 7, .phase = OPDUMP_PREFILL},
           Tensors().add(rows.data(), OPDUMP_FLOAT32, {1, 3}).tokens_along(0));
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(keys(run.records()) == std::vector<std::string>{"0/Op.a", "1/Op.a", "3/Op.a"});
  CHECK(ends_with(run.records().at("0/Op.a"), std::vector<float>{3, 4, 5, 6, 7, 8}));
  CHECK(run.table().find(R"({"step": 0, "phase": "prefill", "positions": "0-3", "kept": "1-2"})") !=
        std::string::npos);
}

TEST_CASE("attach tokens: rows and heads are cut out of strided tensors, whatever their order") {
  TokenRun run(R"({"rows": "1|3", "heads": [0, 2]})");
  OneOp net(run);
  // [heads 3, tokens 4, 2], with a gap behind each row of two.
  const std::vector<float> values = counted(3 * 4 * 3);
  net.step(kPrompt, Tensors()
                        .add(values.data(), OPDUMP_FLOAT32, {3, 4, 2})
                        .strides({4 * 3 * 4, 3 * 4, 4})
                        .tokens_along(1)
                        .heads_along(0));
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(ends_with(run.records().at("0/Op.a"), std::vector<float>{3, 4, 9, 10, 27, 28, 33, 34}));
  CHECK(run.table().find(
            R"([{"output": 0, "axis": 1, "of": 4, "heads": {"axis": 0, "of": 3, "held": "0|2"}}])") !=
        std::string::npos);
}

TEST_CASE("attach tokens: a tensor that has fewer rows than tokens says which") {
  TokenRun run("{}");
  OneOp net(run);
  const std::vector<float> rows = counted(6);
  net.step(kPrompt, Tensors().add(rows.data(), OPDUMP_FLOAT32, {2, 3}).tokens_along(0).rows({1, 3}));
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(ends_with(run.records().at("0/Op.a"), rows));
  CHECK(run.table().find(R"("axis": 0, "of": 2, "positions": "1|3")") != std::string::npos);
}

TEST_CASE("attach tokens: of a cache only the new cells move, which equal those of the whole cache") {
  const std::vector<std::uint16_t> cache = [] {
    std::vector<std::uint16_t> cells(16 * 4);
    std::iota(cells.begin(), cells.end(), std::uint16_t{100});
    return cells;
  }();
  const auto tensors = [&](std::vector<std::int64_t> filled) {
    return Tensors().add(cache.data(), OPDUMP_FLOAT16, {16, 4}).cells_along(0).rows(filled);
  };
  TokenRun whole(R"({"kv": "all"})"), fresh(R"({"kv": "new", "rows": "2-3"})");
  for (TokenRun* run : {&whole, &fresh}) {
    OneOp net(*run);
    net.step(kPrompt, tensors({7, 3, 9, 10}));
    CHECK(net.dump.stop() == OPDUMP_OK);
  }
  CHECK(ends_with(whole.records().at("0/Op.a"), cache));
  std::vector<std::uint16_t> cells;
  for (const std::size_t cell : {9, 10})
    cells.insert(cells.end(), cache.begin() + static_cast<long>(cell * 4),
                 cache.begin() + static_cast<long>(cell * 4 + 4));
  CHECK(ends_with(fresh.records().at("0/Op.a"), cells));
  CHECK(fresh.records().at("0/Op.a").size() + (cache.size() - 8) * 2 == whole.records().at("0/Op.a").size());
  CHECK(fresh.table().find(R"("axis": 0, "of": 16, "cells": "9-10"})") != std::string::npos);
  CHECK(whole.table().find("axis") == std::string::npos);
}

TEST_CASE("attach tokens: a cache may have several entries for each token") {
  TokenRun run(R"({"kv": "new", "rows": "last"})");
  OneOp net(run);
  const std::vector<float> cache = counted(12);
  net.step({.count = 2},
           Tensors().add(cache.data(), OPDUMP_FLOAT32, {12}).cells_along(0).rows({0, 4, 8, 1, 5, 9}));
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(ends_with(run.records().at("0/Op.a"), std::vector<float>{1, 5, 9}));
  CHECK(run.table().find(R"("axis": 0, "of": 12, "per": 3, "cells": "1|5|9"})") != std::string::npos);
}

TEST_CASE("attach tokens: what the CPU cannot read is read row by row, and nothing else of it") {
  struct Device {
    std::vector<float> values = counted(4 * 4096);
    std::uint64_t bytes = 0;
  } device;
  TokenRun run(R"({"rows": "last"})");
  OneOp net(run);
  const auto read = [](void* context, void* to, std::uint64_t offset, std::size_t bytes) {
    auto& from = *static_cast<Device*>(context);
    std::memcpy(to, reinterpret_cast<const char*>(from.values.data()) + offset, bytes);
    from.bytes += bytes;
    return opdump_status{OPDUMP_OK};
  };
  net.step(kPrompt, Tensors().add(nullptr, OPDUMP_FLOAT32, {4, 4096}).read_by(read, &device).tokens_along(0));
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(ends_with(run.records().at("0/Op.a"), counted(4096, 3 * 4096)));
  CHECK(device.bytes == 4096 * 4);
}

TEST_CASE("attach tokens: what is beyond max_bytes_per_token is lost, counted and named") {
  TokenRun run(R"({"max_bytes_per_token": 64})");
  attach::Dump dump(run.config().c_str(), run.options());
  attach::Model model(dump, "net");
  std::vector<std::uint32_t> ops;
  for (const char* name : {"a", "b", "c"}) ops.push_back(model.add_op(name, "Op"));
  const std::vector<float> values = counted(64);
  const auto run_step = [&](const attach::StepTokens& tokens, std::int64_t width) {
    const auto step = model.step(tokens);
    for (const std::uint32_t op : ops)
      model.capture(op, {},
                    Tensors().add(values.data(), OPDUMP_FLOAT32, {tokens.count, width}).tokens_along(0));
  };
  run_step({.count = 2}, 8);  // 64 bytes each, of 128
  run_step(token_at(2), 16);  // 64 bytes each, of 64
  run_step(token_at(3), 4);   // 16 bytes each
  CHECK(dump.stop() != OPDUMP_OK);
  CHECK(keys(run.records()) ==
        std::vector<std::string>{"0/Op.a", "0/Op.b", "1/Op.a", "2/Op.a", "2/Op.b", "2/Op.c"});
  CHECK(dump.records().invalid == 3);
  CHECK(dump.records().written == 6);
  CHECK(run.table().find(R"({"step": 0, "op": "c", "lost": "max_bytes_per_token", "bytes": 64})") !=
        std::string::npos);
  CHECK(run.told("step 0 has used up 128 bytes, as opdump.tokens.max_bytes_per_token allows for 2 of its "
                 "tokens: operator \"c\" with 64 bytes is lost") == 1);
}

TEST_CASE("attach tokens: a program that tells none, or wrong ones, is told so and goes on") {
  TokenRun run("{}");
  OneOp net(run);
  const std::vector<float> row = counted(3);
  const auto captured = [&](const attach::StepTokens* tokens) {
    const auto step = tokens == nullptr ? net.model.step() : net.model.step(*tokens);
    return net.model.wants(net.op);
  };
  const std::int64_t before[] = {-1};
  CHECK_FALSE(captured(nullptr));
  for (const attach::StepTokens& wrong : {attach::StepTokens{},
                                          {.count = 1, .first = -1},
                                          {.count = 1, .positions = before},
                                          {.count = 1, .phase = 3},
                                          {.count = UINT32_MAX},
                                          {.count = 2, .first = INT64_MAX}})
    CHECK_FALSE(captured(&wrong));
  const attach::StepTokens right = token_at(9);
  CHECK(captured(&right));
  CHECK(net.dump.counts().failed_calls == 7);
  CHECK(run.told("refused: the tokens of a step of model \"net\", by which opdump.tokens takes it") == 2);
}

TEST_CASE("attach tokens: axes that a tensor has not lose its record") {
  TokenRun run(R"({"kv": "new", "heads": [0]})");
  OneOp net(run);
  const std::vector<float> values = counted(16);
  const auto lose = [&](const Tensors& tensors) {
    const std::uint64_t before = net.dump.counts().failed_calls;
    net.step(kPrompt, tensors);
    CHECK(net.dump.counts().failed_calls == before + 1);
  };
  const auto tensor = [&] { return Tensors().add(values.data(), OPDUMP_FLOAT32, {4, 4}); };
  lose(tensor().tokens_along(2));
  lose(tensor().heads_along(2));
  lose(tensor().cells_along(2));
  lose(tensor().tokens_along(0).cells_along(1));
  lose(tensor().tokens_along(0).heads_along(0));
  lose(tensor().tokens_along(0).rows({0, 1, 2}));
  lose(tensor().tokens_along(0).rows({0, 1, 2, 4}));
  lose(tensor().cells_along(0));
  lose(tensor().cells_along(0).rows({0, 1, 2}));
  lose(tensor().cells_along(0).rows({0, 1, 2, 4}));
  lose(tensor().cells_along(0).rows({0, 1, 2, -1}));
  CHECK(net.dump.stop() != OPDUMP_OK);
  CHECK(run.records().empty());
  CHECK(net.dump.records().invalid == 11);
}

TEST_CASE("attach tokens: without a rule tokens and axes make no difference") {
  AttachRun run;
  const std::vector<float> rows = counted(12);
  attach::Dump dump(run.config().c_str(), run.options());
  CHECK_FALSE(dump.asks_tokens());
  attach::Model model(dump, "net");
  const std::uint32_t op = model.add_op("a", "Op");
  {
    const auto step = model.step(kPrompt);
    model.capture(op, {}, Tensors().add(rows.data(), OPDUMP_FLOAT32, {4, 3}).tokens_along(7).heads_along(9));
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(ends_with(run.records().at("0/Op.a"), rows));
  CHECK(run.records().size() == 1);
}

TEST_CASE("attach tokens: a program that was built before knows no axes, and its tensors stay whole") {
  TokenRun run(R"({"rows": "last"})");
  OneOp net(run);
  const std::vector<float> rows = counted(12);
  const std::int64_t dims[] = {4, 3};
  constexpr std::size_t kBefore = offsetof(opdump_attach_tensor, rows);
  alignas(8) unsigned char old[kBefore];
  opdump_attach_tensor tensor{};
  tensor.struct_bytes = kBefore;
  tensor.data = rows.data();
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.rank = 2;
  tensor.dims = dims;
  std::memcpy(old, &tensor, kBefore);
  {
    const auto step = net.model.step(kPrompt);
    CHECK(opdump_attach_capture(net.model.handle(), net.op, nullptr, 0,
                                reinterpret_cast<const opdump_attach_tensor*>(old), 1) == OPDUMP_OK);
  }
  CHECK(net.dump.stop() == OPDUMP_OK);
  CHECK(ends_with(run.records().at("0/Op.a"), rows));
}

TEST_CASE("attach tokens: another load of a model has a table of its own") {
  TokenRun run("{}");
  attach::Dump dump(run.config().c_str(), run.options());
  const std::vector<float> row = counted(3);
  for (int load = 0; load < 2; ++load) {
    attach::Model model(dump, "net");
    const std::uint32_t op = model.add_op("a", "Op");
    const auto step = model.step(token_at(5 + load));
    model.capture(op, {}, Tensors().add(row.data(), OPDUMP_FLOAT32, {3}));
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(run.table().find("\"kept\": \"5\"") != std::string::npos);
  CHECK(run.table("opdump.0.0.2.tokens").find("\"kept\": \"6\"") != std::string::npos);
}
