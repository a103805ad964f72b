#pragma once
#include "opdump/attach.h"
#include "src/c_api/c_layout.hpp"

/// How the structs of attach.h lie in memory, which is promised as those of opdump.h are.

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

OPDUMP_LAYOUT(opdump_attach_options, 32, 20, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(say, 8, 4),
              OPDUMP_FIELD(context, 16, 8), OPDUMP_FIELD(device_id, 24, 12),
              OPDUMP_FIELD(max_threads, 28, 16));
OPDUMP_LAYOUT(opdump_attach_counts, 24, 24, OPDUMP_FIELD(failed_calls, 0, 0),
              OPDUMP_FIELD(first_failure, 8, 8), OPDUMP_FIELD(threads, 12, 12),
              OPDUMP_FIELD(shared_threads, 16, 16), OPDUMP_FIELD(repeated_names, 20, 20));
OPDUMP_LAYOUT(opdump_attach_model_options, 40, 28, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(name, 8, 4),
              OPDUMP_FIELD(graph_name, 16, 8), OPDUMP_FIELD(id, 24, 12), OPDUMP_FIELD(dynamic, 28, 16),
              OPDUMP_FIELD(max_ops, 32, 20), OPDUMP_FIELD(reserved, 36, 24));
OPDUMP_LAYOUT(opdump_attach_op, 72, 48, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(op, 8, 4),
              OPDUMP_FIELD(flags, 64, 40), OPDUMP_FIELD(reserved, 68, 44));
OPDUMP_LAYOUT(opdump_attach_tensor, 88, 56, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(data, 8, 4),
              OPDUMP_FIELD(bytes, 16, 8), OPDUMP_FIELD(dtype, 24, 16), OPDUMP_FIELD(format, 28, 20),
              OPDUMP_FIELD(rank, 32, 24), OPDUMP_FIELD(original_rank, 36, 28), OPDUMP_FIELD(dims, 40, 32),
              OPDUMP_FIELD(strides, 48, 36), OPDUMP_FIELD(read, 56, 40), OPDUMP_FIELD(context, 64, 44),
              OPDUMP_FIELD(original_dims, 72, 48), OPDUMP_FIELD(name, 80, 52));
OPDUMP_LAYOUT(opdump_quant_params, 80, 56, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(scheme, 8, 4),
              OPDUMP_FIELD(axis, 12, 8), OPDUMP_FIELD(scales, 16, 12), OPDUMP_FIELD(zero_points, 24, 16),
              OPDUMP_FIELD(exponents, 32, 20), OPDUMP_FIELD(table, 40, 24), OPDUMP_FIELD(block_type, 48, 28),
              OPDUMP_FIELD(first, 56, 32), OPDUMP_FIELD(count, 64, 40), OPDUMP_FIELD(block_elements, 68, 44),
              OPDUMP_FIELD(block_bytes, 72, 48), OPDUMP_FIELD(reserved, 76, 52));
OPDUMP_LAYOUT(opdump_attach_tensor_info, 48, 32, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(name, 8, 4),
              OPDUMP_FIELD(dims, 16, 8), OPDUMP_FIELD(quant, 24, 12), OPDUMP_FIELD(rank, 32, 16),
              OPDUMP_FIELD(dtype, 36, 20), OPDUMP_FIELD(constant, 40, 24), OPDUMP_FIELD(reserved, 44, 28));
OPDUMP_LAYOUT(opdump_attach_op_info, 48, 32, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(inputs, 8, 4),
              OPDUMP_FIELD(outputs, 16, 8), OPDUMP_FIELD(attributes, 24, 12),
              OPDUMP_FIELD(input_count, 32, 16), OPDUMP_FIELD(output_count, 36, 20),
              OPDUMP_FIELD(attribute_count, 40, 24), OPDUMP_FIELD(flags, 44, 28));
OPDUMP_LAYOUT(opdump_attach_model_info, 24, 12, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(runtime, 8, 4),
              OPDUMP_FIELD(sha256, 16, 8));

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
