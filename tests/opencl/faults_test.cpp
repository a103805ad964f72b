#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "dump.hpp"
#include "rig.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// The driver, of whose calls the n-th fails.
struct Failing {
  int calls = 0;
  int fail_at = -1;

  bool next() { return calls++ == fail_at; }
};
Failing failing;
OpenclApi working;

void make_failing(OpenclApi& api) {
  REQUIRE(api.load() == Status::ok);
  if (!working.loaded()) REQUIRE(working.load() == Status::ok);
  api.enqueue_read_buffer = [](cl_command_queue queue, cl_mem buffer, cl_bool blocking, std::size_t offset,
                               std::size_t bytes, void* to, cl_uint waits, const cl_event* wait_list,
                               cl_event* event) -> cl_int {
    if (failing.next()) return CL_OUT_OF_RESOURCES;
    return working.enqueue_read_buffer(queue, buffer, blocking, offset, bytes, to, waits, wait_list, event);
  };
  api.enqueue_map_buffer = [](cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                              std::size_t offset, std::size_t bytes, cl_uint waits, const cl_event* wait_list,
                              cl_event* event, cl_int* error) -> void* {
    if (failing.next()) {
      *error = CL_MAP_FAILURE;
      return nullptr;
    }
    return working.enqueue_map_buffer(queue, buffer, blocking, flags, offset, bytes, waits, wait_list, event,
                                      error);
  };
  api.enqueue_unmap = [](cl_command_queue queue, cl_mem buffer, void* mapped, cl_uint waits,
                         const cl_event* wait_list, cl_event* event) -> cl_int {
    const cl_int error = working.enqueue_unmap(queue, buffer, mapped, waits, wait_list, event);
    return failing.next() ? CL_OUT_OF_HOST_MEMORY : error;
  };
  api.enqueue_barrier = [](cl_command_queue queue, cl_uint waits, const cl_event* wait_list,
                           cl_event* event) -> cl_int {
    if (failing.next()) return CL_OUT_OF_RESOURCES;
    return working.enqueue_barrier(queue, waits, wait_list, event);
  };
  api.get_event_info = [](cl_event event, cl_event_info what, std::size_t bytes, void* to,
                          std::size_t* size) -> cl_int {
    const cl_int error = working.get_event_info(event, what, bytes, to, size);
    // The command itself fails, once it is over: bytes still on their way would be another's.
    cl_int& state = *static_cast<cl_int*>(to);
    if (error == CL_SUCCESS && state == CL_COMPLETE && failing.next())
      state = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return error;
  };
}

}  // namespace

TEST_CASE("opencl: any call of the driver that fails loses its record alone, counted, and keeps the code") {
  const std::vector<std::byte> content(20'000, std::byte{0x5a});
  const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  const Dim dims[] = {content.size()};
  for (const OpenclReading reading : {OpenclReading::read, OpenclReading::map}) {
    CAPTURE(static_cast<int>(reading));
    const Device device(all_devices().back(), true);
    const Buffer buffer = device.make_buffer(content.data(), content.size());
    int lost = 0;
    bool every_call_reached = false;
    for (int fail_at = 0; !every_call_reached; ++fail_at) {
      CAPTURE(fail_at);
      failing = {.calls = 0, .fail_at = fail_at};
      OpenclApi api;
      make_failing(api);
      OpenclMemory<> memory(api);
      REQUIRE(memory.open(device.queue(), 0, reading) == Status::ok);
      const TensorView tensor = {.address = memory.add(buffer.get()).value(),
                                 .bytes = content.size(),
                                 .dtype = DType::uint8,
                                 .shape = dims};
      Dump<OpenclMemory<>> dump(memory);
      dump.start(model);
      int refused = 0;
      for (int step = 0; step < 2; ++step) {
        REQUIRE(dump.recorder.begin_step(dump.plan) == Status::ok);
        refused += dump.recorder.capture(0, {}, {&tensor, 1}) == Status::ok ? 0 : 1;
        REQUIRE(dump.recorder.end_step() == Status::ok);
      }
      REQUIRE(dump.session.finalize() == Status::ok);
      every_call_reached = failing.calls <= fail_at;
      const std::size_t wanted = every_call_reached ? 2 : 1;
      CHECK(refused == (every_call_reached ? 0 : 1));
      CHECK(dump.sink.objects.size() == wanted);
      CHECK(dump.sink.open_objects.empty());
      CHECK(dump.session.counts().lost() == 2 - wanted);
      CHECK((memory.driver_error().code < 0) == !every_call_reached);
      for (const auto& [name, bytes] : dump.sink.objects)
        CHECK(std::memcmp(bytes.data() + bytes.size() - content.size(), content.data(), content.size()) == 0);
      lost += every_call_reached ? 0 : 1;
    }
    CHECK(lost > 20);
  }
}
