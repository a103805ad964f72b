#pragma once
#include <cstddef>
#include <string_view>

#include "src/tool/read/run/json_fields.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Reads what is to go wrong, for models and a number of steps that have been read.
class RunFaultReader {
 public:
  RunFaultReader(JsonFields& fields, const RunFile& run) : fields_(fields), run_(run) {}

  bool read(const config::JsonNode& node, const config::KeyPath& path, RunFault& fault);

 private:
  bool check_step(const config::JsonNode& node, const config::KeyPath& path, const RunFault& fault);
  bool find_model(const config::JsonNode& node, const config::KeyPath& path, std::size_t& index);
  bool find_op(const config::JsonNode& node, const config::KeyPath& path, std::string_view key,
               const RunModel& model, std::size_t& index);
  bool check_floats(const config::JsonNode& node, const config::KeyPath& path, const RunFault& fault);
  bool check_victim(const config::JsonNode& node, const config::KeyPath& path, RunFault& fault);

  JsonFields& fields_;
  const RunFile& run_;
};

}  // namespace opdump::tool
