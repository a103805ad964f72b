#pragma once
#include <string_view>
#include <vector>

namespace opdump::tool {

/// One file of the skeleton of a port.
struct SkeletonFile {
  const char* name;
  const char* text;
};

// Both languages.
extern const SkeletonFile port_config;
extern const SkeletonFile next_steps;

extern const SkeletonFile cpp_memory;
extern const SkeletonFile cpp_sink;
extern const SkeletonFile cpp_clock;
extern const SkeletonFile cpp_main;
extern const SkeletonFile cpp_makefile;

extern const SkeletonFile c_port;
extern const SkeletonFile c_memory;
extern const SkeletonFile c_sink;
extern const SkeletonFile c_clock;
extern const SkeletonFile c_main;
extern const SkeletonFile c_makefile;

/// The files of a port in "c" or "c++". The first three hold one place to fill in each, in the order of their
/// marks. Empty for any other language.
std::vector<SkeletonFile> skeleton_of(std::string_view language);

}  // namespace opdump::tool
