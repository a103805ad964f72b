#pragma once
#include <dlfcn.h>

#include <string>

#include "opdump/base/status.hpp"
#include "platform/ascend/acl_api.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// AscendCL's runtime, loaded while the program runs, so that one binary serves machines with and without a
/// device. Must outlive the memory that uses it. One thread at a time.
class AclLibrary {
 public:
  /// The libraries that may be the runtime, in the order in which `load` tries them.
  static constexpr const char* kNames[] = {"libascendcl.so", "libacl_rt.so", "libruntime.so"};

  AclLibrary() = default;
  AclLibrary(const AclLibrary&) = delete;
  AclLibrary& operator=(const AclLibrary&) = delete;
  ~AclLibrary() { unload(); }

  /// Loads `path`, or without one the first of `kNames` that the system's loader finds and that can copy.
  /// `library_missing` when there is none, `symbol_missing` when what there is cannot copy: nothing is
  /// loaded, and `error` says why.
  [[nodiscard]] Status load(const char* path = nullptr) {
    unload();
    error_.clear();
    if (path != nullptr) return load_one(path);
    Status status = Status::library_missing;
    for (const char* name : kNames) {
      const Status of_one = load_one(name);
      if (of_one == Status::ok) return of_one;
      if (of_one == Status::symbol_missing) status = of_one;
    }
    return status;
  }

  const AclApi& api() const { return api_; }

  /// The loader's handle, for `dlsym` of functions that `api` has not; null: nothing is loaded.
  void* handle() const { return handle_; }

  /// Why `load` failed, for each library that it tried.
  const std::string& error() const { return error_; }

 private:
  Status load_one(const char* name) {
    void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      note(dlerror());
      return Status::library_missing;
    }
    AclApi api;
    for_each_function(api, [handle]<class Function>(const char* symbol, Function& function) {
      function = reinterpret_cast<Function>(dlsym(handle, symbol));
    });
    if (!api.can_copy()) {
      note((std::string(name) + ": has neither aclrtMemcpy nor rtMemcpy").c_str());
      dlclose(handle);
      return Status::symbol_missing;
    }
    api_ = api;
    handle_ = handle;
    return Status::ok;
  }

  void note(const char* reason) { error_.append(error_.empty() ? "" : "; ").append(reason); }

  void unload() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
    api_ = {};
  }

  void* handle_ = nullptr;
  AclApi api_;
  std::string error_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
