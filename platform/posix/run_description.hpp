#pragma once
#include <cstdint>
#include <span>

#include "opdump/types/model.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Writes the RUN.json that `opdump check --model`, `verify --model` and `replay` take: the names, types and
/// ids of all operators of `models`, and their tensors as far as `ModelDesc::tensors` tells them, filled with
/// zeros. A file of that name is replaced. Elements without a fixed size or a dtype are described as bytes.
/// `invalid_argument` for a name that JSON cannot hold as it is not UTF-8, `no_memory`, or an error of the
/// file's. Allocates.
[[nodiscard]] Status describe_models(const char* path, std::span<const ModelDesc* const> models,
                                     std::uint32_t device_id);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
