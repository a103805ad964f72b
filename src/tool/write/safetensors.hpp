#pragma once
#include <optional>
#include <string>

#include "opdump/types/format.hpp"

namespace opdump::tool {

/// What `opdump convert --to safetensors` was asked for.
struct SafetensorsSettings {
  std::string dump;
  std::string output;              ///< directory
  bool overwrite = false;          ///< the directory may have something in it
  std::optional<Format> format{};  ///< tensors of other formats are rearranged
};

/// Writes `step{S}.safetensors` for each step; says what it wrote and what it could not. Returns the exit
/// status. Source: the format's specification, github.com/huggingface/safetensors.
int write_safetensors(const SafetensorsSettings& settings);

}  // namespace opdump::tool
