// Two operators of aclnn on the simulated driver: they run on the device when their stream comes to them,
// some time after they were called.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "simulated_ascend.hpp"

struct aclTensor {
  std::size_t elements = 1;
  void* data = nullptr;
};

struct aclScalar {
  float value = 0;
};

/// What the second of the two calls of an operator runs, once.
struct aclOpExecutor {
  std::function<void()> run;
  std::uint64_t workspace_bytes = 0;
};

namespace {

constexpr aclnnStatus kInvalid = 161002;

float* elements_of(const aclTensor* tensor) {
  return static_cast<float*>(simulated_ascend_own_address(tensor->data, tensor->elements * sizeof(float)));
}

aclnnStatus prepare(std::function<void()> run, std::uint64_t bytes, std::uint64_t* workspace_bytes,
                    aclOpExecutor** executor) {
  if (workspace_bytes == nullptr || executor == nullptr) return kInvalid;
  *workspace_bytes = bytes;
  *executor = new aclOpExecutor{std::move(run), bytes};
  return 0;
}

aclnnStatus start(void* workspace, std::uint64_t bytes, aclOpExecutor* executor, void* stream) {
  if (executor == nullptr || bytes < executor->workspace_bytes) return kInvalid;
  if (bytes != 0 && simulated_ascend_own_address(workspace, bytes) == nullptr) return kInvalid;
  return simulated_ascend_launch(
      stream,
      [](void* context) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        static_cast<aclOpExecutor*>(context)->run();
        delete static_cast<aclOpExecutor*>(context);
      },
      executor);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED aclTensor* aclCreateTensor(const int64_t* dims, uint64_t rank, aclDataType type, const int64_t*,
                                    int64_t, aclFormat, const int64_t*, uint64_t, void* data) {
  if (type != ACL_FLOAT) return nullptr;
  aclTensor* const tensor = new aclTensor{1, data};
  for (uint64_t i = 0; i < rank; ++i) tensor->elements *= static_cast<std::size_t>(dims[i]);
  return tensor;
}
EXPORTED aclScalar* aclCreateScalar(void* value, aclDataType type) {
  return type != ACL_FLOAT ? nullptr : new aclScalar{*static_cast<float*>(value)};
}
EXPORTED aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  delete tensor;
  return 0;
}
EXPORTED aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  delete scalar;
  return 0;
}

EXPORTED aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                              const aclScalar* alpha, aclTensor* out,
                                              uint64_t* workspace_bytes, aclOpExecutor** executor) {
  if (self == nullptr || other == nullptr || alpha == nullptr || out == nullptr) return kInvalid;
  float* const to = elements_of(out);
  const float* const left = elements_of(self);
  const float* const right = elements_of(other);
  if (to == nullptr || left == nullptr || right == nullptr) return kInvalid;
  return prepare(
      [=, count = self->elements, factor = alpha->value] {
        for (std::size_t i = 0; i < count; ++i) to[i] = left[i] + factor * right[i];
      },
      256, workspace_bytes, executor);
}
EXPORTED aclnnStatus aclnnAdd(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) {
  return start(workspace, bytes, executor, stream);
}

EXPORTED aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                               uint64_t* workspace_bytes, aclOpExecutor** executor) {
  if (self == nullptr || out == nullptr) return kInvalid;
  float* const to = elements_of(out);
  const float* const from = elements_of(self);
  if (to == nullptr || from == nullptr) return kInvalid;
  return prepare(
      [=, count = self->elements] {
        std::transform(from, from + count, to, [](float value) { return std::max(value, 0.0f); });
      },
      0, workspace_bytes, executor);
}
EXPORTED aclnnStatus aclnnRelu(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) {
  return start(workspace, bytes, executor, stream);
}
