#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

std::vector<SkeletonFile> skeleton_of(std::string_view language) {
  if (language == "c++")
    return {cpp_memory, cpp_sink, cpp_clock, cpp_main, cpp_makefile, port_config, next_steps};
  if (language == "c")
    return {c_memory, c_sink, c_clock, c_port, c_main, c_makefile, port_config, next_steps};
  return {};
}

}  // namespace opdump::tool
