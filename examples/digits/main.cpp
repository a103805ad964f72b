// Classifies held-out images, one per step, and prints how many it read right. With --config it also dumps
// what that file asks for; all that this takes is marked opdump. With --overflow 1 its second convolution
// overflows float16, for an overflow dump to find out.
// Exit code: 0 if at least 95 % are right, 1 if not or if the dump is not complete, 2 for wrong arguments.

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "images.hpp"
#include "network.hpp"
#include "platform/posix/file_dump.hpp"  // opdump

namespace {

constexpr int kUsageError = 2;

struct Options {
  std::size_t images = digits::kImageCount;
  bool overflow = false;
  const char* config = nullptr;  // opdump
};

bool parse_image_count(std::string_view text, std::size_t& count) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && stop == end && count >= 1 && count <= digits::kImageCount;
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--config") {  // opdump
      options.config = value;    // opdump
    } else if (option == "--overflow") {
      options.overflow = std::string_view(value) == "1";
    } else if (option != "--images") {
      std::fprintf(
          stderr,
          "digits: unknown argument '%s'; usage: digits [--images N] [--config FILE] [--overflow 0|1]\n",
          argv[i]);
      return false;
    } else if (!parse_image_count(value, options.images)) {
      std::fprintf(stderr, "digits: --images wants a number from 1 to %zu, not '%s'\n", digits::kImageCount,
                   value);
      return false;
    }
  }
  return true;
}

// opdump {
opdump::TensorView view(const digits::Tensor& t) {
  const auto dtype =
      t.type == digits::ElementType::kFloat16 ? opdump::DType::float16 : opdump::DType::float32;
  const auto format = t.rank == 4 ? opdump::Format::nchw : opdump::Format::nd;
  return {opdump::address_of(t.data), t.bytes, dtype, format, {t.dims, t.rank}};
}
// opdump }

int run(const Options& options) {
  digits::Network network;
  if (options.overflow) network.spoil_conv2();
  const std::span<const digits::Op> layers = network.ops();

  // opdump {
  opdump::HostMemory memory;
  static opdump::posix::FileDump dump(memory);
  bool good = options.config == nullptr || dump.start(options.config) == opdump::Status::ok;
  opdump::OpDesc ops[digits::Network::kOpCount];
  for (std::uint32_t i = 0; i < layers.size(); ++i) ops[i] = {layers[i].name, layers[i].type, i, 0};
  const opdump::ModelDesc model = {.name = "digits", .id = 1, .ops = ops};
  opdump::ModelPlanFor<digits::Network::kOpCount> plan;
  good = dump.load_model(plan, model) == opdump::Status::ok && good;
  if (!good) std::fprintf(stderr, "digits: nothing will be dumped: %s\n", dump.error().c_str());
  // opdump }

  std::size_t right = 0;
  for (std::size_t step = 0; step < options.images; ++step) {
    network.load_image(step);
    dump.recorder().begin_step(plan);  // opdump
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const digits::Op& op = layers[i];
      network.run_op(i);
      // opdump {
      if (dump.recorder().wants(i)) {
        const opdump::TensorView in[] = {view(op.inputs.front()), view(op.inputs.back())};
        const opdump::TensorView out[] = {view(op.outputs.front())};
        dump.recorder().capture(i, std::span(in).first(op.inputs.size()), out);
      }
      // opdump }
    }
    dump.recorder().end_step();  // opdump
    if (network.predicted() == digits::kLabels[step]) ++right;
  }

  const double percent = 100.0 * static_cast<double>(right) / static_cast<double>(options.images);
  std::printf("%zu of %zu images right (%.1f %%)\n", right, options.images, percent);
  // opdump {
  if (dump.active()) good = dump.stop() == opdump::Status::ok && good;
  const opdump::DumpCounts counts = dump.counts();
  if (options.config != nullptr) std::printf("%u records dumped, %u lost\n", counts.written, counts.lost());
  // opdump }
  return good && percent >= 95.0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  return parse_options(argc, argv, options) ? run(options) : kUsageError;
}
