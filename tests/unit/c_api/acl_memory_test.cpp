// What the session behind the ACL calls does with the memory that it is told to use, in C++ and in C.

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "opdump/acl.hpp"
#include "opdump/acl_session.h"
#include "tests/support/child_process.hpp"
#include "tests/support/temporary_directory.hpp"

// The calls belong to the process, so every sequence of them runs in a process of its own.

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kDevice = 3;
constexpr std::uint32_t kStream = 7;

/// Device memory that can do all that a memory may, and counts what it is asked for.
class AbleMemory final : public DeviceMemory {
 public:
  static constexpr std::size_t kMaxCopies = 4;
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
    char more[64] = {};
  };

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    ++copied;
    std::memcpy(to, pointer(from), bytes);
    return Status::ok;
  }
  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    if (fails) return Status::device_copy_failed;
    ++started;
    copy.to = to;
    copy.from = pointer(from);
    copy.bytes = bytes;
    return Status::ok;
  }
  [[nodiscard]] Result<bool> poll(Copy&) { return false; }
  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t) {
    ++completed;
    std::memcpy(copy.to, copy.from, copy.bytes);
    return true;
  }
  [[nodiscard]] Status fence(std::uint32_t stream_id) {
    fenced += stream_id == kStream ? 1 : 0;
    return Status::ok;
  }
  void will_read(Address, std::uint64_t) { ++announced; }
  Bytes view(Address, std::uint64_t) const {
    ++viewed;
    return {};
  }
  Result<bool> overflowed(std::uint32_t stream_id) {
    asked += stream_id == kStream ? 1 : 0;
    return over;
  }
  std::uint32_t device_id() const { return device; }
  CopyRules copy_rules() const { return {.alignment = 64, .max_bytes = 512}; }
  DriverError driver_error() const { return fails ? DriverError{"aclrtMemcpyAsync", 507052} : DriverError{}; }

  int copied = 0, started = 0, completed = 0, fenced = 0, announced = 0, asked = 0;
  mutable int viewed = 0;
  std::uint32_t device = kDevice;
  bool over = false;
  bool fails = false;

 private:
  static const std::byte* pointer(Address address) {
    return reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address));
  }
};

static_assert(AsyncMemory<AbleMemory> && RuledMemory<AbleMemory> && FencedMemory<AbleMemory> &&
              CachedMemory<AbleMemory> && ViewableMemory<AbleMemory> && OverflowMemory<AbleMemory> &&
              IdentifiedMemory<AbleMemory> && ExplainingMemory<AbleMemory>);

struct OneOpNet {
  float values[500] = {1, 2, 3, 4};
  Dim dims[1] = {500};
  OpDesc ops[1] = {{.name = "conv1", .type = "Conv2D", .stream_id = kStream}};
  ModelDesc model{.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> plan;
  alignas(8) std::byte ring[8192];

  /// Runs steps, and returns how many of them captured something.
  int run(acl::Session::Recorder& recorder, int steps) {
    const TensorView output = {
        .address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = dims};
    int captured = 0;
    for (int i = 0; i < steps; ++i) {
      if (recorder.begin_step(plan) != Status::ok) return -1;
      if (recorder.wants(0) && recorder.capture(0, {}, {&output, 1}) == Status::ok) ++captured;
      if (recorder.end_step() != Status::ok) return -1;
    }
    return captured;
  }
};

class Configs {
 public:
  Configs() {
    write("list.json", R"("dump_list":[{}],"dump_mode":"output")", "");
    write("inline.json", R"("dump_list":[{}],"dump_mode":"output")", R"(,"opdump":{"when_full":"inline"})");
    write("overflow.json", R"("dump_debug":"on")", "");
  }
  std::string path(const std::string& name) const { return (directory.path() / name).string(); }

  /// Of records, below a folder of that name.
  int records(const std::string& folder) const {
    int found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
      const std::string path = entry.path().string();
      const bool is_record = entry.path().filename().string().starts_with("Conv2D.");
      found += entry.is_regular_file() && is_record && path.find("/" + folder + "/net/") != path.npos ? 1 : 0;
    }
    return found;
  }

  std::string journal() const {
    std::string journal;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
      if (entry.path().extension() == ".journal") journal += read_file(entry.path());
    }
    return journal;
  }

  TemporaryDirectory directory;

 private:
  void write(const std::string& name, const std::string& keys, const std::string& more) {
    write_file(directory.path() / name,
               R"({"dump":{"dump_path":")" + directory.text() + R"(",)" + keys + "}" + more + "}");
  }
};

std::string heard;

void hear(void*, std::string_view line) {
  heard.append(line).append("\n");
}

}  // namespace

TEST_CASE("acl: the session does all that its memory can do, and is of its device") {
  const Configs configs;
  CHECK(in_child([&] {
          static OneOpNet net;
          static AbleMemory memory;
          acl::use_memory(memory);
          acl::log_to(hear, nullptr);
          acl::Session::Recorder& recorder = *acl::session().add_recorder(net.ring).value();
          OPDUMP_CHILD_CHECK(aclInit(configs.path("list.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::session().device_id() == kDevice);
          OPDUMP_CHILD_CHECK(acl::session().load_model(net.plan, net.model) == Status::ok);
          OPDUMP_CHILD_CHECK(net.run(recorder, 3) == 3);
          OPDUMP_CHILD_CHECK(memory.fenced == 3);
          OPDUMP_CHILD_CHECK(memory.announced == 3);
          // 2000 bytes, in pieces of 512.
          OPDUMP_CHILD_CHECK(memory.started == 12 && memory.completed == 12);
          OPDUMP_CHILD_CHECK(memory.copied == 0);
          OPDUMP_CHILD_CHECK(memory.asked == 0);
          // What dumps keeps the memory that it has.
          static AbleMemory other;
          acl::use_memory(other);
          OPDUMP_CHILD_CHECK(acl::last_error().find("use_memory") != std::string::npos);
          OPDUMP_CHILD_CHECK(net.run(recorder, 1) == 1);
          OPDUMP_CHILD_CHECK(memory.fenced == 4 && other.fenced == 0);
          // What the driver says of a loss is told.
          memory.fails = true;
          OPDUMP_CHILD_CHECK(net.run(recorder, 2) == 0);
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(heard.find("2 of 6 records lost") != std::string::npos);
          OPDUMP_CHILD_CHECK(heard.find("aclrtMemcpyAsync returned 507052") != std::string::npos);
          return 0;
        }) == 0);
  CHECK(configs.records(std::to_string(kDevice)) == 4);
  CHECK(configs.journal().find("\ndriver,aclrtMemcpyAsync,507052\nclosed,") != std::string::npos);
}

TEST_CASE("acl: a memory that the CPU may read is read where it lies") {
  const Configs configs;
  CHECK(in_child([&] {
          static OneOpNet net;
          static AbleMemory memory;
          acl::use_memory(memory);
          acl::Session::Recorder& recorder =
              *acl::session().add_recorder(MutableBytes(net.ring, 1024)).value();
          OPDUMP_CHILD_CHECK(aclInit(configs.path("inline.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::session().load_model(net.plan, net.model) == Status::ok);
          OPDUMP_CHILD_CHECK(net.run(recorder, 3) == 3);
          OPDUMP_CHILD_CHECK(memory.viewed > 0);
          OPDUMP_CHILD_CHECK(memory.started > 0);
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          return 0;
        }) == 0);
  CHECK(configs.records(std::to_string(kDevice)) == 3);
}

TEST_CASE("acl: the device is asked for overflows, and the dump of them has its records") {
  const Configs configs;
  CHECK(in_child([&] {
          static OneOpNet net;
          static AbleMemory memory;
          acl::use_memory(memory);
          acl::Session::Recorder& recorder = *acl::session().add_recorder(net.ring).value();
          OPDUMP_CHILD_CHECK(aclInit(configs.path("overflow.json").c_str()) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(acl::session().load_model(net.plan, net.model) == Status::ok);
          net.run(recorder, 2);
          OPDUMP_CHILD_CHECK(memory.asked == 2);
          OPDUMP_CHILD_CHECK(acl::session().overflows() == 0);
          memory.over = true;
          net.run(recorder, 1);
          OPDUMP_CHILD_CHECK(memory.asked == 3);
          OPDUMP_CHILD_CHECK(acl::session().overflows() == 1);
          OPDUMP_CHILD_CHECK(aclFinalize() == ACL_SUCCESS);
          return 0;
        }) == 0);
  CHECK(configs.records(std::to_string(kDevice)) == 1);
}

TEST_CASE("acl: between two dumps the memory and its device may change") {
  const Configs configs;
  CHECK(in_child([&] {
          static OneOpNet net;
          static AbleMemory memory;
          acl::Session::Recorder& recorder = *acl::session().add_recorder(net.ring).value();
          OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
          for (const std::uint32_t device : {0u, 2u, 5u}) {
            memory.device = device;
            if (device != 0) acl::use_memory(memory);
            OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(aclmdlSetDump(configs.path("list.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().device_id() == device);
            OPDUMP_CHILD_CHECK(acl::session().load_model(net.plan, net.model) == Status::ok);
            OPDUMP_CHILD_CHECK(net.run(recorder, 1) == 1);
            OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().unload_model(net.plan) == Status::ok);
          }
          OPDUMP_CHILD_CHECK(memory.fenced == 2);
          return 0;
        }) == 0);
  for (const char* device : {"0", "2", "5"}) CHECK(configs.records(device) == 1);
}

TEST_CASE("acl: models that come and go each take a config of their own, as often as they like") {
  const Configs configs;
  CHECK(in_child([&] {
          static OneOpNet net;
          acl::Session::Recorder& recorder = *acl::session().add_recorder(net.ring).value();
          OPDUMP_CHILD_CHECK(aclInit(nullptr) == ACL_SUCCESS);
          OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_SUCCESS);
          for (int i = 0; i < 300; ++i) {
            OPDUMP_CHILD_CHECK(aclmdlSetDump(configs.path("list.json").c_str()) == ACL_SUCCESS);
            OPDUMP_CHILD_CHECK(acl::session().load_model(net.plan, net.model) == Status::ok);
            OPDUMP_CHILD_CHECK(net.run(recorder, 1) == 1);
            OPDUMP_CHILD_CHECK(acl::session().unload_model(net.plan) == Status::ok);
          }
          OPDUMP_CHILD_CHECK(aclmdlFinalizeDump() == ACL_SUCCESS);
          return 0;
        }) == 0);
  CHECK(configs.records("0") == 300);
}

namespace {

struct CDevice {
  int copied = 0, fenced = 0, asked = 0;
  int over = 0;
};

opdump_status c_copy(void* context, void* to, uint64_t from, size_t bytes) {
  ++static_cast<CDevice*>(context)->copied;
  std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
  return OPDUMP_OK;
}

opdump_status c_fence(void* context, uint32_t stream_id) {
  static_cast<CDevice*>(context)->fenced += stream_id == kStream ? 1 : 0;
  return OPDUMP_OK;
}

opdump_status c_overflowed(void* context, uint32_t stream_id, int* over) {
  CDevice& device = *static_cast<CDevice*>(context);
  device.asked += stream_id == kStream ? 1 : 0;
  *over = device.over;
  return OPDUMP_OK;
}

void c_hear(void*, const char* line, size_t bytes) {
  heard.append(line, bytes).append("\n");
}

/// A program in C behind the ACL calls; returns what it captured of 3 steps.
int run_in_c(const char* config, std::uint32_t overflowing) {
  static CDevice device;
  opdump_memory memory = {};
  memory.struct_bytes = sizeof memory;
  memory.context = &device;
  memory.copy = c_copy;
  memory.fence = c_fence;
  opdump_acl_memory use = {};
  use.struct_bytes = sizeof use;
  use.memory = &memory;
  use.context = &device;
  use.overflowed = c_overflowed;
  use.device_id = kDevice;
  if (opdump_acl_use_memory(&use) != OPDUMP_OK) return -1;
  opdump_acl_log_to(c_hear, nullptr);
  if (aclInit(config) != ACL_SUCCESS) return -2;
  if (opdump_acl_use_memory(&use) != OPDUMP_ERR_ALREADY_INITIALISED) return -3;

  opdump_session* const session = opdump_acl_session();
  opdump_recorder_options options = {};
  options.struct_bytes = sizeof options;
  options.ring_bytes = 8192;
  std::vector<char> recorder_memory(opdump_recorder_size(&options));
  opdump_recorder* recorder = nullptr;
  if (opdump_recorder_add(session, &options, recorder_memory.data(), recorder_memory.size(), &recorder) !=
      OPDUMP_OK)
    return -4;
  opdump_op op = {};
  op.name = "conv1";
  op.type = "Conv2D";
  op.stream_id = kStream;
  opdump_model_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.name = "net";
  desc.id = 1;
  desc.op_count = 1;
  desc.ops = &op;
  std::vector<char> model_memory(opdump_model_size(&desc));
  opdump_model* model = nullptr;
  if (opdump_model_load(session, &desc, model_memory.data(), model_memory.size(), &model) != OPDUMP_OK)
    return -5;
  static float values[16] = {};
  const uint64_t dims[] = {16};
  opdump_tensor tensor = {};
  tensor.address = address_of(values);
  tensor.bytes = sizeof values;
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.shape = dims;
  tensor.rank = 1;
  for (std::uint32_t step = 0; step < 3; ++step) {
    device.over = step < overflowing ? 1 : 0;
    if (opdump_begin_step(recorder, model) != OPDUMP_OK) return -6;
    if (opdump_wants(recorder, 0) != 0 && opdump_capture(recorder, 0, nullptr, 0, &tensor, 1) != OPDUMP_OK)
      return -7;
    if (opdump_end_step(recorder) != OPDUMP_OK) return -8;
  }
  opdump_counts counts;
  if (opdump_session_counts(session, &counts, sizeof counts) != OPDUMP_OK) return -9;
  if (opdump_recorder_remove(recorder) != OPDUMP_OK || opdump_model_unload(model) != OPDUMP_OK) return -10;
  if (aclFinalize() != ACL_SUCCESS) return -11;
  if (device.fenced == 0 || (overflowing != 0 && device.asked != 3)) return -12;
  return static_cast<int>(overflowing == 0 ? counts.captured : opdump_session_overflows(session));
}

}  // namespace

TEST_CASE("acl: a runtime in C gives the session its memory, recorders and models") {
  const Configs configs;
  CHECK(in_child([&] {
          OPDUMP_CHILD_CHECK(run_in_c(configs.path("list.json").c_str(), 0) == 3);
          OPDUMP_CHILD_CHECK(heard.find("net") != std::string::npos);
          return 0;
        }) == 0);
  CHECK(configs.records(std::to_string(kDevice)) == 3);
  const Configs others;
  CHECK(in_child([&] { return run_in_c(others.path("overflow.json").c_str(), 2) == 2 ? 0 : 1; }) == 0);
  CHECK(others.records(std::to_string(kDevice)) == 2);
}

TEST_CASE("acl: what a program in C gets wrong is told") {
  CHECK(in_child([] {
          OPDUMP_CHILD_CHECK(opdump_acl_use_memory(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
          opdump_memory memory = {};
          memory.struct_bytes = sizeof memory;
          opdump_acl_memory use = {};
          use.struct_bytes = sizeof use;
          use.memory = &memory;
          OPDUMP_CHILD_CHECK(opdump_acl_use_memory(&use) == OPDUMP_ERR_INVALID_ARGUMENT);
          OPDUMP_CHILD_CHECK(opdump_acl_use_product(2) == OPDUMP_ERR_INVALID_ARGUMENT);
          OPDUMP_CHILD_CHECK(opdump_acl_use_product(OPDUMP_ACL_SERVER) == OPDUMP_OK);
          OPDUMP_CHILD_CHECK(aclmdlInitDump() == ACL_ERROR_UNINITIALIZE);
          char text[8];
          const std::size_t bytes = opdump_acl_last_error(nullptr, 0);
          OPDUMP_CHILD_CHECK(bytes > 7);
          OPDUMP_CHILD_CHECK(opdump_acl_last_error(text, sizeof text) == bytes);
          OPDUMP_CHILD_CHECK(std::string(text) == "aclInit");
          return 0;
        }) == 0);
}
