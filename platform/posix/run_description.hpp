#pragma once
#include <cstdint>
#include <span>

#include "opdump/types/model.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Writes the RUN.json that `opdump check --model`, `verify --model` and `replay` take: the names, types and ids of
/// all operators of `models`, and their tensors as far as `ModelDesc::tensors` describes them, filled with zeros.
/// Replaces a file of that name. Elements without a fixed size or a dtype are described as bytes. `invalid_argument`
/// for a name that is not UTF-8, which JSON cannot hold; `no_memory`; or an error of the file. Allocates.
[[nodiscard]] Status describe_models(const char* path, std::span<const ModelDesc* const> models,
                                     std::uint32_t device_id);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
