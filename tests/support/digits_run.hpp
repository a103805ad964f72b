#pragma once
#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "examples/digits/network.hpp"
#include "opdump/session.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/mapped_memory.hpp"

namespace opdump::tests {

using DumpFiles = std::map<std::string, std::vector<std::byte>>;

/// Dumps all tensors of `images` runs of the digits network, which lie in `memory`. For each of them
/// `allocate(bytes)` says once where, and `upload(address, data, bytes)` brings what an operator has written
/// there. The clock is a fake, so two runs give the same files if they capture the same bytes.
template <class Memory, class Allocate, class Upload>
DumpFiles dump_digits(Memory& device, std::size_t images, MutableBytes ring, Allocate allocate, Upload upload,
                      std::uint32_t device_id = 0) {
  MappedMemory<Memory> memory(device);
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[4096];
  digits::Network network;
  const std::span<const digits::Op> layers = network.ops();

  struct Place {
    Address logical;
    Address real;
  };
  std::map<const void*, Place> places;
  const auto place = [&](const digits::Tensor& tensor) {
    const auto known = places.find(tensor.data);
    if (known != places.end()) return known->second;
    const Place made = {Address{places.size() + 1} << 32, allocate(tensor.bytes)};
    memory.map(made.logical, made.real, tensor.bytes);
    return places.emplace(tensor.data, made).first->second;
  };
  const auto view = [&](const digits::Tensor& tensor) {
    const bool half = tensor.type == digits::ElementType::kFloat16;
    return TensorView{.address = place(tensor).logical,
                      .bytes = tensor.bytes,
                      .dtype = half ? DType::float16 : DType::float32,
                      .format = tensor.rank == 4 ? Format::nchw : Format::nd,
                      .shape = {tensor.dims, tensor.rank}};
  };
  const auto send = [&](const digits::Tensor& tensor) {
    upload(place(tensor).real, tensor.data, tensor.bytes);
  };

  BasicSession<MappedMemory<Memory>> session({.memory = memory,
                                              .sink = sink,
                                              .clock = clock,
                                              .scratch = scratch,
                                              .device_id = device_id,
                                              .when_full = WhenFull::inline_drain});
  auto& recorder = *session.add_recorder(ring).value();
  OpDesc ops[digits::Network::kOpCount];
  for (std::uint32_t i = 0; i < layers.size(); ++i) ops[i] = {layers[i].name, layers[i].type, i, 0};
  const ModelDesc model = {.name = "digits", .id = 1, .ops = ops};
  const ModelRule rule = {.any_model = true};
  ModelPlanFor<digits::Network::kOpCount> plan;
  REQUIRE(session.init() == Status::ok);
  REQUIRE(
      session.set_config({.active = true, .dump_path = "/d", .mode = DumpMode::all, .models = {&rule, 1}}) ==
      Status::ok);
  REQUIRE(session.load_model(plan, model) == Status::ok);
  for (std::size_t step = 0; step < images; ++step) {
    network.load_image(step);
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      for (const digits::Tensor& input : layers[i].inputs) send(input);
      network.run_op(i);
      send(layers[i].outputs.front());
      const TensorView in[] = {view(layers[i].inputs.front()), view(layers[i].inputs.back())};
      const TensorView out[] = {view(layers[i].outputs.front())};
      REQUIRE(recorder.capture(i, std::span(in).first(layers[i].inputs.size()), out) == Status::ok);
    }
    REQUIRE(recorder.end_step() == Status::ok);
  }
  REQUIRE(session.finalize() == Status::ok);
  REQUIRE(session.counts().written == images * layers.size());
  return sink.objects;
}

}  // namespace opdump::tests
