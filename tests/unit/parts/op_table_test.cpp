#include <doctest/doctest.h>

#include <string>

#include "opdump/parts/op_table.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

TEST_CASE("op table: names that repeat get numbers while there is room for them") {
  OpTable<6, 12> table;
  CHECK(table.add("conv", "Conv2D").value() == 0);
  CHECK(table.add("conv#2", "Conv2D").value() == 1);
  CHECK(table.add("conv", "Conv2D").value() == 2);
  CHECK(table[2].name == "conv#3");
  REQUIRE(table[2].original_names.size() == 1);
  CHECK(table[2].original_names[0] == "conv");
  CHECK(table[0].original_names.empty());
  CHECK(table.add("conv", "Conv2D").value() == 3);
  CHECK(table[3].name == "conv#4");
  CHECK(table.add("conv", "Conv2D").status() == Status::name_too_long);
  CHECK(table[4].name == "conv");
  CHECK(table.find("conv#4") == 3);
  CHECK(table.find("absent") == table.size());
  CHECK(table.add("relu", "Relu").value() == 5);
  CHECK(table.add("more", "Relu").status() == Status::no_memory);
  CHECK(table.size() == 6);
}

TEST_CASE("op table: without room for names those that repeat stay as they are") {
  OpTable<2> table;
  CHECK(table.add("conv", "Conv2D").ok());
  CHECK(table.add("conv", "Conv2D").ok());
  CHECK(table[1].name == "conv");
}

TEST_CASE("op table: a model is loaded, captured and unloaded without a heap") {
  constexpr std::string_view kWanted[] = {"b"};
  const ModelRule rules[] = {{.model_name = "net", .all_layers = false, .layers = kWanted}};
  DumpConfig config{.active = true, .dump_path = "/dump", .models = rules};
  Bench bench;
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(config) == Status::ok);
  OpTable<4> table;
  CHECK(table.add("a", "Relu").ok());
  CHECK(table.add("b", "Relu").ok());
  CHECK(!table.ever_wants(1));
  REQUIRE(table.load(bench.session, "net", 3) == Status::ok);
  CHECK(table.load(bench.session, "net", 3) == Status::model_already_loaded);
  CHECK(table.add("late", "Relu").status() == Status::model_already_loaded);
  CHECK(!table.ever_wants(0));
  CHECK(table.ever_wants(1));
  CHECK(!table.ever_wants(99));

  const int dims[] = {2, 3, 1};
  const float values[6] = {1, 2, 3, 4, 5, 6};
  TensorTable<2, 4> tensors;
  CHECK(tensors.add(address_of(values), sizeof values, DType::float32, dims, 2) == Status::ok);
  CHECK(tensors.add(address_of(values), sizeof values, DType::float32, dims, 3) == Status::too_many_dims);
  CHECK(tensors.add(address_of(values), sizeof values, DType::float32, dims, 2) == Status::ok);
  CHECK(tensors.add(address_of(values), sizeof values, DType::float32, dims, 0) == Status::too_many_tensors);
  CHECK(tensors.views().size() == 2);
  CHECK(tensors.views()[1].shape[1] == 3);
  tensors.clear();
  CHECK(tensors.add(address_of(values), sizeof values, DType::float32, dims, 2) == Status::ok);

  REQUIRE(bench.recorder.begin_step(table.plan()) == Status::ok);
  CHECK(bench.recorder.capture(1, {}, tensors.views()) == Status::ok);
  CHECK(bench.recorder.end_step() == Status::ok);
  CHECK(table.unload(bench.session) == Status::ok);
  CHECK(table.add("late", "Relu").ok());
  CHECK(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 1);

  const int negative[] = {-1};
  tensors.clear();
  CHECK(tensors.add(address_of(values), 4, DType::float32, negative, 1) == Status::ok);
  CHECK(!packed_bytes(DType::float32, tensors.views()[0].shape).ok());
}
