// Calls two operators of aclnn on an Ascend device, relu(left + right), and dumps what they read and write.
// What is marked opdump is all that a program needs for that.
//
// usage: single_operator CONFIG        Exit status 0 if the result is right and nothing was lost.

#include <cstdio>
#include <cstdlib>

#include "acl/acl_rt.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_relu.h"
#include "platform/ascend/acl_linked.hpp"      // opdump
#include "platform/ascend/ascend_memory.hpp"   // opdump
#include "platform/posix/basic_file_dump.hpp"  // opdump

using namespace opdump;  // opdump

void check(int code, const char* call) {
  if (code == 0) return;
  std::fprintf(stderr, "single_operator: %s returned %d\n", call, code);
  std::exit(1);
}

/// Device memory; all of it is given back with the device.
void* allocate(std::uint64_t bytes) {
  void* memory = nullptr;
  if (bytes != 0) check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  return memory;
}

struct Array {
  explicit Array(const float (&values)[6]) {
    constexpr std::int64_t kShape[] = {2, 3}, kStrides[] = {3, 1};
    check(aclrtMemcpy(data, 24, values, 24, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
    tensor = aclCreateTensor(kShape, 2, ACL_FLOAT, kStrides, 0, ACL_FORMAT_ND, kShape, 2, data);
  }
  TensorView view() const {  // opdump {
    static constexpr Dim kDims[] = {2, 3};
    return {address_of(data), 24, DType::float32, Format::nd, kDims};
  }  // opdump }

  void* data = allocate(24);
  aclTensor* tensor = nullptr;
};

int main(int argc, char** argv) {
  aclrtStream stream = nullptr;
  check(aclInit(nullptr), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&stream), "aclrtCreateStream");

  ascend::AscendMemory memory;  // opdump {
  static posix::BasicFileDump<ascend::AscendMemory> dump(memory);
  Status status = memory.open(ascend::linked_api());
  if (status == Status::ok) status = memory.add_stream(0, stream);  // what `.stream_id = 0` waits for
  if (status == Status::ok) status = dump.start(argc > 1 ? argv[1] : "single_operator.json");
  if (status != Status::ok) std::fprintf(stderr, "no dump: %s\n", dump.error().c_str());
  const OpDesc add = {.name = "add", .type = "Add", .stream_id = 0};
  const OpDesc relu = {.name = "relu", .type = "Relu", .stream_id = 0};  // opdump }

  const Array left({1, -2, 3, -4, 5, -6}), right({10, 1, -10, 1, 10, 1}), sum({}), result({});
  float one = 1;
  const aclScalar* const alpha = aclCreateScalar(&one, ACL_FLOAT);
  std::uint64_t bytes = 0;  // that an operator works in; aclnn says how many, and then it is called
  aclOpExecutor* executor = nullptr;
  check(aclnnAddGetWorkspaceSize(left.tensor, right.tensor, alpha, sum.tensor, &bytes, &executor), "Add");
  check(aclnnAdd(allocate(bytes), bytes, executor, stream), "aclnnAdd");
  const TensorView terms[] = {left.view(), right.view()}, sums[] = {sum.view()};  // opdump
  dump.recorder().capture_single_op(add, terms, sums);                            // opdump
  check(aclnnReluGetWorkspaceSize(sum.tensor, result.tensor, &bytes, &executor), "Relu");
  check(aclnnRelu(allocate(bytes), bytes, executor, stream), "aclnnRelu");
  const TensorView results[] = {result.view()};            // opdump
  dump.recorder().capture_single_op(relu, sums, results);  // opdump
  check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  alignas(64) float values[6];
  check(aclrtMemcpy(values, 24, result.data, 24, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
  const bool whole = dump.stop() == Status::ok && memory.close() == Status::ok;  // opdump
  check(aclrtResetDevice(0), "aclrtResetDevice");
  return whole && values[0] == 11 && values[4] == 15 && values[5] == 0 ? aclFinalize() : 1;
}
