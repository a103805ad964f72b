#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "opdump/parts/statistics.hpp"
#include "rig.hpp"
#include "tests/support/waiting.hpp"

using namespace opdump;
using namespace opdump::tests;

static_assert(AsyncMemory<OpenclMemory<>> && FencedMemory<OpenclMemory<>> &&
              IdentifiedMemory<OpenclMemory<>>);
static_assert(ExplainingMemory<OpenclMemory<>> && MappingMemory<OpenclMemory<>> &&
              StatisticsMemory<OpenclMemory<>>);

namespace {

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(i * 7 >> (i % 5));
  return content;
}

/// Every device, read in every way.
template <class Body>
void on_every_device(Body body) {
  for (const cl_device_id id : all_devices()) {
    CAPTURE(name_of(id));
    for (const OpenclReading reading : {OpenclReading::read, OpenclReading::map}) {
      CAPTURE(static_cast<int>(reading));
      const Device device(id);
      OpenclMemory<> memory(loaded_api());
      REQUIRE(memory.open(device.queue(), 0, reading) == Status::ok);
      body(device, memory);
    }
  }
}

cl_int slow_fill_source(const Device& device, cl_kernel* kernel,
                        Owned<cl_program, clReleaseProgram>& program) {
  // Work that takes long enough for a read without order to come first.
  const char* source =
      "kernel void fill(global uint *out, uint rounds) {"
      "  uint value = 1;"
      "  for (uint i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;"
      "  out[get_global_id(0)] = value;"
      "}";
  cl_int error = CL_SUCCESS;
  program = Owned<cl_program, clReleaseProgram>(
      clCreateProgramWithSource(device.context(), 1, &source, nullptr, &error));
  const cl_device_id id = device.id();
  if (error == CL_SUCCESS) error = clBuildProgram(program.get(), 1, &id, "", nullptr, nullptr);
  if (error == CL_SUCCESS) *kernel = clCreateKernel(program.get(), "fill", &error);
  return error;
}

std::uint32_t filled(std::uint32_t rounds) {
  std::uint32_t value = 1;
  for (std::uint32_t i = 0; i < rounds; ++i) value = value * 1664525U + 1013904223U;
  return value;
}

}  // namespace

TEST_CASE("opencl: a loader that is not there, or is none, is named") {
  OpenclApi absent;
  CHECK(absent.load("libno-such-opencl.so.1") == Status::library_missing);
  CHECK(std::string(absent.missing()) == "libno-such-opencl.so.1");
  CHECK_FALSE(absent.loaded());
  OpenclApi other;
  CHECK(other.load("libm.so.6") == Status::symbol_missing);
  CHECK(std::string(other.missing()) == "clBuildProgram");
  CHECK_FALSE(other.loaded());
  CHECK(other.load() == Status::ok);
  CHECK(other.missing() == nullptr);
  CHECK(other.load() == Status::already_initialised);
}

TEST_CASE("opencl: buffers, sub-buffers and offsets") {
  on_every_device([](const Device& device, OpenclMemory<>& memory) {
    const std::vector<std::byte> content = numbered(100'000);
    const Buffer buffer = device.make_buffer(content.data(), content.size());
    const cl_buffer_region region = {4096, 5000};
    cl_int error = CL_SUCCESS;
    const Buffer part(
        clCreateSubBuffer(buffer.get(), CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
    REQUIRE(error == CL_SUCCESS);
    const Address whole = memory.add(buffer.get()).value();
    const Address sub = memory.add(part.get()).value();
    std::vector<std::byte> to(content.size());
    REQUIRE(memory.copy(to.data(), whole, to.size()) == Status::ok);
    CHECK(to == content);
    for (const std::size_t offset : std::initializer_list<std::size_t>{1, 3, 64, 4095, 99'999}) {
      to[0] = std::byte{0};
      REQUIRE(memory.copy(to.data(), whole + offset, 1) == Status::ok);
      CHECK(to[0] == content[offset]);
    }
    REQUIRE(memory.copy(to.data(), sub + 100, 4900) == Status::ok);
    CHECK(std::memcmp(to.data(), content.data() + 4196, 4900) == 0);
    CHECK(memory.copy(to.data(), sub, 5001) == Status::not_registered);
    CHECK(memory.copy(to.data(), sub + 5000, 1) == Status::not_registered);
    CHECK(memory.copy(to.data(), whole + 1, content.size()) == Status::not_registered);
    CHECK(memory.copy(to.data(), 0, 1) == Status::not_registered);
    CHECK(memory.copy(to.data(), whole, 0) == Status::ok);
    CHECK(memory.remove(sub + 1) == Status::not_registered);
    CHECK(memory.remove(sub) == Status::ok);
    CHECK(memory.remove(sub) == Status::not_registered);
    CHECK(memory.copy(to.data(), sub, 1) == Status::not_registered);
    // What opdump holds lives on when the runtime lets it go.
    Address last = 0;
    {
      const Buffer gone = device.make_buffer(content.data(), 64);
      last = memory.add(gone.get()).value();
    }
    REQUIRE(memory.copy(to.data(), last, 64) == Status::ok);
    CHECK(std::memcmp(to.data(), content.data(), 64) == 0);
  });
}

TEST_CASE("opencl: what is no object of OpenCL is refused, with the driver's code") {
  const Device device(all_devices().front());
  OpenclMemory<1> memory(loaded_api());
  CHECK(memory.open(nullptr) == Status::driver_failed);
  CHECK(memory.driver_error().code == CL_INVALID_COMMAND_QUEUE);
  CHECK(memory.enable_statistics() == Status::not_initialised);
  REQUIRE(memory.open(device.queue(), 3) == Status::ok);
  CHECK(memory.open(device.queue()) == Status::already_initialised);
  CHECK(memory.device_id() == 3);
  CHECK(memory.add(nullptr).status() == Status::driver_failed);
  CHECK(memory.driver_error().code == CL_INVALID_MEM_OBJECT);
  CHECK(std::string(memory.driver_error().call) == "clGetMemObjectInfo");
  const char byte = 1;
  const Buffer first = device.make_buffer(&byte, 1), second = device.make_buffer(&byte, 1);
  const Address address = memory.add(first.get()).value();
  CHECK(memory.add(second.get()).status() == Status::too_many_objects);
  CHECK(memory.written_by(address + 1, nullptr) == Status::not_registered);
}

TEST_CASE("opencl: a read in the background is over when its event says so") {
  for (const cl_device_id id : all_devices()) {
    CAPTURE(name_of(id));
    const Device device(id);
    OpenclMemory<> memory(loaded_api());
    REQUIRE(memory.open(device.queue(), 0, OpenclReading::read) == Status::ok);
    const std::vector<std::byte> content = numbered(1 << 20);
    const Buffer buffer = device.make_buffer(content.data(), content.size());
    const Address address = memory.add(buffer.get()).value();
    std::vector<std::byte> to(content.size());
    OpenclMemory<>::Copy copies[OpenclMemory<>::kMaxCopies];
    const std::size_t each = content.size() / std::size(copies);
    for (std::size_t i = 0; i < std::size(copies); ++i)
      REQUIRE(memory.start(copies[i], to.data() + i * each, address + i * each, each) == Status::ok);
    for (auto& copy : copies) {
      const Result<bool> over = memory.complete(copy, kWaitLimitMs);
      REQUIRE(over.ok());
      CHECK(over.value());
    }
    CHECK(to == content);
    CHECK(memory.start(copies[0], to.data(), address + content.size(), 1) == Status::not_registered);
  }
}

TEST_CASE("opencl: a read waits for the event that its buffer is written by") {
  // The device that works inside each call cannot wait for an event of the host's there.
  const Device device(all_devices().back(), true);
  OpenclMemory<> memory(loaded_api());
  REQUIRE(memory.open(device.queue(), 0, OpenclReading::read) == Status::ok);
  const std::vector<std::byte> content = numbered(1000);
  const Buffer buffer = device.make_buffer(content.data(), content.size());
  const Address address = memory.add(buffer.get()).value();
  const Event written = device.make_user_event();
  REQUIRE(memory.written_by(address, written.get()) == Status::ok);
  std::vector<std::byte> to(content.size());
  OpenclMemory<>::Copy copy;
  REQUIRE(memory.start(copy, to.data(), address, to.size()) == Status::ok);
  CHECK_FALSE(memory.poll(copy).value());
  CHECK_FALSE(memory.complete(copy, 5).value());
  CHECK(to[999] == std::byte{0});
  std::thread later([&] { REQUIRE(clSetUserEventStatus(written.get(), CL_COMPLETE) == CL_SUCCESS); });
  CHECK(memory.complete(copy, kWaitLimitMs).value());
  later.join();
  CHECK(to == content);
  REQUIRE(memory.written_by(address, nullptr) == Status::ok);
  CHECK(memory.copy(to.data(), address, to.size()) == Status::ok);
}

TEST_CASE("opencl: an operator that does not end costs a read no more than the limit") {
  const Device device(all_devices().back(), true);
  OpenclMemory<> memory(loaded_api());
  REQUIRE(memory.open(device.queue(), 0, OpenclReading::read, 20) == Status::ok);
  std::byte content[8] = {};
  const Buffer buffer = device.make_buffer(content, sizeof content);
  const Address address = memory.add(buffer.get()).value();
  const Event written = device.make_user_event();
  REQUIRE(memory.written_by(address, written.get()) == Status::ok);
  CHECK(memory.copy(content, address, sizeof content) == Status::timeout);
  CHECK(memory.map(address, sizeof content).status() == Status::timeout);
  REQUIRE(clSetUserEventStatus(written.get(), CL_COMPLETE) == CL_SUCCESS);
  CHECK(memory.copy(content, address, sizeof content) == Status::ok);
}

TEST_CASE("opencl: an operator that fails loses the reads that wait for it") {
  for (const OpenclReading reading : {OpenclReading::read, OpenclReading::map}) {
    const Device device(all_devices().back(), true);
    OpenclMemory<> memory(loaded_api());
    REQUIRE(memory.open(device.queue(), 0, reading) == Status::ok);
    const std::vector<std::byte> content = numbered(1000);
    const Buffer buffer = device.make_buffer(content.data(), content.size());
    const Address address = memory.add(buffer.get()).value();
    std::vector<std::byte> to(content.size());
    if (reading == OpenclReading::read) {
      const Event written = device.make_user_event();
      REQUIRE(memory.written_by(address, written.get()) == Status::ok);
      OpenclMemory<>::Copy copy;
      REQUIRE(memory.start(copy, to.data(), address, to.size()) == Status::ok);
      REQUIRE(clSetUserEventStatus(written.get(), -5) == CL_SUCCESS);
      CHECK(memory.complete(copy, kWaitLimitMs).status() == Status::device_copy_failed);
      CHECK(memory.driver_error().code < 0);
    }
    const Event failed = device.make_user_event();
    REQUIRE(clSetUserEventStatus(failed.get(), -5) == CL_SUCCESS);
    REQUIRE(memory.written_by(address, failed.get()) == Status::ok);
    CHECK(memory.copy(to.data(), address, to.size()) == Status::device_copy_failed);
    CHECK(memory.driver_error().code == -5);
    CHECK(std::string(memory.driver_error().call) == "clGetEventInfo");
    OpenclMemory<>::Copy copy;
    if (reading == OpenclReading::read)
      CHECK(memory.start(copy, to.data(), address, to.size()) == Status::device_copy_failed);
    REQUIRE(memory.written_by(address, nullptr) == Status::ok);
    REQUIRE(memory.copy(to.data(), address, to.size()) == Status::ok);
    CHECK(to == content);
  }
}

TEST_CASE("opencl: in an out-of-order queue the fence comes between operator and read") {
  constexpr std::uint32_t kRounds = 20'000'000;
  const std::uint32_t wanted = filled(kRounds);
  for (const cl_device_id id : all_devices()) {
    CAPTURE(name_of(id));
    const Device device(id, true);
    cl_kernel made = nullptr;
    Owned<cl_program, clReleaseProgram> program;
    REQUIRE(slow_fill_source(device, &made, program) == CL_SUCCESS);
    const Owned<cl_kernel, clReleaseKernel> kernel(made);
    const std::uint32_t zero = 0;
    const Buffer buffer = device.make_buffer(&zero, sizeof zero);
    const cl_mem out = buffer.get();
    REQUIRE(clSetKernelArg(kernel.get(), 0, sizeof out, &out) == CL_SUCCESS);
    REQUIRE(clSetKernelArg(kernel.get(), 1, sizeof kRounds, &kRounds) == CL_SUCCESS);
    const std::size_t one = 1;
    const auto fill = [&](cl_command_queue queue, cl_event* event) {
      REQUIRE(clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, nullptr) ==
              CL_SUCCESS);
      REQUIRE(clEnqueueNDRangeKernel(queue, kernel.get(), 1, nullptr, &one, nullptr, 0, nullptr, event) ==
              CL_SUCCESS);
      REQUIRE(clFlush(queue) == CL_SUCCESS);
    };
    for (const OpenclReading reading : {OpenclReading::read, OpenclReading::map}) {
      OpenclMemory<> memory(loaded_api());
      REQUIRE(memory.open(device.queue(), 0, reading) == Status::ok);
      const Address address = memory.add(out).value();
      std::uint32_t value = 0;
      fill(device.queue(), nullptr);
      REQUIRE(memory.fence(0) == Status::ok);
      REQUIRE(memory.copy(reinterpret_cast<std::byte*>(&value), address, sizeof value) == Status::ok);
      CHECK(value == wanted);

      // An operator in another queue is waited for by its event.
      const Queue other = device.make_queue(false);
      Event written;
      fill(other.get(), written.put());
      REQUIRE(memory.written_by(address, written.get()) == Status::ok);
      value = 0;
      REQUIRE(memory.copy(reinterpret_cast<std::byte*>(&value), address, sizeof value) == Status::ok);
      CHECK(value == wanted);
      REQUIRE(memory.written_by(address, nullptr) == Status::ok);
    }
  }
}
