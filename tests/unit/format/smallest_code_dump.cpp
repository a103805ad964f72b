#undef OPDUMP_SMALL_CODE
#undef OPDUMP_JOURNAL
#undef OPDUMP_STATISTICS
#define OPDUMP_SMALL_CODE 1
#define OPDUMP_JOURNAL 0
#define OPDUMP_STATISTICS 0
#include "tests/support/dump_of_all.hpp"

std::map<std::string, std::string> dump_of_smallest_code() {
  return dump_of_all(opdump::DumpData::tensor);
}

std::size_t overflows_listed_in_smallest_code() {
  static constexpr opdump::ModelRule kRules[] = {{.any_model = true}};
  static constexpr opdump::OpDesc kOps[] = {{.name = "op", .type = "T"}};
  static constexpr opdump::ModelDesc kModel = {.name = "m", .ops = kOps};
  DumpFiles files;
  FileMap sink(files);
  opdump::HostMemory memory;
  CountedClock clock;
  std::byte scratch[1024];
  alignas(8) std::byte ring[2048];
  opdump::BasicSession<opdump::HostMemory> session(
      {.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  auto& recorder = *session.add_recorder(ring).value();
  opdump::ModelPlanFor<1> plan;
  const opdump::Dim dims[] = {4};
  const opdump::TensorView tensor = {opdump::address_of(data_of_all().data()), 16, opdump::DType::float32,
                                     opdump::Format::nd, dims};
  if (session.init() != opdump::Status::ok ||
      session.set_config({.active = true, .dump_path = "d", .models = kRules}) != opdump::Status::ok ||
      session.load_model(plan, kModel) != opdump::Status::ok ||
      recorder.begin_step(plan) != opdump::Status::ok ||
      recorder.capture_overflow(0, {}, {&tensor, 1}, {}) != opdump::Status::ok)
    return 0;
  static_cast<void>(recorder.end_step());
  while (session.drain_some(SIZE_MAX) != 0) {
  }
  static_cast<void>(session.finalize());
  return files.size();
}
