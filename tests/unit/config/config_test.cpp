#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/config_corpus.hpp"
#include "tests/support/config_print.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

std::vector<std::string> layers_of(const ModelRule& rule) {
  return {rule.layers.begin(), rule.layers.end()};
}

using Names = std::vector<std::string>;

const ConfigCorpus kCorpus("", parse_file);

/// Which of two reasons there is depends on what simdjson makes use of: not all other machines' are tried.
const std::string kReasonOfBackslash = OPDUMP_TEST_SHARE > 1 ? "" : "a key in double quotes is expected here";

const std::vector<RefusedCase> kRefused = {
    // clang-format off
    {"arrays_nested_11_deep", ConfigFault::too_deep, "", "more than 10 objects or 10 arrays inside one another;", 1, 17},
    {"backslash_hides_a_quote", ConfigFault::syntax, "", "a backslash may only stand inside a string", 1, 7},
    {"backslash_outside_string", ConfigFault::syntax, "", kReasonOfBackslash, 1, 10},
    {"bad_escape_in_unread_key", ConfigFault::syntax, "", "a backslash in this string starts nothing that JSON knows", 1, 2},
    {"bad_number_nobody_reads", ConfigFault::syntax, "", "not a number that JSON allows", 1, 16},
    {"bad_utf8", ConfigFault::syntax, "", "not UTF-8: save the file in that encoding", 2, 4},
    {"blacklist_101_names", ConfigFault::invalid_value, "dump.dump_list[0].opname_blacklist", "101 entries, and at most 100 are allowed", 3, 83},
    {"blacklist_101_types", ConfigFault::invalid_value, "dump.dump_list[0].optype_blacklist", "101 entries, and at most 100 are allowed", 3, 83},
    {"blacklist_before_range", ConfigFault::conflict, "dump.dump_list[0].optype_blacklist", "must be written: the default is \"all\"", 3, 85},
    {"blacklist_count_before_level", ConfigFault::invalid_value, "dump.dump_list[0].optype_blacklist", "101 entries, and at most 100 are allowed", 3, 63},
    {"blacklist_entry_is_string", ConfigFault::wrong_type, "dump.dump_list[0].opname_blacklist[0]", "must be an object", 3, 64},
    {"blacklist_is_object", ConfigFault::wrong_type, "dump.dump_list[0].optype_blacklist", "must be an array", 3, 63},
    {"blacklist_name_is_number", ConfigFault::wrong_type, "dump.dump_list[0].opname_blacklist[0].name", "must be a string", 3, 73},
    {"blacklist_pos_is_string", ConfigFault::wrong_type, "dump.dump_list[0].optype_blacklist[0].pos", "must be an array", 3, 105},
    {"blacklist_pos_member_is_number", ConfigFault::wrong_type, "dump.dump_list[0].optype_blacklist[0].pos[0]", "must be a string", 3, 86},
    {"blacklist_with_default_level", ConfigFault::conflict, "dump.dump_list[0].opname_blacklist", "must be written: the default is \"all\"", 3, 63},
    {"blacklist_with_level_all", ConfigFault::conflict, "dump.dump_list[0].optype_blacklist", "must be written: the default is \"all\"", 3, 84},
    {"blacklist_with_level_kernel", ConfigFault::conflict, "dump.dump_list[0].opname_blacklist", "must be written: the default is \"all\"", 3, 87},
    {"comment", ConfigFault::syntax, "", "a key in double quotes is expected here", 2, 3},
    {"data_before_level", ConfigFault::not_in_list, "dump.dump_data", "allowed: \"tensor\", \"stats\"", 3, 60},
    {"data_empty", ConfigFault::empty, "dump.dump_data", "allowed: \"tensor\", \"stats\"", 3, 41},
    {"data_is_null", ConfigFault::wrong_type, "dump.dump_data", "must be a string", 3, 18},
    {"data_unknown", ConfigFault::not_in_list, "dump.dump_data", "did you mean \"tensor\"?", 3, 41},
    {"debug_before_scene", ConfigFault::not_in_list, "dump.dump_debug", "allowed: \"off\", \"on\"", 3, 61},
    {"debug_empty", ConfigFault::empty, "dump.dump_debug", "allowed: \"off\", \"on\"", 3, 42},
    {"debug_is_boolean", ConfigFault::wrong_type, "dump.dump_debug", "must be a string", 3, 19},
    {"debug_unknown", ConfigFault::not_in_list, "dump.dump_debug", "allowed: \"off\", \"on\"", 3, 42},
    {"debug_with_op_switch", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_op_switch\": \"on\": switch one off", 3, 42},
    {"debug_with_op_switch_before_step", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_op_switch\": \"on\": switch one off", 3, 42},
    {"debug_without_path", ConfigFault::missing, "dump.dump_path", "missing: name the directory to write to", 2, 11},
    {"dump_before_options", ConfigFault::empty, "dump.dump_path", "present but empty: name the directory to write to", 2, 25},
    {"dump_is_array", ConfigFault::wrong_type, "dump", "must be an object", 1, 10},
    {"dump_is_null", ConfigFault::wrong_type, "dump", "must be an object", 1, 10},
    {"duplicate_key_last_is_wrong", ConfigFault::wrong_type, "dump.dump_mode", "must be a string", 3, 61},
    {"empty_layer_before_watcher_nodes", ConfigFault::empty, "dump.dump_list[0].layer", "present but empty: name operators, or leave the key out to m", 3, 52},
    {"exception_bad_mode", ConfigFault::not_in_list, "dump.dump_mode", "allowed: \"input\", \"output\", \"all\"", 3, 53},
    {"exception_brief_with_debug", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_scene\": \"aic_err_brief_dump\": le", 3, 55},
    {"exception_brief_with_op_switch", ConfigFault::conflict, "dump.dump_op_switch", "\"on\" does not go with \"dump_scene\": \"aic_err_brief_dump\": le", 3, 59},
    {"exception_detail_with_debug", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_scene\": \"aic_err_detail_dump\": l", 3, 56},
    {"exception_detail_with_op_switch", ConfigFault::conflict, "dump.dump_op_switch", "\"on\" does not go with \"dump_scene\": \"aic_err_detail_dump\": l", 3, 60},
    {"exception_list_is_object", ConfigFault::wrong_type, "dump.dump_list", "must be an array", 3, 53},
    {"exception_lite_with_debug", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_scene\": \"lite_exception\": leave ", 3, 51},
    {"exception_lite_with_op_switch", ConfigFault::conflict, "dump.dump_op_switch", "\"on\" does not go with \"dump_scene\": \"lite_exception\": leave ", 3, 55},
    {"exception_norm_with_debug", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_scene\": \"aic_err_norm_dump\": lea", 3, 54},
    {"exception_norm_with_op_switch", ConfigFault::conflict, "dump.dump_op_switch", "\"on\" does not go with \"dump_scene\": \"aic_err_norm_dump\": lea", 3, 58},
    {"exception_unknown_stat", ConfigFault::not_in_list, "dump.dump_stats[0]", "did you mean \"Max\"?", 3, 55},
    {"first_item_before_second", ConfigFault::conflict, "dump.dump_list[0].opname_range", "must be written: the default is \"all\"", 3, 59},
    {"kernel_data_before_stats", ConfigFault::not_in_list, "dump.dump_kernel_data", "allowed: \"all\", \"printf\", \"tensor\", \"assert\", \"timestamp\"", 3, 69},
    {"kernel_data_blank", ConfigFault::not_in_list, "dump.dump_kernel_data", "did you mean \"printf\"?", 3, 48},
    {"kernel_data_empty_part", ConfigFault::empty, "dump.dump_kernel_data", "allowed: \"all\", \"printf\", \"tensor\", \"ass", 3, 48},
    {"kernel_data_is_array", ConfigFault::wrong_type, "dump.dump_kernel_data", "must be a string", 3, 25},
    {"kernel_data_trailing_comma", ConfigFault::empty, "dump.dump_kernel_data", "allowed: \"all\", \"printf\", \"tensor\", \"assert\", \"timestamp\"", 3, 48},
    {"kernel_data_unknown", ConfigFault::not_in_list, "dump.dump_kernel_data", "did you mean \"assert\"?", 3, 48},
    {"kernel_data_whole_empty", ConfigFault::empty, "dump.dump_kernel_data", "allowed: \"all\", \"printf\", \"tensor\", \"assert\", \"timestamp\"", 3, 48},
    {"key_without_quotes", ConfigFault::syntax, "", "a key in double quotes is expected here", 1, 2},
    {"layer_empty", ConfigFault::empty, "dump.dump_list[0].layer", "present but empty: name operators, or leave the key out to", 3, 71},
    {"layer_is_string", ConfigFault::wrong_type, "dump.dump_list[1].layer", "must be an array", 6, 36},
    {"layer_member_is_number", ConfigFault::wrong_type, "dump.dump_list[0].layer[2]", "must be a string", 3, 63},
    {"level_before_debug", ConfigFault::not_in_list, "dump.dump_level", "allowed: \"op\", \"kernel\", \"all\"", 3, 61},
    {"level_empty", ConfigFault::empty, "dump.dump_level", "allowed: \"op\", \"kernel\", \"all\"", 3, 42},
    {"level_is_number", ConfigFault::wrong_type, "dump.dump_level", "must be a string", 3, 19},
    {"level_unknown", ConfigFault::not_in_list, "dump.dump_level", "allowed: \"op\", \"kernel\", \"all\"", 3, 42},
    {"line_break_in_string", ConfigFault::syntax, "", "a line break or control character inside a string: close", 1, 26},
    {"list_before_stats", ConfigFault::empty, "dump.dump_list[0].layer", "present but empty: name operators, or leave the key out to m", 3, 70},
    {"list_is_object", ConfigFault::wrong_type, "dump.dump_list", "must be an array", 3, 41},
    {"list_item_is_string", ConfigFault::wrong_type, "dump.dump_list[1]", "must be an object", 3, 46},
    {"lone_high_surrogate", ConfigFault::syntax, "", "a backslash in this string starts nothing that JSON knows", 1, 12},
    {"lone_low_surrogate", ConfigFault::syntax, "", "a backslash in this string starts nothing that JSON knows", 1, 12},
    {"missing_colon", ConfigFault::syntax, "", "a colon is missing after this key", 1, 2},
    {"missing_comma", ConfigFault::syntax, "", "a comma or } is missing before this", 4, 5},
    {"missing_value", ConfigFault::syntax, "", "a value is missing or misspelt here", 1, 24},
    {"misspelt_literal", ConfigFault::syntax, "", "only true, false and null need no quotes", 1, 19},
    {"misspelt_null", ConfigFault::syntax, "", "only true, false and null need no quotes", 1, 12},
    {"mode_empty", ConfigFault::empty, "dump.dump_mode", "allowed: \"input\", \"output\", \"all\"", 3, 41},
    {"mode_is_array", ConfigFault::wrong_type, "dump.dump_mode", "must be a string", 3, 18},
    {"mode_near_miss", ConfigFault::not_in_list, "dump.dump_mode", "did you mean \"output\"?", 4, 18},
    {"mode_wrong_case", ConfigFault::not_in_list, "dump.dump_mode", "did you mean \"all\"?", 3, 41},
    {"model_before_layer", ConfigFault::empty, "dump.dump_list[0].model_name", "present but empty: name a model, or leave the key out to", 3, 70},
    {"model_name_empty", ConfigFault::empty, "dump.dump_list[1].model_name", "present but empty: name a model, or leave the key out to", 3, 78},
    {"model_name_is_array", ConfigFault::wrong_type, "dump.dump_list[0].model_name", "must be a string", 3, 57},
    {"nul_byte", ConfigFault::syntax, "", "the JSON value ends before this: remove what follows it", 1, 13},
    {"number_beyond_double", ConfigFault::syntax, "", "not a number that JSON allows", 1, 12},
    {"objects_nested_11_deep", ConfigFault::too_deep, "", "more than 10 objects or 10 arrays inside one another;", 1, 61},
    {"only_an_opening_bracket", ConfigFault::syntax, "", "the text ends too early: a value or a closing bracket is", 1, 2},
    {"only_blanks", ConfigFault::syntax, "", "there is no JSON in the text: write an object, or make the", 1, 1},
    {"op_switch_empty", ConfigFault::empty, "dump.dump_op_switch", "allowed: \"off\", \"on\"", 3, 46},
    {"op_switch_is_boolean", ConfigFault::wrong_type, "dump.dump_op_switch", "must be a string", 3, 23},
    {"op_switch_unknown", ConfigFault::not_in_list, "dump.dump_op_switch", "did you mean \"on\"?", 3, 46},
    {"opening_brackets_in_a_string", ConfigFault::too_deep, "", "more than 10 objects or 10 arrays inside one another;", 1, 45},
    {"options_format_is_null", ConfigFault::wrong_type, "opdump.file_format", "must be a string", 3, 29},
    {"options_format_unknown", ConfigFault::not_in_list, "opdump.file_format", "allowed: \"nano\", \"protobuf\", \"npy\"", 3, 29},
    {"options_fsync_is_boolean", ConfigFault::wrong_type, "opdump.fsync", "must be a string", 3, 23},
    {"options_history_zero", ConfigFault::invalid_value, "opdump.history_steps", "\"0\" is no whole number from 1 to 1000000", 3, 31},
    {"options_tokens_is_text", ConfigFault::wrong_type, "opdump.tokens", "must be an object, or a list of one for", 3, 24},
    {"options_tokens_no_object", ConfigFault::wrong_type, "opdump.tokens", "must be an object, or a list of one for", 3, 24},
    {"options_tokens_of_text", ConfigFault::wrong_type, "opdump.tokens[1]", "must be an object", 3, 29},
    {"options_tokens_unknown_key", ConfigFault::not_in_list, "opdump.tokens.position", "did you mean \"positions\"?", 3, 25},
    {"options_tokens_phase_unknown", ConfigFault::not_in_list, "opdump.tokens.phase", "allowed: \"prefill\", \"decode\", \"all\"", 3, 34},
    {"options_tokens_phase_twice", ConfigFault::conflict, "opdump.tokens[1].phase", "\"decode\" is in the list twice", 3, 56},
    {"options_tokens_phases_left_out", ConfigFault::conflict, "opdump.tokens[1]", "\"prefill\" is in the list twice: give each object a", 3, 29},
    {"options_tokens_positions_number", ConfigFault::wrong_type, "opdump.tokens.positions", "must be a string", 3, 38},
    {"options_tokens_positions_empty", ConfigFault::empty, "opdump.tokens.positions", "write numbers as \"0-63\"", 3, 38},
    {"options_tokens_positions_words", ConfigFault::invalid_value, "opdump.tokens.positions", "digits only, with | between the items", 3, 38},
    {"options_tokens_every_zero", ConfigFault::invalid_value, "opdump.tokens.every", "\"0\" is no whole number from 1 to 1000000", 3, 34},
    {"options_tokens_rows_word", ConfigFault::invalid_value, "opdump.tokens.rows", "\"first\"", 3, 33},
    {"options_tokens_rows_list", ConfigFault::wrong_type, "opdump.tokens.rows", "must be a string", 3, 33},
    {"options_tokens_heads_text", ConfigFault::wrong_type, "opdump.tokens.heads", "must be an array", 3, 34},
    {"options_tokens_heads_empty", ConfigFault::empty, "opdump.tokens.heads", "name heads as [0, 2]", 3, 34},
    {"options_tokens_heads_many", ConfigFault::invalid_value, "opdump.tokens.heads", "101 entries, and at most 100 are allowed", 3, 34},
    {"options_tokens_head_large", ConfigFault::invalid_value, "opdump.tokens.heads[1]", "\"65536\" is no whole number from 0 to 65535", 3, 38},
    {"options_tokens_kv_unknown", ConfigFault::not_in_list, "opdump.tokens.kv", "allowed: \"all\", \"new\"", 3, 31},
    {"options_tokens_bytes_zero", ConfigFault::invalid_value, "opdump.tokens.max_bytes_per_token", "\"0\" is no whole number from 1 to 9223372036854775807", 3, 48},
    {"options_tokens_of_history", ConfigFault::conflict, "opdump.tokens", "it does not go with history_steps", 3, 24},
    {"options_tokens_of_overflows", ConfigFault::conflict, "opdump.tokens", "it does not go with the dump of overflows", 3, 24},
    {"options_tokens_of_single_ops", ConfigFault::conflict, "opdump.tokens", "it does not go with dump_op_switch", 3, 24},
    {"options_watch_unknown", ConfigFault::not_in_list, "opdump.watch", "allowed: \"every\", \"verdict\"", 5, 23},
    {"options_fsync_unknown", ConfigFault::not_in_list, "opdump.fsync", "allowed: \"never\", \"finalize\", \"record\"", 3, 23},
    {"options_keep_empty", ConfigFault::empty, "opdump.keep", "present but empty; allowed: \"oldest\", \"newest\"", 3, 22},
    {"options_keep_unknown", ConfigFault::not_in_list, "opdump.keep", "allowed: \"oldest\", \"newest\"", 3, 22},
    {"options_max_bytes_too_large", ConfigFault::invalid_value, "opdump.max_bytes", "\"9223372036854775808\" is no whole number from 1 to 9223372036854775807", 3, 27},
    {"options_max_bytes_zero", ConfigFault::invalid_value, "opdump.max_bytes", "\"0\" is no whole number from 1 to 9223372036854775807", 3, 27},
    {"options_max_files_is_string", ConfigFault::wrong_type, "opdump.max_files", "must be a number", 3, 27},
    {"options_max_files_zero", ConfigFault::invalid_value, "opdump.max_files", "\"0\" is no whole number from 1 to 9223372036854775807", 3, 27},
    {"options_reserve_fraction", ConfigFault::invalid_value, "opdump.reserve_bytes", "\"1e6\" is no whole number from 0 to 9223372036854775807", 3, 31},
    {"options_reserve_negative", ConfigFault::invalid_value, "opdump.reserve_bytes", "\"-1\" is no whole number from 0 to 9223372036854775807", 3, 31},
    {"options_is_array", ConfigFault::wrong_type, "opdump", "must be an object", 3, 13},
    {"options_journal_is_boolean", ConfigFault::wrong_type, "opdump.journal", "must be a string", 3, 25},
    {"options_journal_unknown", ConfigFault::not_in_list, "opdump.journal", "\"all\" is not allowed; allowed: \"none\", \"gaps\", \"records\"", 3, 25},
    {"options_layout_empty", ConfigFault::empty, "opdump.layout", "present but empty; allowed: \"cann\", \"mindspore_ke", 3, 24},
    {"options_format_bin_alone", ConfigFault::conflict, "opdump.file_format", "\"bin\" only goes with \"layout\": \"mindspore_lite\": set that", 3, 29},
    {"options_layout_mindspore_lite_as_npy", ConfigFault::conflict, "opdump.file_format", "the files of \"layout\": \"mindspore_lite\" are \"bin\": leave thi", 3, 57},
    {"options_layout_mindspore_lite_of_single_ops", ConfigFault::conflict, "opdump.layout", "\"mindspore_lite\" has no place for operators outside a model", 3, 24},
    {"options_layout_unknown", ConfigFault::not_in_list, "opdump.layout", "allowed: \"cann\", \"mindspore_kernel\", \"mind", 3, 24},
    {"options_numbers_unknown", ConfigFault::not_in_list, "opdump.statistic_numbers", "did you mean \"nano\"?", 3, 35},
    {"options_digest_of_statistics", ConfigFault::conflict, "opdump.digest", "takes the place of statistics", 3,
     24},
    {"options_seal_empty", ConfigFault::empty, "opdump.seal", "name a public key", 3, 22},
    {"options_seal_is_number", ConfigFault::wrong_type, "opdump.seal", "must be a string", 3, 22},
    {"options_seal_too_short", ConfigFault::invalid_value, "opdump.seal", "no public key of X25519, and no file is read here", 3, 22},
    {"options_seal_private", ConfigFault::invalid_value, "opdump.seal", "no public key of X25519, and no file is read here", 3, 22},
    {"options_seal_in_another_layout", ConfigFault::conflict, "opdump.seal", "only dumps in the layout \"cann\" can be sealed", 3, 22},
    {"options_seal_with_cards", ConfigFault::conflict, "opdump.seal", "cards of models would be in clear", 3, 22},
    {"options_seal_with_tokens", ConfigFault::conflict, "opdump.seal", "the tables of \"tokens\" would be in clear", 3, 22},
    {"options_seal_with_removals", ConfigFault::conflict, "opdump.seal", "in clear, what it removes: take \"oldest\"", 3, 22},
    {"options_digest_unknown", ConfigFault::not_in_list, "opdump.digest", "sha1", 3, 24},
    {"options_privacy_empty", ConfigFault::empty, "opdump.privacy", "leave the key out to keep every tensor", 3, 25},
    {"options_privacy_is_object", ConfigFault::wrong_type, "opdump.privacy", "must be an array", 3, 25},
    {"options_privacy_without_keep", ConfigFault::missing, "opdump.privacy[0].keep", "must be there: one of \"tensor\", \"stats\"", 3, 26},
    {"options_privacy_keep_unknown", ConfigFault::not_in_list, "opdump.privacy[0].keep", "did you mean \"shape\"?", 3, 35},
    {"options_privacy_key_unknown", ConfigFault::not_in_list, "opdump.privacy[1].ops", "did you mean \"op\"?", 3, 75},
    {"options_privacy_key_twice", ConfigFault::conflict, "opdump.privacy[0].keep", "is there twice", 3, 52},
    {"options_privacy_both_roles", ConfigFault::conflict, "opdump.privacy[0].output", "make two rules of it", 3, 66},
    {"options_privacy_index_word", ConfigFault::invalid_value, "opdump.privacy[0].input", "\"every\" is neither a number nor \"all\"", 3, 55},
    {"options_privacy_index_too_large", ConfigFault::invalid_value, "opdump.privacy[0].input", "\"65535\" is no whole number from 0 to 65534", 3, 55},
    {"options_privacy_pattern", ConfigFault::invalid_value, "opdump.privacy[0].op", "a pattern has at most 255 characters", 3, 33},
    {"options_privacy_pattern_empty", ConfigFault::empty, "opdump.privacy[0].type", "leave the key out to mean every name", 3, 35},
    {"options_privacy_crop_backwards", ConfigFault::invalid_value, "opdump.privacy[0].crop[1][1]", "\"4\" is no whole number from 5 to", 3, 60},
    {"options_privacy_crop_of_nothing", ConfigFault::conflict, "opdump.privacy[0].keep", "of a tensor of which no element counts", 3, 35},
    {"options_privacy_crop_zero", ConfigFault::invalid_value, "opdump.privacy[0].crop[0]", "\"0\" is no whole number from 1 to", 3, 53},
    {"options_privacy_every_and_elements", ConfigFault::conflict, "opdump.privacy[0].elements", "\"every\" already says", 3, 68},
    {"options_privacy_every_one", ConfigFault::invalid_value, "opdump.privacy[0].every", "\"1\" is no whole number from 2 to", 3, 53},
    {"options_privacy_never_counts", ConfigFault::conflict, "opdump.privacy[1]", "the rule before it names every tensor", 3, 45},
    {"options_privacy_of_layout", ConfigFault::conflict, "opdump.privacy[0].keep", "only \"layout\": \"cann\" has a place for it", 3, 65},
    {"options_privacy_of_no_model", ConfigFault::conflict, "opdump.privacy[0].model", "\"lama\" is no model that the config names", 3, 36},
    {"options_privacy_unmatched_alone", ConfigFault::conflict, "opdump.privacy_unmatched", "there is no \"privacy\" beside it", 3, 35},
    {"options_privacy_unmatched_unknown", ConfigFault::not_in_list, "opdump.privacy_unmatched", "allowed: \"refuse\", \"tell\"", 3, 67},
    {"options_limit_is_null", ConfigFault::wrong_type, "opdump.block_limit_ms", "must be a number", 3, 32},
    {"options_limit_negative", ConfigFault::invalid_value, "opdump.block_limit_ms", "\"-1\" is no whole number from 0 to 2147483647", 3, 32},
    {"options_limit_too_large", ConfigFault::invalid_value, "opdump.block_limit_ms", "\"4294967295\" is no whole number from 0 to 2147483647", 3, 32},
    {"options_only_and_wrong", ConfigFault::wrong_type, "opdump.when_full", "must be a string", 2, 27},
    {"options_ring_fraction", ConfigFault::invalid_value, "opdump.ring_bytes", "\"65536.5\" is no whole number from 64 to 2147483648", 3, 28},
    {"options_ring_is_string", ConfigFault::wrong_type, "opdump.ring_bytes", "must be a number", 3, 28},
    {"options_ring_negative", ConfigFault::invalid_value, "opdump.ring_bytes", "\"-65536\" is no whole number from 64 to 2147483648", 3, 28},
    {"options_ring_too_large", ConfigFault::invalid_value, "opdump.ring_bytes", "\"99999999999999999999\" is no whole number from 64 to 2147483", 3, 28},
    {"options_ring_too_small", ConfigFault::invalid_value, "opdump.ring_bytes", "\"8\" is no whole number from 64 to 2147483648", 3, 28},
    {"options_unknown_key", ConfigFault::not_in_list, "opdump.ring_byte", "did you mean \"ring_bytes\"?", 3, 14},
    {"options_unknown_key_far", ConfigFault::not_in_list, "opdump.colour", "unknown key; allowed: \"ring_bytes\", \"when_full\", \"block_limi", 3, 14},
    {"options_trigger_call_and_stat", ConfigFault::conflict, "opdump.trigger[0].call", "is a trigger of its own: make two of them", 3, 101},
    {"options_trigger_call_comma", ConfigFault::invalid_value, "opdump.trigger[0].call", "a name has no comma and no end of line", 3, 55},
    {"options_trigger_call_empty", ConfigFault::empty, "opdump.trigger[0].call", "present but empty: the program calls it by this name", 3, 55},
    {"options_trigger_call_of_op", ConfigFault::conflict, "opdump.trigger[0].op", "a call of the program has none: leave it out", 3, 53},
    {"options_trigger_change_with_limit", ConfigFault::conflict, "opdump.trigger[0].above", "does not go with \"change\", which has no value", 3, 91},
    {"options_trigger_cooldown_negative", ConfigFault::invalid_value, "opdump.trigger[0].cooldown_s", "\"-1\" is no whole number from 0 to 31622400", 3, 107},
    {"options_trigger_empty", ConfigFault::empty, "opdump.trigger", "present but empty: leave the key out to write the history at", 3, 45},
    {"options_trigger_failure_in_a_row", ConfigFault::conflict, "opdump.trigger[0].for", "does not go with \"failure\": one is enough", 3, 73},
    {"options_trigger_failure_of_output", ConfigFault::conflict, "opdump.trigger[0].output", "does not go with \"failure\", which is of an operator", 3, 93},
    {"options_trigger_for_zero", ConfigFault::invalid_value, "opdump.trigger[0].for", "\"0\" is no whole number from 1 to 1000000", 3, 100},
    {"options_trigger_index_large", ConfigFault::invalid_value, "opdump.trigger[0].output", "\"65535\" is no whole number from 0 to 65534", 3, 103},
    {"options_trigger_input_and_output", ConfigFault::conflict, "opdump.trigger[0].output", "a trigger looks at one tensor: make two triggers of it", 3, 115},
    {"options_trigger_is_object", ConfigFault::wrong_type, "opdump.trigger", "an object, but it must be an array", 3, 45},
    {"options_trigger_key_unknown", ConfigFault::not_in_list, "opdump.trigger[0].cooldown", "did you mean \"cooldown_s\"?", 3, 93},
    {"options_trigger_latency_of_op", ConfigFault::conflict, "opdump.trigger[0].op", "does not go with \"latency_us\", which is of a whole step of a", 3, 53},
    {"options_trigger_limit_text", ConfigFault::wrong_type, "opdump.trigger[0].below", "a string, but it must be a number", 3, 88},
    {"options_trigger_limits_alone", ConfigFault::conflict, "opdump.trigger_limits", "there is no \"trigger\" beside it", 3, 52},
    {"options_trigger_limits_crossed", ConfigFault::conflict, "opdump.trigger[0].above", "is less than \"below\": every value would fire", 3, 102},
    {"options_trigger_limits_empty", ConfigFault::empty, "opdump.trigger_limits", "present but empty; allowed: \"bytes_per_day\", \"firings_per_da", 3, 113},
    {"options_trigger_limits_equal", ConfigFault::conflict, "opdump.trigger[0].above", "is the same as \"below\": every other value would fire", 3, 102},
    {"options_trigger_limits_unknown", ConfigFault::not_in_list, "opdump.trigger_limits.bytes_a_day", "unknown key; allowed: \"bytes_per_day\", \"firings_per_day\"", 3, 114},
    {"options_trigger_limits_zero", ConfigFault::invalid_value, "opdump.trigger_limits.firings_per_day", "\"0\" is no whole number from 1 to 4294967295", 3, 133},
    {"options_trigger_many", ConfigFault::invalid_value, "opdump.trigger", "more than 64 triggers: join some by patterns", 3, 45},
    {"options_trigger_nan_below_zero", ConfigFault::invalid_value, "opdump.trigger[0].below", "never fires: no \"nan\" is less than 0", 3, 88},
    {"options_trigger_of_no_model", ConfigFault::conflict, "opdump.trigger[0].model", "\"other\" is no model that the config names, so that the trigg", 3, 102},
    {"options_trigger_share_above_one", ConfigFault::invalid_value, "opdump.trigger[0].above", "never fires: no \"saturated\" is less than 0 or more than 1", 3, 94},
    {"options_trigger_stat_unknown", ConfigFault::not_in_list, "opdump.trigger[0].stat", "\"average\" is not allowed; allowed: \"max\", \"min\", \"mean\", \"l2", 3, 72},
    {"options_trigger_with_exception", ConfigFault::conflict, "opdump.trigger", "it does not go with the dump of failures, which captures not", 3, 45},
    {"options_trigger_with_watch", ConfigFault::conflict, "opdump.trigger", "it does not go with the watcher, whose operators are capture", 3, 45},
    {"options_trigger_without_history", ConfigFault::conflict, "opdump.trigger", "a trigger writes the steps that a history keeps: say how man", 3, 25},
    {"options_trigger_without_limit", ConfigFault::missing, "opdump.trigger[0].below", "\"below\" or \"above\" must be there: at which \"mean\" the trigge", 3, 46},
    {"options_trigger_without_op", ConfigFault::missing, "opdump.trigger[0].op", "must be there: whose tensor is looked at", 3, 46},
    {"options_trigger_without_stat", ConfigFault::missing, "opdump.trigger[0].stat", "must be there: one of \"max\", \"min\", \"mean\", \"l2norm\", \"nan\",", 3, 46},
    {"options_when_full_empty", ConfigFault::empty, "opdump.when_full", "present but empty; allowed: \"drop\", \"block\", \"inline\", \"degr", 3, 27},
    {"options_when_full_is_number", ConfigFault::wrong_type, "opdump.when_full", "must be a string", 3, 27},
    {"options_when_full_unknown", ConfigFault::not_in_list, "opdump.when_full", "did you mean \"degrade\"?", 3, 27},
    {"path_address_then_blank", ConfigFault::invalid_value, "dump.dump_path", "the path \"my dump\" after the address may consist of", 3, 18},
    {"path_address_then_quote", ConfigFault::invalid_value, "dump.dump_path", "the path \"a\"b\" after the address may consist of letters,", 3, 18},
    {"path_address_without_rest", ConfigFault::invalid_value, "dump.dump_path", "no such directory", 3, 18},
    {"path_before_step", ConfigFault::missing, "dump.dump_path", "missing: name the directory to write to", 2, 11},
    {"path_does_not_exist", ConfigFault::invalid_value, "dump.dump_path", "no such directory", 3, 18},
    {"path_empty", ConfigFault::empty, "dump.dump_path", "present but empty: name the directory to write to", 3, 18},
    {"path_is_null", ConfigFault::wrong_type, "dump.dump_path", "must be a string", 3, 18},
    {"path_is_number", ConfigFault::wrong_type, "dump.dump_path", "must be a string", 3, 18},
    {"path_key_misspelt", ConfigFault::missing, "dump.dump_path", "is \"dump_pat\" a slip of the keys?", 2, 11},
    {"path_missing", ConfigFault::missing, "dump.dump_path", "missing: name the directory to write to", 2, 11},
    {"path_of_513_bytes", ConfigFault::invalid_value, "dump.dump_path", "the path has 513 bytes, and at most 512 are allowed", 3, 18},
    {"path_with_nul", ConfigFault::invalid_value, "dump.dump_path", "the path \"a?b\" contains a NUL byte", 3, 18},
    {"range_begin_empty", ConfigFault::invalid_value, "dump.dump_list[0].opname_range[0].begin", "empty: a range names its first operator in \"begin\" and its l", 3, 109},
    {"range_end_empty", ConfigFault::invalid_value, "dump.dump_list[0].opname_range[1].end", "empty: a range names its first operator in \"begin\" and its l", 3, 149},
    {"range_end_is_number", ConfigFault::wrong_type, "dump.dump_list[0].opname_range[0].end", "must be a string", 3, 82},
    {"range_entry_is_string", ConfigFault::wrong_type, "dump.dump_list[0].opname_range[0]", "must be an object", 3, 99},
    {"range_is_object", ConfigFault::wrong_type, "dump.dump_list[0].opname_range", "must be an array", 3, 79},
    {"range_level_before_model", ConfigFault::conflict, "dump.dump_list[0].opname_range", "must be written: the default is \"all\"", 3, 59},
    {"range_with_default_level", ConfigFault::conflict, "dump.dump_list[0].opname_range", "must be written: the default is \"all\"", 3, 59},
    {"range_with_empty_model", ConfigFault::empty, "dump.dump_list[0].model_name", "present but empty: an item with opname_range names its model", 3, 101},
    {"range_with_level_all", ConfigFault::conflict, "dump.dump_list[0].opname_range", "must be written: the default is \"all\"", 3, 99},
    {"range_without_begin", ConfigFault::invalid_value, "dump.dump_list[0].opname_range[0].begin", "missing: a range names its first operator in \"begin\" and its", 3, 99},
    {"range_without_end", ConfigFault::invalid_value, "dump.dump_list[0].opname_range[0].end", "missing: a range names its first operator in \"begin\" and its", 3, 99},
    {"range_without_model", ConfigFault::missing, "dump.dump_list[0].model_name", "missing: an item with opname_range names its model", 3, 62},
    {"real_depth_hidden_by_strings", ConfigFault::too_deep, "", "nested more than 64 levels deep", 1, 385},
    {"root_array_not_closed", ConfigFault::syntax, "", "the text ends too early: a value or a closing bracket is", 2, 1},
    {"scene_before_kernel_data", ConfigFault::not_in_list, "dump.dump_scene", "allowed: \"lite_exception\", \"aic_err_brief_dump\", \"aic_err_no", 3, 67},
    {"scene_conflict_before_path", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_scene\": \"watcher\": leave one out", 3, 44},
    {"scene_empty", ConfigFault::empty, "dump.dump_scene", "allowed: \"lite_exception\", \"aic_err_brie", 3, 42},
    {"scene_is_object", ConfigFault::wrong_type, "dump.dump_scene", "must be a string", 3, 19},
    {"scene_unknown", ConfigFault::not_in_list, "dump.dump_scene", "did you mean \"watcher\"?", 3, 42},
    {"single_quotes", ConfigFault::syntax, "", "a key in double quotes is expected here", 1, 2},
    {"stats_empty", ConfigFault::empty, "dump.dump_stats", "allowed: \"Max\", \"Min\", \"Avg\", \"Nan\", \"Negative Inf\", \"Positi", 3, 64},
    {"stats_empty_without_data", ConfigFault::empty, "dump.dump_stats", "allowed: \"Max\", \"Min\", \"Avg\", \"Nan\", \"Negative Inf\", \"Positi", 3, 42},
    {"stats_is_string", ConfigFault::wrong_type, "dump.dump_stats", "must be an array", 3, 19},
    {"stats_member_is_number", ConfigFault::wrong_type, "dump.dump_stats[1]", "must be a string", 3, 27},
    {"stats_two_blanks", ConfigFault::not_in_list, "dump.dump_stats[0]", "did you mean \"Negative Inf\"?", 3, 65},
    {"stats_unknown", ConfigFault::not_in_list, "dump.dump_stats[1]", "did you mean \"Negative Inf\"?", 3, 72},
    {"stats_with_tensor", ConfigFault::conflict, "dump.dump_stats", "only goes with \"dump_data\": \"stats\": set that, or leave this", 3, 65},
    {"stats_without_data", ConfigFault::conflict, "dump.dump_stats", "only goes with \"dump_data\": \"stats\": set that, or leave this", 3, 42},
    {"stats_wrong_case", ConfigFault::not_in_list, "dump.dump_stats[0]", "did you mean \"Max\"?", 3, 65},
    {"step_101_items", ConfigFault::invalid_value, "dump.dump_step", "101 items, and at most 100 are allowed: join neighbouring", 3, 41},
    {"step_backwards_from_the_largest", ConfigFault::invalid_value, "dump.dump_step", "the range \"9223372036854775807-9223372036854775806\" runs back", 3, 41},
    {"step_backwards", ConfigFault::invalid_value, "dump.dump_step", "the range \"5-3\" runs backwards: the smaller step comes", 3, 41},
    {"step_before_list", ConfigFault::invalid_value, "dump.dump_step", "the item \"a\" is neither a step nor a range: write 5 or 3-5,", 3, 41},
    {"step_blank", ConfigFault::invalid_value, "dump.dump_step", "the item \" 2\" is neither a step nor a range: write 5 or", 3, 41},
    {"step_empty_item", ConfigFault::invalid_value, "dump.dump_step", "the item \"\" is neither a step nor a range: write 5 or 3-5,", 3, 41},
    {"step_is_number", ConfigFault::wrong_type, "dump.dump_step", "must be a string", 3, 41},
    {"step_letter", ConfigFault::invalid_value, "dump.dump_step", "the item \"a\" is neither a step nor a range: write 5 or 3-5,", 3, 41},
    {"step_negative", ConfigFault::invalid_value, "dump.dump_step", "the item \"-1\" is neither a step nor a range: write 5 or", 3, 41},
    {"step_newline", ConfigFault::invalid_value, "dump.dump_step", "the item \"1?\" is neither a step nor a range: write 5 or", 3, 41},
    {"step_open_range", ConfigFault::invalid_value, "dump.dump_step", "the item \"3-\" is neither a step nor a range: write 5 or", 3, 41},
    {"step_three_parts", ConfigFault::invalid_value, "dump.dump_step", "the item \"1-2-3\" is neither a step nor a range: write 5 or", 3, 41},
    {"step_trailing_bar", ConfigFault::invalid_value, "dump.dump_step", "the item \"\" is neither a step nor a range: write 5 or 3-5,", 3, 41},
    {"string_not_closed", ConfigFault::syntax, "", "this string is not closed: a \" is missing", 1, 24},
    {"trailing_bracket", ConfigFault::syntax, "", "the JSON value ends before this: remove what follows it", 2, 1},
    {"trailing_comma", ConfigFault::syntax, "", "a key in double quotes is expected here", 2, 29},
    {"trailing_comma_in_array", ConfigFault::syntax, "", "a value is missing or misspelt here", 1, 28},
    {"trailing_text", ConfigFault::syntax, "", "the JSON value ends before this: remove what follows it", 2, 1},
    {"truncated", ConfigFault::syntax, "", "the text ends too early: a value or a closing bracket is", 1, 27},
    {"truncated_array", ConfigFault::syntax, "", "the text ends too early: a value or a closing bracket is", 1, 27},
    {"type_before_value", ConfigFault::wrong_type, "dump.dump_list", "must be an array", 3, 39},
    {"type_blacklist_before_name_blacklist", ConfigFault::conflict, "dump.dump_list[0].optype_blacklist", "must be written: the default is \"all\"", 3, 89},
    {"type_blacklist_with_default_level", ConfigFault::conflict, "dump.dump_list[0].optype_blacklist", "must be written: the default is \"all\"", 3, 63},
    {"type_order_mode_before_step", ConfigFault::wrong_type, "dump.dump_mode", "must be a string", 3, 34},
    {"unknown_escape", ConfigFault::syntax, "", "a backslash in this string starts nothing that JSON knows", 1, 24},
    {"value_before_path", ConfigFault::not_in_list, "dump.dump_mode", "allowed: \"input\", \"output\", \"all\"", 3, 18},
    {"value_order_mode_before_level", ConfigFault::not_in_list, "dump.dump_mode", "allowed: \"input\", \"output\", \"all\"", 3, 37},
    {"watcher_bad_step", ConfigFault::invalid_value, "dump.dump_step", "the item \"a\" is neither a step nor a range: write 5 or 3-5, ", 3, 66},
    {"watcher_member_is_null", ConfigFault::wrong_type, "dump.dump_list[0].watcher_nodes[0]", "must be a string", 3, 61},
    {"watcher_nodes_before_blacklist", ConfigFault::conflict, "dump.dump_list[0].watcher_nodes", "only goes with \"dump_scene\": \"watcher\": set that, or leave t", 3, 86},
    {"watcher_nodes_beside_single_ops", ConfigFault::conflict, "dump.dump_list[0].watcher_nodes", "only goes with \"dump_scene\": \"watcher\": set that, or leave t", 3, 84},
    {"watcher_nodes_empty", ConfigFault::empty, "dump.dump_list[0].watcher_nodes", "present but empty: name the operators to watch", 3, 85},
    {"watcher_nodes_without_scene", ConfigFault::conflict, "dump.dump_list[1].watcher_nodes", "only goes with \"dump_scene\": \"watcher\": set that, or leave t", 3, 64},
    {"watcher_with_debug", ConfigFault::conflict, "dump.dump_debug", "\"on\" does not go with \"dump_scene\": \"watcher\": leave one out", 3, 67},
    {"watcher_with_mode_all", ConfigFault::conflict, "dump.dump_mode", "\"all\" does not go with \"dump_scene\": \"watcher\": leave one ou", 3, 66},
    {"watcher_with_mode_input", ConfigFault::conflict, "dump.dump_mode", "\"input\" does not go with \"dump_scene\": \"watcher\": leave one ", 3, 66},
    {"watcher_with_model", ConfigFault::conflict, "dump.dump_list[0].model_name", "does not go with \"dump_scene\": \"watcher\", which holds for ev", 3, 106},
    {"watcher_with_op_switch", ConfigFault::conflict, "dump.dump_op_switch", "\"on\" does not go with \"dump_scene\": \"watcher\": leave one out", 3, 71},
    {"watcher_without_nodes", ConfigFault::missing, "dump.dump_list[0].watcher_nodes", "missing: with \"dump_scene\": \"watcher\" every item names the o", 3, 67},
    {"watcher_without_path", ConfigFault::missing, "dump.dump_path", "missing: name the directory to write to", 2, 11},
    // clang-format on
};

}  // namespace

TEST_CASE("config: every file of accept/ is active, those of inactive/ are not") {
  for (const std::string folder : {"accept", "inactive"}) {
    kCorpus.check_accepted(folder, [&](const ParsedConfig& parsed) {
      CHECK(acl_error(parsed.error) == 0);
      CHECK(parsed.config.active == (folder == "accept"));
    });
  }
}

TEST_CASE("config: every file of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused(kRefused);
}

TEST_CASE(
    "config: the parser of acl.json alone says of it what that of all dialects does, and refuses others") {
  const auto parse = [](std::string_view text, std::vector<std::byte>& memory, DumpConfig& config,
                        ConfigError& error) {
    memory.resize(config_memory_bytes(text.size()));
    Arena arena(memory);
    return parse_acl_config(text, arena, check_path, config, error);
  };
  for (const char* folder : {"accept", "inactive", "refuse"}) {
    for (const std::string& name : names_in(corpus(folder))) {
      CAPTURE(name);
      const std::string text = read_file(corpus(folder) / name);
      const ParsedConfig all(text, check_path, {});
      std::vector<std::byte> memory;
      DumpConfig config;
      ConfigError error;
      CHECK(parse(text, memory, config, error) == all.status);
      CHECK(to_string(error, name) == to_string(all.error, name));
      CHECK(to_text(config) == to_text(all.config));
    }
  }
  for (const char* name : {"mindspore/accept/documented_o2.json", "torchair/accept/data_stats.json"}) {
    CAPTURE(name);
    std::vector<std::byte> memory;
    DumpConfig config;
    ConfigError error;
    const std::string text = read_file(corpus(name));
    REQUIRE(ParsedConfig(text).status == Status::ok);
    CHECK(parse(text, memory, config, error) == Status::config_refused);
    CHECK(error.key == (name[0] == 'm' ? "common_dump_settings" : "dump_config"));
    CHECK(error.reason == "of a dialect that this program was built without: it reads CANN's acl.json only");
    CHECK_FALSE(config.asked);
  }
  std::vector<std::byte> memory;
  DumpConfig config;
  ConfigError error;
  const std::string plan = read_file(corpus("accept").parent_path().parent_path() / "plan" / "version3.plan");
  CHECK(parse(plan, memory, config, error) == Status::config_refused);
}

TEST_CASE(
    "config: a key whose reader the program does not ask for is refused at its place, and never ignored") {
  const std::string seal(64, 'a');
  const struct {
    std::string key;
    std::string value;
    std::string reason;
    const OptionReader* ConfigContext::*reader;
    const OptionReader* asked;
  } keys[] = {
      {"privacy", R"([{"keep": "nothing"}])", "this program does not read it: nothing is dumped",
       &ConfigContext::privacy, privacy_reader()},
      {"privacy_unmatched", R"("tell")", "this program does not read it: nothing is dumped",
       &ConfigContext::privacy, privacy_reader()},
      {"seal", '"' + seal + '"', "this program does not read it: nothing is dumped", &ConfigContext::seal,
       seal_reader()},
      {"tokens", R"({"phase": "all"})",
       "only a program that tells its tokens, by attach.h, can follow it: leave it out",
       &ConfigContext::tokens, tokens_reader()},
      {"trigger", R"([{"call": "door"}])", "this program does not read it: nothing is dumped",
       &ConfigContext::triggers, trigger_reader()},
  };
  for (const auto& key : keys) {
    CAPTURE(key.key);
    const std::string text =
        R"({"dump": {"dump_path": "output", "dump_list": [{}]}, "opdump": {)" +
        std::string(key.key == "privacy_unmatched" ? R"("privacy": [{"keep": "nothing"}], )" : "") +
        std::string(key.key == "trigger" ? R"("history_steps": 2, )" : "") + '"' + key.key +
        "\": " + key.value + "}}";
    const std::string first = key.key == "privacy_unmatched" ? "privacy" : key.key;
    ConfigContext every = {.privacy = privacy_reader(),
                           .seal = seal_reader(),
                           .tokens = tokens_reader(),
                           .triggers = trigger_reader()};
    ConfigContext one;
    one.*key.reader = key.asked;
    every.*key.reader = nullptr;
    const ParsedConfig unread(text, check_path, every);
    CHECK(unread.status == Status::config_refused);
    CHECK(unread.error.fault == ConfigFault::conflict);
    CHECK(unread.error.key == "opdump." + first);
    CHECK(unread.error.reason == key.reason);
    CHECK(unread.error.column > text.find('"' + first + '"'));
    CHECK_FALSE(unread.config.asked);
    CHECK(ParsedConfig(text, check_path, one).status == Status::ok);
    std::vector<std::byte> memory(config_memory_bytes(text.size()));
    for (const ConfigContext* context : {&one, &every}) {
      Arena arena(memory);
      DumpConfig config;
      ConfigError error;
      CHECK(parse_acl_config(text, arena, check_path, config, error, nullptr, *context) ==
            (context == &one ? Status::ok : Status::config_refused));
      CHECK(error.key == (context == &one ? "" : "opdump." + first));
    }
  }
}

TEST_CASE("config: the documented model dump") {
  const ParsedConfig parsed = parse_file("accept", "documented_model_dump");
  REQUIRE(parsed.status == Status::ok);
  CHECK(parsed.config.dump_path == "/home/output");
  CHECK(parsed.config.mode == DumpMode::output);
  CHECK(parsed.config.level == DumpLevel::all);
  CHECK_FALSE(parsed.config.single_ops);
  CHECK(parsed.config.steps.every_step());
  REQUIRE(parsed.config.models.size() == 2);
  CHECK(parsed.config.models[0].model_name == "ResNet-101");
  CHECK_FALSE(parsed.config.models[0].any_model);
  CHECK(parsed.config.models[0].all_layers);
  CHECK(parsed.config.models[1].model_name == "ResNet-50");
  CHECK_FALSE(parsed.config.models[1].all_layers);
  CHECK(layers_of(parsed.config.models[1]) ==
        Names{"conv1conv1_relu", "res2a_branch2ares2a_branch2a_relu", "res2a_branch1", "pool1"});
}

TEST_CASE("config: single operators") {
  const ParsedConfig documented = parse_file("accept", "documented_single_op");
  CHECK(documented.config.single_ops);
  CHECK(documented.config.models.empty());

  const ParsedConfig partly_empty = parse_file("accept", "empty_model_and_layer_beside_single_ops");
  CHECK(partly_empty.config.single_ops);
  REQUIRE(partly_empty.config.models.size() == 1);
  CHECK(partly_empty.config.models[0].model_name == "m");
}

TEST_CASE("config: an item without a model holds for every model") {
  const ParsedConfig everything = parse_file("accept", "empty_item_means_everything");
  REQUIRE(everything.config.models.size() == 1);
  CHECK(everything.config.models[0].any_model);
  CHECK(everything.config.models[0].all_layers);

  const ParsedConfig layers = parse_file("accept", "layers_without_model");
  REQUIRE(layers.config.models.size() == 1);
  CHECK(layers.config.models[0].any_model);
  CHECK_FALSE(layers.config.models[0].all_layers);
  CHECK(layers_of(layers.config.models[0]) == Names{"A", "B"});
}

TEST_CASE("config: the items keep the order of the file") {
  const ParsedConfig parsed = parse_file("accept", "same_model_twice");
  REQUIRE(parsed.config.models.size() == 2);
  CHECK(layers_of(parsed.config.models[0]) == Names{"a"});
  CHECK(layers_of(parsed.config.models[1]) == Names{"b"});
}

TEST_CASE("config: mode and level") {
  CHECK(parse_file("accept", "mode_input").config.mode == DumpMode::input);
  CHECK(parse_file("accept", "mode_all").config.mode == DumpMode::all);
  CHECK(parse_file("accept", "level_op").config.level == DumpLevel::op);
  CHECK(parse_file("accept", "level_kernel").config.level == DumpLevel::kernel);
  CHECK(parse_file("accept", "level_all").config.level == DumpLevel::all);
}

TEST_CASE("config: of a key that stands twice, the last one counts") {
  const ParsedConfig parsed = parse_file("accept", "duplicate_key_last_wins");
  CHECK(parsed.config.mode == DumpMode::input);
  CHECK(parsed.config.dump_path == "output");
}

TEST_CASE("config: steps") {
  const ParsedConfig parsed = parse_file("accept", "steps");
  const StepSet& steps = parsed.config.steps;
  CHECK_FALSE(steps.every_step());
  CHECK(steps.ranges.size() == 6);
  for (const std::uint64_t step : {0ull, 3ull, 4ull, 5ull, 7ull, 9ull, 18446744073709551615ull})
    CHECK(steps.contains(step));
  for (const std::uint64_t step : {1ull, 2ull, 6ull, 8ull, 10ull, 18446744073709551614ull})
    CHECK_FALSE(steps.contains(step));
  CHECK(parse_file("accept", "steps_empty_means_every_step").config.steps.every_step());
  CHECK(parse_file("accept", "steps_100_items").config.steps.ranges.size() == 100);
  const ParsedConfig large = parse_file("accept", "step_beyond_64_bits");
  CHECK(large.config.steps.contains(UINT64_MAX));
  CHECK(large.config.steps.contains(9));
  CHECK_FALSE(large.config.steps.contains(8));
  const ParsedConfig turned = parse_file("accept", "step_range_beyond_what_cann_compares");
  CHECK(turned.config.steps.contains(9223372036854775808u));
}

TEST_CASE("config: an address before the path is cut off, and the rest lies below the current directory") {
  CHECK(parse_file("accept", "path_with_address").config.dump_path == ".//home/dump");
  CHECK(parse_file("accept", "path_with_lenient_address").config.dump_path == "./a:b");
  CHECK(parse_file("accept", "path_with_dot_behind_address").config.dump_path == "./missing/dump");
  CHECK(parse_file("accept", "path_octet_beyond_255_is_local").config.dump_path == "192.168.1.265:x");
  CHECK(parse_file("accept", "path_with_five_parts_is_local").config.dump_path == "1.2.3.4.5:x");

  const auto path_of = [](const std::string& path) {
    return ParsedConfig("{\"dump\": {\"dump_path\": \"" + path + "\"}}");
  };
  for (const char* local : {"missing.2.3.4:x", "missing", "missing:x"}) {
    CAPTURE(local);
    CHECK(path_of(local).error.reason == "no such directory");
  }
  for (const char* local :
       {"256.1.1.1:x", "-1.1.1.1:x", "1..1.1:x", "1.1.1:x", "99999999999.1.1.1:x", "+.1.1.1:x"}) {
    CAPTURE(local);
    CHECK(path_of(local).config.dump_path == local);
  }
  for (const char* remote : {"0.0.0.0:missing", "255.255.255.255:missing", "-0.1.1.1:missing"}) {
    CAPTURE(remote);
    CHECK(path_of(remote).config.dump_path == "./missing");
  }
  for (const char* bad : {"1.2.3.4:a~", "1.2.3.4:<", "1.2.3.4:>", "1.2.3.4:a|b", "1.2.3.4:ä", "1.2.3.4:'"}) {
    CAPTURE(bad);
    CHECK(path_of(bad).error.fault == ConfigFault::invalid_value);
  }
  CHECK(path_of("1.2.3.4:aZ09-=[];\\\\,./!@#$%^&*()_+{}:?").status == Status::ok);
}

TEST_CASE("config: without a path check the path is taken as it is") {
  const std::string text = "{\"dump\": {\"dump_path\": \"missing\"}}";
  CHECK(ParsedConfig(text).status == Status::config_refused);
  CHECK(ParsedConfig(text, nullptr).status == Status::ok);
}

TEST_CASE("config: texts are unescaped and outlive the file's text") {
  std::string text = read_file(corpus("accept") / "escapes.json");
  const ParsedConfig parsed(text);
  text.assign(text.size(), '#');
  REQUIRE(parsed.config.models.size() == 1);
  CHECK(parsed.config.models[0].model_name == "a\\b/c\"d");
  CHECK(layers_of(parsed.config.models[0]) == Names{"\b\f\n\r\t", "A\u00df"});
  CHECK(parse_file("accept", "path_with_spaces_and_unicode").config.dump_path ==
        "Ausgabe f\u00fcr \u00e4 \U0001f600");
}

TEST_CASE("config: an escaped key is the same key") {
  CHECK(ParsedConfig("{\"d\\u0075mp\": {\"dump_path\": \"missing\"}}").error.key == "dump.dump_path");
}

TEST_CASE("config: long and odd values are shortened in the reason") {
  const ParsedConfig parsed("{\"dump\": {\"dump_mode\": \"" + repeated("\u00e4", 1000) + "\"}}");
  CHECK(parsed.error.fault == ConfigFault::not_in_list);
  CHECK(parsed.error.reason.starts_with('"' + repeated("\u00e4", 32) + "...\""));
}
