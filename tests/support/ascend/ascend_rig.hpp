#pragma once
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/ascend/acl_library.hpp"
#include "tests/support/ascend/simulated_ascend.hpp"

namespace opdump::tests {

/// A simulated driver, loaded as the real one would be, with device 0 set and nothing injected.
class Rig {
  template <class Function, class... Arguments>
  auto call(const char* name, Arguments... arguments) {
    Function* function = reinterpret_cast<Function*>(dlsym(handle_, name));
    const bool found = function != nullptr;
    REQUIRE(found);
    return function(arguments...);
  }

 public:
  explicit Rig(const char* product = OPDUMP_SIMULATED_ASCEND) {
    REQUIRE(library_.load(product) == Status::ok);
    handle_ = dlopen(product, RTLD_NOW);
    REQUIRE(handle_ != nullptr);
    use_device(0);
    reset({});
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig() {
    free_all();
    dlclose(handle_);
  }

  const ascend::AclApi& api() const { return library_.api(); }

  void use_device(std::int32_t id) { CHECK(call<int(std::int32_t)>("simulated_ascend_use_device", id) == 0); }
  void reset(const SimulatedAscend& how) {
    call<void(const SimulatedAscend*)>("simulated_ascend_reset", &how);
  }
  SimulatedAscendCounts counts() {
    SimulatedAscendCounts counts;
    call<void(SimulatedAscendCounts*)>("simulated_ascend_count", &counts);
    return counts;
  }
  void fail_call(std::uint64_t number, int code) {
    call<void(std::uint64_t, int)>("simulated_ascend_fail_call", number, code);
  }
  void fail_function(const char* name, int code) {
    call<void(const char*, int)>("simulated_ascend_fail_function", name, code);
  }
  void fail_copy(std::uint64_t number, int code) {
    call<void(std::uint64_t, int)>("simulated_ascend_fail_copy", number, code);
  }
  void hold_copies(std::uint64_t number, std::uint64_t count) {
    call<void(std::uint64_t, std::uint64_t)>("simulated_ascend_hold_copies", number, count);
  }
  void let_go() { call<void()>("simulated_ascend_let_go"); }
  void operator_says(void* stream, int code) {
    call<void(void*, int)>("simulated_ascend_operator_says", stream, code);
  }
  void set_overflow(std::int32_t device) {
    call<void(std::int32_t)>("simulated_ascend_set_overflow", device);
  }

  /// A stream of the thread's device, as the program makes one for its operators.
  void* create_stream() {
    void* stream = nullptr;
    CHECK(call<int(void**)>("aclrtCreateStream", &stream) == 0);
    return stream;
  }
  void synchronize_stream(void* stream) { CHECK(call<int(void*)>("aclrtSynchronizeStream", stream) == 0); }
  void destroy_stream(void* stream) { CHECK(call<int(void*)>("aclrtDestroyStream", stream) == 0); }

  /// Memory of the thread's device, until `free_all`.
  Address allocate(std::size_t bytes) {
    void* memory = call<void*(std::size_t)>("simulated_ascend_allocate", bytes);
    REQUIRE(memory != nullptr);
    allocated_.push_back(memory);
    return address_of(memory);
  }
  void upload(Address to, const void* from, std::size_t bytes) {
    CHECK(call<int(void*, const void*, std::size_t)>("simulated_ascend_upload", reinterpret_cast<void*>(to),
                                                     from, bytes) == 0);
  }
  void free_all() {
    for (void* memory : allocated_) CHECK(call<int(void*)>("simulated_ascend_free", memory) == 0);
    allocated_.clear();
  }

  void drop_left_over() { call<void()>("simulated_ascend_drop_left_over"); }

  void check_nothing_is_left() {
    const SimulatedAscendCounts left = counts();
    CHECK(left.streams == 0);
    CHECK(left.pinned == 0);
    CHECK(left.allocations == 0);
  }

 private:
  ascend::AclLibrary library_;
  void* handle_ = nullptr;
  std::vector<void*> allocated_;
};

}  // namespace opdump::tests
