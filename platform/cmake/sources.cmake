# The sources of the library, relative to the repository; tests/package/cmake_test.py holds them to those of Meson.

set(opdump_vector_sources
  src/kernels/statistics/kernels_avx2.cpp
  src/kernels/statistics/kernels_avx512.cpp
  src/kernels/statistics/kernels_neon.cpp
  src/kernels/statistics/kernels_sse2.cpp
)
set(opdump_core_sources
  src/format/relayout.cpp
  src/kernels/crc32c.cpp
  src/kernels/non_finite.cpp
  src/kernels/statistics/kernels.cpp
)
set(opdump_c_sources
  src/c_api/c_callback_sink.cpp
  src/c_api/c_config.cpp
  src/c_api/c_extras.cpp
  src/c_api/c_faults.cpp
  src/c_api/c_flash_log.cpp
  src/c_api/c_log.cpp
  src/c_api/c_model.cpp
  src/c_api/c_op_counts.cpp
  src/c_api/c_provenance.cpp
  src/c_api/c_recorder.cpp
  src/c_api/c_running_op.cpp
  src/c_api/c_session.cpp
  src/c_api/c_single_op.cpp
  src/c_api/c_sink.cpp
  src/c_api/c_status.cpp
)

# With simdjson.
set(opdump_config_sources
  src/config/blob/plan.cpp
  src/config/blob/plan_writer.cpp
  src/config/cann/acl_config.cpp
  src/config/cann/dump_path.cpp
  src/config/cann/dump_step.cpp
  src/config/config_error.cpp
  src/config/config_reader.cpp
  src/config/every_dialect.cpp
  src/config/json/json_tree.cpp
  src/config/json/json_windows.cpp
  src/config/json/node_reader.cpp
  src/config/options_json.cpp
  src/config/pattern/decimal_digit.cpp
  src/config/pattern/pattern_compiler.cpp
  src/config/refusal.cpp
  src/config/seal_json.cpp
  src/config/seal_key.cpp
  src/config/torchair/torchair_config.cpp
)
set(opdump_dialect_cann 1 src/config/cann/acl_json.cpp src/config/cann/acl_list.cpp)
set(opdump_dialect_mindspore 2
  src/config/mindspore/mindspore_common.cpp
  src/config/mindspore/mindspore_e2e.cpp
  src/config/mindspore/mindspore_json.cpp
  src/config/mindspore/mindspore_kernels.cpp
  src/config/mindspore/mindspore_object.cpp
  src/config/mindspore/mindspore_statistics.cpp
)
set(opdump_dialect_torchair 4 src/config/torchair/torchair_json.cpp)
set(opdump_dialect_lite 8 src/config/lite/lite_json.cpp)

# With an operating system.
set(opdump_system_sources
  platform/ascend/chunk_dump.cpp
  platform/flashlog/log_reader.cpp
  platform/flashlog/impl/log_runs.cpp
  platform/posix/config_file.cpp
  platform/posix/dump_store.cpp
  platform/posix/exception_environment.cpp
  platform/posix/flash_file.cpp
  platform/posix/run_description.cpp
  platform/posix/impl/dump_path.cpp
  platform/posix/impl/kernel_types.cpp
  platform/posix/impl/name_search.cpp
  platform/posix/impl/pattern_set.cpp
  platform/posix/time/processor_counter.cpp
  platform/posix/tree/tree_files.cpp
  platform/posix/tree/tree_quota.cpp
  platform/posix/tree_sink.cpp
  platform/storage/log_claim.cpp
  platform/storage/raw_storage.cpp
)
set(opdump_system_c_sources
  src/c_api/c_chunks.cpp
  src/c_api/c_config_text.cpp
  src/c_api/c_crash.cpp
  src/c_api/c_system.cpp
)
# Compiled as programs are: with exceptions and type information.
set(opdump_hosted_sources
  platform/posix/file_dump.cpp
  src/attach/c_attach.cpp
  src/attach/c_card.cpp
  src/attach/card_file.cpp
  src/attach/card_notes.cpp
  src/attach/dump_object.cpp
  src/attach/model_object.cpp
  src/attach/onnx_nodes.cpp
  src/attach/op_names.cpp
  src/attach/runtime_maps.cpp
  src/attach/strided_source.cpp
  src/attach/tensor_list.cpp
  src/attach/thread_table.cpp
  src/card/attribute_json.cpp
  src/card/card_json.cpp
  src/card/json_writer.cpp
  src/card/sha256.cpp
)
set(opdump_acl_sources
  src/acl/acl_calls.cpp
  src/acl/acl_session.cpp
  src/acl/process_dump.cpp
  src/acl/routed_sink.cpp
)
