#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>

#include "opdump/impl/stats/statistics.hpp"
#include "opdump/types/dtype.hpp"
#include "platform/opencl/opencl_api.hpp"
#include "platform/opencl/statistics_source.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Where a tensor lies for the device. The command that writes it has ended, or precedes the kernels in their queue.
struct OpenclTensor {
  cl_mem buffer = nullptr;
  std::size_t offset = 0;
  std::uint64_t elements = 0;
  DType dtype = DType::undefined;
};

/// Statistics of tensors, computed in place by a device of OpenCL: 20 KiB come back for a tensor of any size.
/// Sums are doubles if the device has doubles, with an error below 10^-13 of the sum of magnitudes for up to
/// 2^26 elements; else pairs of floats, with an error below 10^-6, and squares overflow as floats do.
class OpenclStatistics {
 public:
  OpenclStatistics() = default;
  OpenclStatistics(const OpenclStatistics&) = delete;
  OpenclStatistics& operator=(const OpenclStatistics&) = delete;
  ~OpenclStatistics() { release(); }

  /// Compiles the kernels for the device of `queue`. `with_doubles` false: as on a device without doubles.
  /// Returns the driver's code; after an error there are no statistics. For boot: allocates and takes up to a
  /// second. `api` must outlive this object.
  cl_int build(const OpenclApi& api, cl_command_queue queue, bool with_doubles = true) {
    release();
    api_ = &api;
    cl_context context = nullptr;
    cl_device_id device = nullptr;
    cl_device_fp_config doubles = 0;
    cl_int error = api.get_queue_info(queue, CL_QUEUE_CONTEXT, sizeof(cl_context),
                                      static_cast<void*>(&context), nullptr);
    if (error == CL_SUCCESS)
      error = api.get_queue_info(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), static_cast<void*>(&device),
                                 nullptr);
    if (error == CL_SUCCESS && with_doubles)
      error = api.get_device_info(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, nullptr);
    has_doubles_ = doubles != 0;
    if (error == CL_SUCCESS) error = build(context, device);
    if (error != CL_SUCCESS) release();
    return error;
  }

  bool built() const { return partials_ != nullptr; }

  /// Whether the kernels take tensors of `dtype`.
  static constexpr bool supports(DType dtype) { return element_of(dtype) != kNoElement; }

  /// Adds the tensor's elements, fewer than 2^32 and at a multiple of their size, to `to`, and returns the
  /// driver's code. Any thread may call: one at a time proceeds, the others wait.
  cl_int add(cl_command_queue queue, const OpenclTensor& tensor, Statistics& to) {
    const std::lock_guard lock(mutex_);
    const bool real = is_real(tensor.dtype);
    const cl_kernel kernel = real ? float_kernel_ : integer_kernel_;
    const cl_ulong offset = tensor.offset, count = tensor.elements;
    const cl_uint element = element_of(tensor.dtype);
    const std::size_t items = kItems;
    cl_int error = api_->set_kernel_arg(kernel, 0, sizeof(cl_mem), static_cast<const void*>(&tensor.buffer));
    if (error == CL_SUCCESS) error = api_->set_kernel_arg(kernel, 1, sizeof offset, &offset);
    if (error == CL_SUCCESS) error = api_->set_kernel_arg(kernel, 2, sizeof count, &count);
    if (error == CL_SUCCESS) error = api_->set_kernel_arg(kernel, 3, sizeof element, &element);
    cl_event done = nullptr;
    if (error == CL_SUCCESS)
      error = api_->enqueue_kernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, &done);
    if (error != CL_SUCCESS) return error;
    error = api_->enqueue_read_buffer(queue, partials_, CL_TRUE, 0, sizeof read_, read_.data(), 1, &done,
                                      nullptr);
    api_->release_event(done);
    if (error != CL_SUCCESS) return error;
    for (std::size_t item = 0; item < kItems; ++item) {
      const std::uint64_t seen = tensor.elements / kItems + (item < tensor.elements % kItems ? 1 : 0);
      if (seen == 0) continue;
      if (real) {
        add_real(read_[item], seen, to);
      } else {
        to.add_run(seen, integers_of(read_[item]));
      }
    }
    return CL_SUCCESS;
  }

 private:
  static constexpr std::size_t kItems = 256;
  static constexpr std::uint32_t kNoElement = 0xffffffff;

  /// Its OpenclElement, by the order of these.
  static constexpr std::uint32_t element_of(DType dtype) {
    constexpr DType kElements[] = {DType::float16, DType::bfloat16, DType::float32, DType::int8,
                                   DType::uint8,   DType::int16,    DType::uint16,  DType::int32,
                                   DType::uint32,  DType::boolean};
    static_assert(std::size(kElements) == static_cast<std::size_t>(OpenclElement::boolean) + 1);
    for (std::uint32_t element = 0; element < std::size(kElements); ++element)
      if (kElements[element] == dtype) return element;
    return kNoElement;
  }

  static constexpr bool is_real(DType dtype) {
    return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32;
  }

  cl_int build(cl_context context, cl_device_id device) {
    cl_int error = CL_SUCCESS;
    const char* source = kOpenclStatistics;
    program_ = api_->create_program(context, 1, &source, nullptr, &error);
    if (error != CL_SUCCESS) return error;
    const char* const options = has_doubles_ ? "-cl-std=CL1.2 -DOPDUMP_FP64" : "-cl-std=CL1.2";
    error = api_->build_program(program_, 1, &device, options, nullptr, nullptr);
    if (error != CL_SUCCESS) return error;
    float_kernel_ = api_->create_kernel(program_, "float_statistics", &error);
    if (error != CL_SUCCESS) return error;
    integer_kernel_ = api_->create_kernel(program_, "integer_statistics", &error);
    if (error != CL_SUCCESS) return error;
    partials_ = api_->create_buffer(context, CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY, sizeof read_, nullptr,
                                    &error);
    for (const cl_kernel kernel : {float_kernel_, integer_kernel_}) {
      if (error == CL_SUCCESS)
        error = api_->set_kernel_arg(kernel, 4, sizeof(cl_mem), static_cast<const void*>(&partials_));
    }
    return error;
  }

  double number(std::uint64_t bits) const {
    return has_doubles_ ? std::bit_cast<double>(bits)
                        : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }

  double sum(std::uint64_t bits) const {
    if (has_doubles_) return std::bit_cast<double>(bits);
    const double value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return value + std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32));
  }

  void add_real(const OpenclPartial& partial, std::uint64_t seen, Statistics& to) const {
    FloatRun run;
    run.min = number(partial.min);
    run.max = number(partial.max);
    run.nan = static_cast<std::uint32_t>(partial.nan);
    run.negative_inf = static_cast<std::uint32_t>(partial.negative_inf);
    run.positive_inf = static_cast<std::uint32_t>(partial.positive_inf);
    run.negative = static_cast<std::uint32_t>(partial.negative);
    run.positive = static_cast<std::uint32_t>(partial.positive);
    to.add_run(seen, run, sum(partial.sum), sum(partial.squares));
  }

  static IntegerRun integers_of(const OpenclPartial& partial) {
    IntegerRun run;
    run.min = static_cast<std::int64_t>(partial.min);
    run.max = static_cast<std::int64_t>(partial.max);
    run.sum = static_cast<std::int64_t>(partial.sum);
    run.squares_low = partial.squares;
    run.squares_high = partial.squares_high;
    run.negative = static_cast<std::uint32_t>(partial.negative);
    run.positive = static_cast<std::uint32_t>(partial.positive);
    return run;
  }

  void release() {
    if (partials_ != nullptr) api_->release_mem(partials_);
    if (integer_kernel_ != nullptr) api_->release_kernel(integer_kernel_);
    if (float_kernel_ != nullptr) api_->release_kernel(float_kernel_);
    if (program_ != nullptr) api_->release_program(program_);
    partials_ = nullptr;
    integer_kernel_ = float_kernel_ = nullptr;
    program_ = nullptr;
  }

  const OpenclApi* api_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel float_kernel_ = nullptr;
  cl_kernel integer_kernel_ = nullptr;
  cl_mem partials_ = nullptr;
  bool has_doubles_ = false;
  std::mutex mutex_;  ///< guards the kernels' arguments and the members below
  std::array<OpenclPartial, kItems> read_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
