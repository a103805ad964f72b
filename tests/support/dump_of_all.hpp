#pragma once
/// A dump of operators of every kind, the same in each build of opdump: knobs that leave something out must
/// not change a byte of what stays. All in an unnamed namespace, as each includer has its own opdump.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "opdump/parts/all.hpp"
#include "opdump/session.hpp"
#include "platform/host/host_memory.hpp"

/// What the tensors hold. One for all builds, as records tell where their tensors lie.
std::span<std::byte, 4096> data_of_all();

namespace {

/// Contents by path; of journals there are none.
using DumpFiles = std::map<std::string, std::string>;

class FileMap final : public opdump::Sink {
 public:
  explicit FileMap(DumpFiles& files) : files_(files) {}

  opdump::Result<opdump::ObjectId> begin(const opdump::ObjectName& name) override {
    const std::string path = std::string(name.directory) + "/" + std::string(name.file);
    if (files_.contains(path)) return opdump::Status::already_exists;
    open_[++last_].first = path;
    return opdump::ObjectId{last_};
  }
  opdump::Status append(opdump::ObjectId object, std::span<const opdump::Bytes> parts) override {
    for (const opdump::Bytes part : parts)
      open_.at(static_cast<std::uint32_t>(object))
          .second.append(reinterpret_cast<const char*>(part.data()), part.size());
    return opdump::Status::ok;
  }
  opdump::Status commit(opdump::ObjectId object, opdump::ObjectId with) override {
    files_.insert(open_.extract(static_cast<std::uint32_t>(object)).mapped());
    return with == opdump::kNoObject ? opdump::Status::ok : commit(with, opdump::kNoObject);
  }
  void abort(opdump::ObjectId object) override { open_.erase(static_cast<std::uint32_t>(object)); }
  opdump::Status append_lines(const opdump::ObjectName&, std::span<const opdump::Bytes>) override {
    return opdump::Status::ok;
  }
  opdump::Status sync() override { return opdump::Status::ok; }

 private:
  DumpFiles& files_;
  std::map<std::uint32_t, std::pair<std::string, std::string>> open_;
  std::uint32_t last_ = 0;
};

struct CountedClock final : opdump::Clock {
  std::uint64_t unix_us() override { return now += 3; }
  std::int32_t utc_offset_seconds() override { return 0; }
  std::uint32_t monotonic_ms() override { return 0; }
  void pause() override {}
  std::uint64_t now = 1'700'000'000'000'000;
};

/// One operator with its tensors.
struct OpOfAll {
  std::string name;
  std::vector<opdump::TensorView> inputs, outputs;
};

std::vector<OpOfAll> ops_of_all(std::span<std::byte, 4096> data) {
  static constexpr opdump::Dim kDims[] = {2, 3, 5, 7, 1, 1, 2, 1, 4096, 0};
  const auto tensor = [data](opdump::DType dtype, opdump::Shape shape) {
    const std::uint64_t bytes = opdump::packed_bytes(dtype, shape).value();
    return opdump::TensorView{
        .address = opdump::address_of(data.data()), .bytes = bytes, .dtype = dtype, .shape = shape};
  };
  std::vector<OpOfAll> ops;
  // Those that each build knows.
  for (int code = 0; code <= static_cast<int>(opdump::DType::variant); ++code) {
    const opdump::TensorView one = tensor(static_cast<opdump::DType>(code), {kDims, 2});
    ops.push_back({"dtype" + std::to_string(code), {one}, {one, one}});
  }
  const opdump::TensorView plain = tensor(opdump::DType::float32, {kDims, 3});
  opdump::TensorView told = plain;
  told.format = opdump::Format::nc1hwc0;
  told.original_format = opdump::Format::nchw;
  told.original_dtype = opdump::DType::float16;
  told.original_shape = {kDims + 1, 4};
  told.original_name = "fused/\xc3\xa4";
  told.original_index = 7;
  told.address_kind = opdump::AddressKind::nano_weight;
  ops.push_back({"told", {told, plain}, {plain, told}});
  ops.push_back({"name.with/\xc3\xa4 in it", {}, {plain}});
  ops.push_back({"inputs only", {plain, told}, {}});
  ops.push_back({"scalar", {tensor(opdump::DType::int8, {})}, {}});
  ops.push_back({"rank8", {tensor(opdump::DType::uint8, {kDims, 8})}, {}});
  ops.push_back({"larger than the ring", {plain}, {tensor(opdump::DType::uint8, {kDims + 8, 1}), told}});
  ops.push_back({"partly empty", {tensor(opdump::DType::int32, {kDims + 8, 2}), plain}, {}});
  ops.push_back({"empty", {tensor(opdump::DType::int32, {kDims + 8, 2})}, {}});
  opdump::TensorView lying = plain;
  --lying.bytes;
  ops.push_back({"lying", {lying}, {plain}});
  return ops;
}

/// `overflow`: only of operators that overflow, in a dump where all elements are NaN that can be.
DumpFiles dump_of_all(opdump::DumpData kind, bool overflow = false) {
  DumpFiles files;
  FileMap sink(files);
  CountedClock clock;
  opdump::HostMemory memory;
  opdump::AllParts<opdump::HostMemory> all_parts(memory);
  std::byte scratch[1024];
  alignas(8) std::byte ring[4096];
  auto parts = all_parts.added_to({.memory = memory,
                                   .sink = sink,
                                   .clock = clock,
                                   .scratch = scratch,
                                   .when_full = opdump::WhenFull::inline_drain});
  parts.restorer = nullptr;  // A lean build restores nothing.
  opdump::BasicSession<opdump::HostMemory> session(parts);
  auto& recorder = *session.add_recorder(ring).value();
  const std::span<std::byte, 4096> data = data_of_all();
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(overflow ? 0xff : i * 7 + i / 256);
  const std::vector<OpOfAll> all = ops_of_all(data);
  std::vector<opdump::OpDesc> ops;
  for (const OpOfAll& op : all)
    ops.push_back({.name = op.name, .type = "T y/p.e", .task_id = 12, .stream_id = 345});
  const opdump::ModelDesc model = {.name = "net", .id = 9, .ops = ops};
  const opdump::ModelRule any[] = {{.any_model = true}};
  opdump::ModelPlan plan;
  std::vector<std::uint8_t> bits(ops.size());
  const opdump::DumpConfig config = {.active = true,
                                     .dump_path = "/d",
                                     .mode = opdump::DumpMode::all,
                                     .single_ops = true,
                                     .models = any,
                                     .form = {.data = kind},
                                     .overflow_number = 100,
                                     .overflow = overflow};
  if (session.init() != opdump::Status::ok || session.set_config(config) != opdump::Status::ok ||
      session.load_model(plan, model, bits) != opdump::Status::ok)
    return files;
  for (int step = 0; step < 3; ++step) {
    static_cast<void>(recorder.begin_step(plan));
    for (std::size_t i = 0; i < all.size(); ++i)
      static_cast<void>(recorder.capture(i, all[i].inputs, all[i].outputs));
    static_cast<void>(recorder.end_step());
    static_cast<void>(recorder.capture_single_op(ops[1], all[1].inputs, all[1].outputs));
  }
  if (session.finalize() != opdump::Status::ok) files.clear();
  return files;
}

}  // namespace
