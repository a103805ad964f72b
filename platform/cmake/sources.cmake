# The sources of the library, relative to the repository; tests/package/cmake_test.py holds them to those of Meson.

# opdump_sources(RESULT BEFORE NAMES...): the files of those names, each with BEFORE before it.
macro(opdump_sources result before)
  set(${result} ${ARGN})
  list(TRANSFORM ${result} REPLACE "(.+)" "${before}\\1.cpp")
endmacro()

set(opdump_vector_sources
  src/kernels/statistics/kernels_avx2.cpp
  src/kernels/statistics/kernels_neon.cpp
  src/kernels/statistics/kernels_sse2.cpp
)
set(opdump_core_sources
  src/format/relayout.cpp
  src/kernels/crc32c.cpp
  src/kernels/non_finite.cpp
  src/kernels/statistics/kernels.cpp
)
opdump_sources(opdump_c_sources src/c_api/c_
  callback_sink config extras faults fed_flash flash_log history_sink log model recorder
  running_op sealed_sink session status trigger_sink
)

# With simdjson.
opdump_sources(opdump_config_sources src/config/
  blob/plan blob/plan_writer cann/acl_config cann/dump_path cann/dump_step config_error config_reader
  every_dialect glob_reader json/json_tree json/json_windows json/node_reader options_json privacy_json
  pattern/decimal_digit pattern/pattern_compiler refusal seal_json seal_key torchair/torchair_config
  trigger_json
)
set(opdump_dialect_cann 1 src/config/cann/acl_json.cpp src/config/cann/acl_list.cpp)
set(opdump_dialect_mindspore 2
  src/config/mindspore/mindspore_common.cpp src/config/mindspore/mindspore_e2e.cpp
  src/config/mindspore/mindspore_json.cpp src/config/mindspore/mindspore_kernels.cpp
  src/config/mindspore/mindspore_object.cpp src/config/mindspore/mindspore_statistics.cpp
)
set(opdump_dialect_torchair 4 src/config/torchair/torchair_json.cpp)
set(opdump_dialect_lite 8 src/config/lite/lite_json.cpp)

# With an operating system.
opdump_sources(opdump_system_sources platform/
  ascend/chunk_dump flashlog/log_reader flashlog/impl/damaged_places flashlog/impl/log_runs
  flashlog/impl/lost_blocks posix/config_file posix/dump_store posix/exception_environment posix/base/flash_file
  posix/host_sealer posix/run_description posix/impl/dump_path posix/impl/kernel_types posix/impl/name_search
  posix/impl/pattern_set posix/time/processor_counter posix/tree/appended_file posix/tree/journal_room
  posix/tree/short_journal posix/tree/tree_files posix/tree/tree_quota posix/tree_sink storage/log_claim
  storage/raw_storage
)
opdump_sources(opdump_system_c_sources src/c_api/c_
  chunks config_text trigger_config crash system system_sealer
)
# Compiled as programs are: with exceptions and type information.
opdump_sources(opdump_hosted_sources src/attach/
  c_attach c_card card_file card_notes dump_object model_failure model_object onnx_nodes op_names runtime_maps
  strided_source tensor_list thread_table
)
list(APPEND opdump_hosted_sources platform/posix/file_dump.cpp)
opdump_sources(opdump_card_sources src/card/
  attribute_json card_json json_writer sha256
)
opdump_sources(opdump_acl_sources src/acl/
  acl_calls acl_session process_dump routed_sink
)
