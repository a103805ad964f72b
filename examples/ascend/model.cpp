// Runs a model on an Ascend device with CANN, and lets opdump take CANN's own operator dump: CANN finds the
// operators and copies their tensors, and hands each file in chunks to a callback, opdump_take_chunk. The
// lines marked "opdump" are all that a program needs for that.
//
// usage: model CONFIG MODEL.om [STEPS]

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_dump.h"
#include "opdump/acl_chunks.h"  // opdump

namespace {

void check(aclError error, const char* call) {
  if (error == ACL_SUCCESS) return;
  std::fprintf(stderr, "model: %s returned %d\n", call, error);
  std::exit(1);
}

/// Buffers on the device for the model's inputs or outputs.
class Buffers {
 public:
  explicit Buffers(const std::vector<std::size_t>& sizes) : set_(aclmdlCreateDataset()) {
    for (const std::size_t bytes : sizes) {
      void* memory = nullptr;
      check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
      aclDataBuffer* const buffer = aclCreateDataBuffer(memory, bytes);
      check(aclmdlAddDatasetBuffer(set_, buffer), "aclmdlAddDatasetBuffer");
      memory_.push_back(memory);
      buffers_.push_back(buffer);
    }
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (aclDataBuffer* buffer : buffers_) aclDestroyDataBuffer(buffer);
    for (void* memory : memory_) aclrtFree(memory);
    aclmdlDestroyDataset(set_);
  }

  aclmdlDataset* set() const { return set_; }

 private:
  aclmdlDataset* set_;
  std::vector<void*> memory_;
  std::vector<aclDataBuffer*> buffers_;
};

void run(const char* path, int steps) {
  std::uint32_t id = 0;
  check(aclmdlLoadFromFile(path, &id), "aclmdlLoadFromFile");
  aclmdlDesc* const desc = aclmdlCreateDesc();
  check(aclmdlGetDesc(desc, id), "aclmdlGetDesc");
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < aclmdlGetNumInputs(desc); ++i)
    inputs.push_back(aclmdlGetInputSizeByIndex(desc, i));
  for (std::size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i)
    outputs.push_back(aclmdlGetOutputSizeByIndex(desc, i));
  {
    // What the inputs hold is of no interest here.
    const Buffers input(inputs);
    const Buffers output(outputs);
    for (int step = 0; step < steps; ++step)
      check(aclmdlExecute(id, input.set(), output.set()), "aclmdlExecute");
  }
  check(aclmdlDestroyDesc(desc), "aclmdlDestroyDesc");
  check(aclmdlUnload(id), "aclmdlUnload");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: model CONFIG MODEL.om [STEPS]\n", stderr);
    return 2;
  }
  const char* const config = argv[1];
  bool whole = true;
  // opdump {
  if (opdump_chunks_start(config) != OPDUMP_OK) {
    std::string reason(opdump_chunks_error(nullptr, 0), '\0');
    opdump_chunks_error(reason.data(), reason.size() + 1);
    std::fprintf(stderr, "model: no dump: %s\n", reason.c_str());
  } else {
    check(acldumpRegCallback(opdump_take_chunk, 0), "acldumpRegCallback");
  }
  // opdump }
  check(aclInit(config), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  run(argv[2], argc > 3 ? std::atoi(argv[3]) : 3);
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");  // hands out all chunks that CANN still has

  // opdump {
  acldumpUnregCallback();
  whole = opdump_chunks_stop() == OPDUMP_OK;
  opdump_chunk_counts counts;
  opdump_chunks_counts(&counts, sizeof counts);
  std::printf("%u files written, %u lost, %u not asked for\n", counts.written, counts.lost, counts.unwanted);
  // opdump }
  return whole ? 0 : 1;
}
