#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dump.hpp"
#include "examples/digits/images.hpp"
#include "examples/digits/network.hpp"
#include "opdump/session.hpp"
#include "rig.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// Plain memory under the addresses that OpenclMemory gives: what a dump of a device is compared with.
class ShadowMemory final : public DeviceMemory {
 public:
  Address add(const void* bytes, std::size_t size) {
    return table_.add(static_cast<const std::byte*>(bytes), size).value();
  }
  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    const auto place = table_.find(from, bytes);
    if (place.entry == nullptr) return Status::not_registered;
    std::memcpy(to, place.entry->buffer + place.offset, bytes);
    return Status::ok;
  }

 private:
  BufferTable<const std::byte*, 64> table_;
};

// The digits network with all its tensors in one buffer: the network lies in it, is mapped while an operator
// runs, and unmapped when it is captured. Weights are buffers of their own.
class DeviceDigits {
 public:
  explicit DeviceDigits(const Device& device) : device_(device), network_(new digits::Network) {
    cl_int error = CL_SUCCESS;
    activations_ = Buffer(clCreateBuffer(device.context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                         sizeof(digits::Network), network_.get(), &error));
    REQUIRE(error == CL_SUCCESS);
  }

  digits::Network& network() { return *network_; }

  /// Runs `work` with the network where the CPU may use it.
  void on_host(const std::function<void()>& work) {
    cl_int error = CL_SUCCESS;
    void* const mapped =
        clEnqueueMapBuffer(device_.queue(), activations_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                           sizeof(digits::Network), 0, nullptr, nullptr, &error);
    REQUIRE(error == CL_SUCCESS);
    REQUIRE(mapped == network_.get());
    work();
    REQUIRE(clEnqueueUnmapMemObject(device_.queue(), activations_.get(), mapped, 0, nullptr, nullptr) ==
            CL_SUCCESS);
    REQUIRE(clFinish(device_.queue()) == CL_SUCCESS);
  }

  /// The buffers in the order in which tensors come: `add(buffer, its bytes on the host, size)`.
  template <class Add>
  void for_each_buffer(Add add) {
    add(activations_.get(), network_.get(), sizeof(digits::Network));
    for (const digits::Op& op : network_->ops()) {
      for (const digits::Tensor& tensor : op.inputs) {
        if (is_activation(tensor)) continue;
        weights_.push_back(device_.make_buffer(tensor.data, tensor.bytes));
        add(weights_.back().get(), tensor.data, tensor.bytes);
      }
    }
  }

  bool is_activation(const digits::Tensor& tensor) const {
    const std::byte* const at = static_cast<const std::byte*>(tensor.data);
    const std::byte* const start = reinterpret_cast<const std::byte*>(network_.get());
    return at >= start && at < start + sizeof(digits::Network);
  }

 private:
  const Device& device_;
  std::unique_ptr<digits::Network> network_;
  Buffer activations_;
  std::vector<Buffer> weights_;
};

template <class Memory>
std::map<std::string, std::vector<std::byte>> dump_digits(DeviceDigits& digits, Memory& memory,
                                                          Address activations,
                                                          const std::map<const void*, Address>& weights,
                                                          std::size_t steps, std::size_t& right) {
  Dump<Memory> dump(memory);
  const std::span<const digits::Op> layers = digits.network().ops();
  OpDesc ops[digits::Network::kOpCount];
  for (std::uint32_t i = 0; i < layers.size(); ++i) ops[i] = {layers[i].name, layers[i].type, i, 0};
  const ModelDesc model = {.name = "digits", .id = 1, .ops = ops};
  dump.start(model);
  const auto view = [&](const digits::Tensor& tensor) {
    const std::byte* const start = reinterpret_cast<const std::byte*>(&digits.network());
    const Address address =
        digits.is_activation(tensor)
            ? activations + static_cast<std::size_t>(static_cast<const std::byte*>(tensor.data) - start)
            : weights.at(tensor.data);
    return TensorView{.address = address,
                      .bytes = tensor.bytes,
                      .dtype = tensor.type == digits::ElementType::kFloat16 ? DType::float16 : DType::float32,
                      .format = tensor.rank == 4 ? Format::nchw : Format::nd,
                      .shape = {tensor.dims, tensor.rank}};
  };
  right = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    digits.on_host([&] { digits.network().load_image(step); });
    REQUIRE(dump.recorder.begin_step(dump.plan) == Status::ok);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      digits.on_host([&] { digits.network().run_op(i); });
      std::vector<TensorView> inputs;
      for (const digits::Tensor& tensor : layers[i].inputs) inputs.push_back(view(tensor));
      const TensorView output = view(layers[i].outputs.front());
      REQUIRE(dump.recorder.capture(i, inputs, {&output, 1}) == Status::ok);
    }
    REQUIRE(dump.recorder.end_step() == Status::ok);
    digits.on_host([&] { right += digits.network().predicted() == digits::kLabels[step] ? 1u : 0u; });
  }
  REQUIRE(dump.session.finalize() == Status::ok);
  CHECK(dump.session.counts().lost() == 0);
  return dump.sink.objects;
}

}  // namespace

TEST_CASE(
    "opencl: the digits network in a device's memory dumps what it dumps from the host's, byte for byte") {
  constexpr std::size_t kSteps = 10;
  for (const cl_device_id id : all_devices()) {
    CAPTURE(name_of(id));
    for (const OpenclReading reading : {OpenclReading::read, OpenclReading::map}) {
      const Device device(id);
      DeviceDigits digits(device);
      OpenclMemory<> memory(loaded_api());
      ShadowMemory shadow;
      REQUIRE(memory.open(device.queue(), 0, reading) == Status::ok);
      Address activations = 0;
      std::map<const void*, Address> weights;
      digits.for_each_buffer([&](cl_mem buffer, const void* on_host, std::size_t bytes) {
        const Address address = memory.add(buffer).value();
        REQUIRE(shadow.add(on_host, bytes) == address);
        if (activations == 0) {
          activations = address;
        } else {
          weights[on_host] = address;
        }
      });
      std::size_t right = 0, right_on_host = 0;
      const auto of_device = dump_digits(digits, memory, activations, weights, kSteps, right);
      const auto of_host = dump_digits(digits, shadow, activations, weights, kSteps, right_on_host);
      CHECK(of_device.size() == kSteps * digits::Network::kOpCount);
      CHECK(of_device == of_host);
      CHECK(right == right_on_host);
      CHECK(right >= kSteps - 1);
    }
  }
}

TEST_CASE("opencl: a session for another device than the memory's does not start") {
  const Device device(all_devices().front());
  OpenclMemory<> memory(loaded_api());
  REQUIRE(memory.open(device.queue(), 1) == Status::ok);
  Dump<OpenclMemory<>> dump(memory, 0);
  CHECK(dump.session.init() == Status::wrong_device);
}

TEST_CASE("opencl: tensors larger than the ring stream through it, from two devices at the same time") {
  const std::vector<cl_device_id> devices = all_devices();
  REQUIRE_FALSE(devices.empty());
  struct Side {
    std::unique_ptr<Device> device;
    std::vector<std::byte> content;
    Buffer buffer;
    std::unique_ptr<OpenclMemory<>> memory;
    std::unique_ptr<Dump<OpenclMemory<>>> dump;
    Address address = 0;
    int failed = 0;
  };
  std::vector<Side> sides(devices.size());
  const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  std::mt19937 random(7);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Side& side = sides[i];
    side.device = std::make_unique<Device>(devices[i]);
    side.content.resize(300'000 + i);
    for (std::byte& byte : side.content) byte = static_cast<std::byte>(random());
    side.buffer = side.device->make_buffer(side.content.data(), side.content.size());
    side.memory = std::make_unique<OpenclMemory<>>(loaded_api());
    REQUIRE(side.memory->open(side.device->queue(), static_cast<std::uint32_t>(i), OpenclReading::read) ==
            Status::ok);
    side.address = side.memory->add(side.buffer.get()).value();
    side.dump = std::make_unique<Dump<OpenclMemory<>>>(*side.memory, static_cast<std::uint32_t>(i));
    side.dump->start(model);
  }
  std::vector<std::thread> threads;
  for (Side& side : sides) {
    threads.emplace_back([&side] {
      const Dim dims[] = {side.content.size()};
      const TensorView tensor = {
          .address = side.address, .bytes = side.content.size(), .dtype = DType::uint8, .shape = dims};
      for (int step = 0; step < 5; ++step) {
        side.failed += side.dump->recorder.begin_step(side.dump->plan) != Status::ok;
        side.failed += side.dump->recorder.capture(0, {}, {&tensor, 1}) != Status::ok;
        side.failed += side.dump->recorder.end_step() != Status::ok;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Side& side = sides[i];
    CHECK(side.failed == 0);
    REQUIRE(side.dump->session.finalize() == Status::ok);
    CHECK(side.dump->sink.objects.size() == 5);
    for (const auto& [name, bytes] : side.dump->sink.objects) {
      CHECK(name.find("/" + std::to_string(i) + "/net/") != std::string::npos);
      REQUIRE(bytes.size() > side.content.size());
      CHECK(std::memcmp(bytes.data() + bytes.size() - side.content.size(), side.content.data(),
                        side.content.size()) == 0);
    }
  }
}
