#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/config_cases.hpp"
#include "tests/support/config_corpus.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/trigger_case.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

ParsedConfig parse_case(const std::string& folder, const std::string& name) {
  return ParsedConfig(read_file(corpus("mindspore/" + folder) / (name + ".json")), check_path,
                      context_of(name));
}

const ConfigCorpus kCorpus("mindspore/", parse_case);

const std::vector<RefusedCase> kRefused = {
    // clang-format off
    {"categories_is_string", ConfigFault::wrong_type, "common_dump_settings.statistic_category", "a string, but it must be an array", 2, 226},
    {"category_in_capitals", ConfigFault::not_in_list, "common_dump_settings.statistic_category[0]", "\"MAX\" is not allowed; allowed: \"max\", \"min\", \"avg\", \"count\",", 2, 222},
    {"category_is_number", ConfigFault::wrong_type, "common_dump_settings.statistic_category[0]", "a number, but it must be a string", 2, 227},
    {"category_unknown", ConfigFault::not_in_list, "common_dump_settings.statistic_category[1]", "\"average\" is not allowed; allowed: \"max\", \"min\", \"avg\", \"cou", 2, 234},
    {"category_unknown_to_device", ConfigFault::not_in_list, "common_dump_settings.statistic_category[0]", "\"md6\" is not allowed; allowed: \"max\", \"min\", \"avg\", \"count\",", 2, 227},
    {"common_is_array", ConfigFault::missing, "common_dump_settings.dump_mode", "missing: MindSpore wants it even where it has no effect", 1, 26},
    {"cpu_dump_mode_2", ConfigFault::conflict, "common_dump_settings.dump_mode", "2 (what set_dump marks) is for Ascend only: set 0 or 1", 2, 41},
    {"debug_mode_before_overflow_number", ConfigFault::not_in_list, "common_dump_settings.op_debug_mode", "9 is not allowed; allowed: 0, 1, 2, 3, 4", 2, 174},
    {"devices_before_debug_mode", ConfigFault::wrong_type, "common_dump_settings.support_device", "a number, but it must be an array", 2, 152},
    {"devices_beyond_32_bits", ConfigFault::invalid_value, "common_dump_settings.support_device[0]", "4294967296 is beyond the largest number, 4294967295", 2, 153},
    {"devices_is_number", ConfigFault::wrong_type, "common_dump_settings.support_device", "a number, but it must be an array", 2, 152},
    {"devices_of_booleans", ConfigFault::wrong_type, "common_dump_settings.support_device[0]", "true or false, but it must be a number", 2, 153},
    {"devices_of_strings", ConfigFault::wrong_type, "common_dump_settings.support_device[0]", "a string, but it must be a number", 2, 153},
    {"dump_mode_before_path", ConfigFault::not_in_list, "common_dump_settings.dump_mode", "9 is not allowed; allowed: 0, 1, 2", 2, 41},
    {"dump_mode_beyond_32_bits", ConfigFault::invalid_value, "common_dump_settings.dump_mode", "4294967296 is beyond the largest number, 4294967295", 2, 41},
    {"dump_mode_boolean", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "true or false, but it must be a number", 2, 41},
    {"dump_mode_exponent", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "1e0, but it must be a whole number, without sign, point or e", 2, 41},
    {"dump_mode_fraction", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "1.0, but it must be a whole number, without sign, point or e", 2, 41},
    {"dump_mode_minus_zero", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "-0, but it must be a whole number, without sign, point or ex", 2, 41},
    {"dump_mode_missing", ConfigFault::missing, "common_dump_settings.dump_mode", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"dump_mode_negative", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "-1, but it must be a whole number, without sign, point or ex", 2, 41},
    {"dump_mode_null", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "null, but it must be a number", 2, 41},
    {"dump_mode_string", ConfigFault::wrong_type, "common_dump_settings.dump_mode", "a string, but it must be a number", 2, 41},
    {"dump_mode_too_large", ConfigFault::not_in_list, "common_dump_settings.dump_mode", "3 is not allowed; allowed: 0, 1, 2", 2, 41},
    {"duplicate_key_last_counts", ConfigFault::not_in_list, "common_dump_settings.dump_mode", "7 is not allowed; allowed: 0, 1, 2", 3, 56},
    {"e2e_before_missing_key", ConfigFault::wrong_type, "e2e_dump_settings.enable", "a number, but it must be true or false", 3, 35},
    {"e2e_enable_is_number", ConfigFault::wrong_type, "e2e_dump_settings.enable", "a number, but it must be true or false", 3, 35},
    {"e2e_enable_is_string", ConfigFault::wrong_type, "e2e_dump_settings.enable", "a string, but it must be true or false", 3, 35},
    {"e2e_precision_is_null", ConfigFault::wrong_type, "e2e_dump_settings.device_stat_precision_mode", "null, but it must be a string", 3, 55},
    {"e2e_precision_unknown", ConfigFault::not_in_list, "e2e_dump_settings.device_stat_precision_mode", "\"middle\" is not allowed; allowed: \"high\", \"low\"", 3, 55},
    {"e2e_sample_mode_2", ConfigFault::not_in_list, "e2e_dump_settings.sample_mode", "2 is not allowed; allowed: 0, 1", 3, 40},
    {"e2e_sample_mode_negative", ConfigFault::wrong_type, "e2e_dump_settings.sample_mode", "-1, but it must be a whole number, without sign, point or ex", 3, 40},
    {"e2e_sample_num_0", ConfigFault::invalid_value, "e2e_dump_settings.sample_num", "0 is not allowed: at least 1 element is kept", 3, 57},
    {"e2e_sample_num_is_string", ConfigFault::wrong_type, "e2e_dump_settings.sample_num", "a string, but it must be a number", 3, 57},
    {"e2e_save_kernel_args_is_number", ConfigFault::wrong_type, "e2e_dump_settings.save_kernel_args", "a number, but it must be true or false", 3, 45},
    {"e2e_save_kernel_args_is_string", ConfigFault::wrong_type, "e2e_dump_settings.save_kernel_args", "a string, but it must be true or false", 3, 45},
    {"e2e_stat_is_boolean", ConfigFault::wrong_type, "e2e_dump_settings.stat_calc_mode", "true or false, but it must be a string", 3, 43},
    {"e2e_stat_unknown", ConfigFault::not_in_list, "e2e_dump_settings.stat_calc_mode", "\"cpu\" is not allowed; allowed: \"host\", \"device\"", 3, 43},
    {"e2e_trans_flag_is_number", ConfigFault::wrong_type, "e2e_dump_settings.trans_flag", "a number, but it must be true or false", 3, 39},
    {"e2e_trans_flag_is_string", ConfigFault::wrong_type, "e2e_dump_settings.trans_flag", "a string, but it must be true or false", 3, 39},
    {"exception_with_data_of_wrong_type", ConfigFault::wrong_type, "common_dump_settings.saved_data", "a number, but it must be a string", 2, 191},
    {"initial_iteration_before_categories", ConfigFault::wrong_type, "common_dump_settings.initial_iteration", "-1, but it must be a whole number, without sign, point or ex", 2, 220},
    {"initial_iteration_is_string", ConfigFault::wrong_type, "common_dump_settings.initial_iteration", "a string, but it must be a number", 2, 198},
    {"initial_iteration_negative", ConfigFault::wrong_type, "common_dump_settings.initial_iteration", "-1, but it must be a whole number, without sign, point or ex", 2, 198},
    {"input_output_before_kernels", ConfigFault::not_in_list, "common_dump_settings.input_output", "9 is not allowed; allowed: 0, 1, 2", 2, 116},
    {"input_output_beyond_32_bits", ConfigFault::invalid_value, "common_dump_settings.input_output", "4294967296 is beyond the largest number, 4294967295", 2, 116},
    {"input_output_boolean", ConfigFault::wrong_type, "common_dump_settings.input_output", "true or false, but it must be a number", 2, 116},
    {"input_output_exponent", ConfigFault::wrong_type, "common_dump_settings.input_output", "1e0, but it must be a whole number, without sign, point or e", 2, 116},
    {"input_output_fraction", ConfigFault::wrong_type, "common_dump_settings.input_output", "1.0, but it must be a whole number, without sign, point or e", 2, 116},
    {"input_output_minus_zero", ConfigFault::wrong_type, "common_dump_settings.input_output", "-0, but it must be a whole number, without sign, point or ex", 2, 116},
    {"input_output_missing", ConfigFault::missing, "common_dump_settings.input_output", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"input_output_negative", ConfigFault::wrong_type, "common_dump_settings.input_output", "-1, but it must be a whole number, without sign, point or ex", 2, 116},
    {"input_output_null", ConfigFault::wrong_type, "common_dump_settings.input_output", "null, but it must be a number", 2, 116},
    {"input_output_string", ConfigFault::wrong_type, "common_dump_settings.input_output", "a string, but it must be a number", 2, 116},
    {"input_output_too_large", ConfigFault::not_in_list, "common_dump_settings.input_output", "3 is not allowed; allowed: 0, 1, 2", 2, 116},
    {"iteration_all_and_more", ConfigFault::invalid_value, "common_dump_settings.iteration", "\"all|1\" is neither \"all\" nor steps such as \"0|5-8\"; blanks a", 2, 93},
    {"iteration_before_input_output", ConfigFault::empty, "common_dump_settings.iteration", "present but empty: write \"all\", or steps such as \"0|5-8\"", 2, 93},
    {"iteration_empty", ConfigFault::empty, "common_dump_settings.iteration", "present but empty: write \"all\", or steps such as \"0|5-8\"", 2, 93},
    {"iteration_in_capitals", ConfigFault::invalid_value, "common_dump_settings.iteration", "\"ALL\" is neither \"all\" nor steps such as \"0|5-8\"; blanks are", 2, 93},
    {"iteration_is_number", ConfigFault::wrong_type, "common_dump_settings.iteration", "a number, but it must be a string", 2, 93},
    {"iteration_missing", ConfigFault::missing, "common_dump_settings.iteration", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"iteration_with_blanks", ConfigFault::invalid_value, "common_dump_settings.iteration", "\"0 | 1\" is neither \"all\" nor steps such as \"0|5-8\"; blanks a", 2, 93},
    {"iteration_with_comma", ConfigFault::invalid_value, "common_dump_settings.iteration", "\"0,1\" is neither \"all\" nor steps such as \"0|5-8\"; blanks are", 2, 93},
    {"kernels_before_devices", ConfigFault::wrong_type, "common_dump_settings.kernels", "a number, but it must be an array", 2, 130},
    {"kernels_is_null_in_mode_1", ConfigFault::wrong_type, "common_dump_settings.kernels", "null, but it must be an array", 2, 130},
    {"kernels_is_string", ConfigFault::wrong_type, "common_dump_settings.kernels", "a string, but it must be an array", 2, 130},
    {"kernels_missing", ConfigFault::missing, "common_dump_settings.kernels", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"kernels_regex_backreference", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"(a)\\1\", at its character 5: references to group", 2, 131},
    {"kernels_regex_backwards_counts", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"a{3,2}\", at its character 6: the smaller count ", 2, 131},
    {"kernels_regex_backwards_range", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"[z-a]\", at its character 5: this range runs bac", 2, 131},
    {"kernels_regex_doubled_star", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"a**\", at its character 3: this repeats a repeti", 2, 131},
    {"kernels_regex_ends_with_backslash", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"abc\\\\\\\", at its character 7: a backslash ends t", 2, 131},
    {"kernels_regex_lookahead", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"(?=a)\", at its character 2: only ( and (?: open", 2, 131},
    {"kernels_regex_open_counts", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"a{3\", at its character 4: a repetition is writt", 2, 131},
    {"kernels_regex_starts_with_star", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"*abc\", at its character 1: there is nothing bef", 2, 131},
    {"kernels_regex_too_large", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"(abc){200}\", at its character 11: the pattern i", 2, 131},
    {"kernels_regex_unclosed_class", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"[abc\", at its character 1: this [ is not closed", 2, 131},
    {"kernels_regex_unclosed_group", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"(abc\", at its character 1: this ( is not closed", 2, 131},
    {"kernels_regex_unknown_named_set", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"[[:letter:]]\", at its character 4: no such name", 2, 131},
    {"kernels_regex_unopened_group", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"abc)\", at its character 4: this ) closes nothin", 2, 131},
    {"kernels_regex_word_boundary", ConfigFault::invalid_value, "common_dump_settings.kernels[0]", "the pattern \"\\bConv\", at its character 2: this escape is not", 2, 131},
    {"missing_key_before_wrong_value", ConfigFault::missing, "common_dump_settings.support_device", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"net_name_before_iteration", ConfigFault::empty, "common_dump_settings.net_name", "present but empty: name the network; its files lie in a dire", 2, 73},
    {"net_name_empty", ConfigFault::empty, "common_dump_settings.net_name", "present but empty: name the network; its files lie in a dire", 2, 73},
    {"net_name_is_null", ConfigFault::wrong_type, "common_dump_settings.net_name", "null, but it must be a string", 2, 73},
    {"net_name_missing", ConfigFault::missing, "common_dump_settings.net_name", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"net_name_with_blank", ConfigFault::invalid_value, "common_dump_settings.net_name", "\"a b\" may consist of letters, digits, - and _ only", 2, 73},
    {"net_name_with_dot", ConfigFault::invalid_value, "common_dump_settings.net_name", "\"a.b\" may consist of letters, digits, - and _ only", 2, 73},
    {"net_name_with_slash", ConfigFault::invalid_value, "common_dump_settings.net_name", "\"a/b\" may consist of letters, digits, - and _ only", 2, 73},
    {"o2_debug_mode_missing", ConfigFault::missing, "common_dump_settings.op_debug_mode", "missing: MindSpore wants it even where it has no effect, unl", 2, 27},
    {"o2_exception_with_unknown_data", ConfigFault::not_in_list, "common_dump_settings.saved_data", "\"x\" is not allowed; allowed: \"tensor\", \"statistic\", \"full\"", 2, 191},
    {"o2_file_format_before_overflow_number", ConfigFault::not_in_list, "common_dump_settings.file_format", "\"x\" is not allowed; allowed: \"bin\", \"npy\"", 2, 192},
    {"o2_file_format_is_number", ConfigFault::wrong_type, "common_dump_settings.file_format", "a number, but it must be a string", 2, 192},
    {"o2_file_format_unknown", ConfigFault::not_in_list, "common_dump_settings.file_format", "\"nano\" is not allowed; allowed: \"bin\", \"npy\"", 2, 192},
    {"o2_full_as_bin", ConfigFault::conflict, "common_dump_settings.saved_data", "\"full\" only goes with \"file_format\": \"npy\" on O2: set that", 2, 191},
    {"o2_statistics_as_bin", ConfigFault::conflict, "common_dump_settings.saved_data", "\"statistic\" only goes with \"file_format\": \"npy\" on O2: set t", 2, 191},
    {"op_debug_mode_beyond_32_bits", ConfigFault::invalid_value, "common_dump_settings.op_debug_mode", "4294967296 is beyond the largest number, 4294967295", 2, 174},
    {"op_debug_mode_boolean", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "true or false, but it must be a number", 2, 174},
    {"op_debug_mode_exponent", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "1e0, but it must be a whole number, without sign, point or e", 2, 174},
    {"op_debug_mode_fraction", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "1.0, but it must be a whole number, without sign, point or e", 2, 174},
    {"op_debug_mode_minus_zero", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "-0, but it must be a whole number, without sign, point or ex", 2, 174},
    {"op_debug_mode_negative", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "-1, but it must be a whole number, without sign, point or ex", 2, 174},
    {"op_debug_mode_null", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "null, but it must be a number", 2, 174},
    {"op_debug_mode_string", ConfigFault::wrong_type, "common_dump_settings.op_debug_mode", "a string, but it must be a number", 2, 174},
    {"op_debug_mode_too_large", ConfigFault::not_in_list, "common_dump_settings.op_debug_mode", "5 is not allowed; allowed: 0, 1, 2, 3, 4", 2, 174},
    {"options_unknown_key", ConfigFault::not_in_list, "opdump.ring", "unknown key; allowed: \"ring_bytes\", \"when_full\", \"block_limi", 4, 14},
    {"overflow_number_before_saved_data", ConfigFault::conflict, "common_dump_settings.overflow_number", "only goes with \"op_debug_mode\": 3: set that, or leave this k", 2, 196},
    {"overflow_number_in_mode_4", ConfigFault::conflict, "common_dump_settings.overflow_number", "only goes with \"op_debug_mode\": 3: set that, or leave this k", 2, 196},
    {"overflow_number_is_string", ConfigFault::wrong_type, "common_dump_settings.overflow_number", "a string, but it must be a number", 2, 196},
    {"overflow_number_negative", ConfigFault::wrong_type, "common_dump_settings.overflow_number", "-1, but it must be a whole number, without sign, point or ex", 2, 196},
    {"overflow_number_without_mode_3", ConfigFault::conflict, "common_dump_settings.overflow_number", "only goes with \"op_debug_mode\": 3: set that, or leave this k", 2, 196},
    {"path_before_net_name", ConfigFault::invalid_value, "common_dump_settings.path", "\"x\" must begin with /", 2, 52},
    {"path_empty", ConfigFault::empty, "common_dump_settings.path", "names no directory to write to, and neither does MS_DIAGNOST", 2, 52},
    {"path_is_number", ConfigFault::wrong_type, "common_dump_settings.path", "a number, but it must be a string", 2, 52},
    {"path_missing", ConfigFault::missing, "common_dump_settings.path", "names no directory to write to, and neither does MS_DIAGNOST", 2, 27},
    {"path_relative", ConfigFault::invalid_value, "common_dump_settings.path", "\"dump\" must begin with /", 2, 52},
    {"path_with_blank", ConfigFault::invalid_value, "common_dump_settings.path", "\"/my dump\" may consist of letters, digits, -, _ and / only: ", 2, 52},
    {"path_with_dot", ConfigFault::invalid_value, "common_dump_settings.path", "\"/data/run.1\" may consist of letters, digits, -, _ and / onl", 2, 52},
    {"path_with_line_end", ConfigFault::invalid_value, "common_dump_settings.path", "\"/dump?\" may consist of letters, digits, -, _ and / only: no", 2, 52},
    {"path_with_umlaut", ConfigFault::invalid_value, "common_dump_settings.path", "\"/dümp\" may consist of letters, digits, -, _ and / only: no", 2, 52},
    {"saved_data_before_initial_iteration", ConfigFault::not_in_list, "common_dump_settings.saved_data", "\"x\" is not allowed; allowed: \"tensor\", \"statistic\", \"full\"", 2, 191},
    {"saved_data_empty", ConfigFault::empty, "common_dump_settings.saved_data", "present but empty; allowed: \"tensor\", \"statistic\", \"full\"", 2, 191},
    {"saved_data_is_boolean", ConfigFault::wrong_type, "common_dump_settings.saved_data", "true or false, but it must be a string", 2, 191},
    {"saved_data_unknown", ConfigFault::not_in_list, "common_dump_settings.saved_data", "\"tensors\" is not allowed; allowed: \"tensor\", \"statistic\", \"f", 2, 191},
    {"support_device_missing", ConfigFault::missing, "common_dump_settings.support_device", "missing: MindSpore wants it even where it has no effect", 2, 27},
    {"trailing_comma", ConfigFault::syntax, "", "a key in double quotes is expected here", 1, 42},
    // clang-format on
};

const std::vector<WarnedCase> kWarned = {
    // clang-format off
    {"categories_of_tensors", "common_dump_settings.statistic_category", "not looked at: it only counts with saved_data statistic or"},
    {"categories_of_tensors_of_wrong_type", "common_dump_settings.statistic_category", "not looked at: it only counts with saved_data statistic or"},
    {"cpu_device_statistics", "common_dump_settings.saved_data", "is refused by MindSpore on a CPU; here it means what it me"},
    {"cpu_file_format", "common_dump_settings.file_format", "not looked at: it only counts on O2, and these files are \""},
    {"cpu_kernel_args", "e2e_dump_settings.save_kernel_args", "has no effect on CPU and GPU"},
    {"cpu_sample", "e2e_dump_settings.sample_mode", "has no effect on CPU and GPU: tensors are whole"},
    {"cpu_statistics", "common_dump_settings.saved_data", "is refused by MindSpore on a CPU; here it means what it me"},
    {"cpu_trans_flag_false", "e2e_dump_settings.trans_flag", "false has no effect on CPU and GPU"},
    {"debug_mode_1", "common_dump_settings.op_debug_mode", "1 counts as 3"},
    {"debug_mode_2", "common_dump_settings.op_debug_mode", "2 counts as 3"},
    {"device_cannot_compute", "common_dump_settings.statistic_category[1]", "\"md5\" is left out: the device cannot compute it"},
    {"device_statistics_in_full", "e2e_dump_settings.stat_calc_mode", "counts as \"host\": it only goes with \"saved_data\": \"statist"},
    {"device_statistics_of_tensors", "e2e_dump_settings.stat_calc_mode", "counts as \"host\": it only goes with \"saved_data\": \"statist"},
    {"devices_fraction", "common_dump_settings.support_device[1]", "is the number of no device"},
    {"devices_negative", "common_dump_settings.support_device[0]", "is the number of no device"},
    {"devices_twice", "common_dump_settings.support_device", "0 is named twice and counts once"},
    {"e2e_is_no_object", "e2e_dump_settings", "is no object, and counts as an empty one"},
    {"e2e_is_null", "e2e_dump_settings", "is no object, and counts as an empty one"},
    {"exception_with_dump_mode_2", "common_dump_settings.dump_mode", "counts as 0, every operator, with this op_debug_mode"},
    {"exception_with_iteration", "common_dump_settings.iteration", "counts as \"all\" with this op_debug_mode"},
    {"exception_with_sample", "e2e_dump_settings.sample_mode", "counts as 0, whole tensors, with this op_debug_mode"},
    {"exception_with_statistics", "common_dump_settings.saved_data", "counts as \"tensor\" with this op_debug_mode"},
    {"exception_with_unknown_data", "common_dump_settings.saved_data", "counts as \"tensor\" with this op_debug_mode"},
    {"file_format_in_e2e", "common_dump_settings.file_format", "not looked at: it only counts on O2, and these files are \""},
    {"iteration_too_large", "common_dump_settings.iteration", "the item \"18446744073709551616\" is beyond the largest step"},
    {"iteration_with_useless_items", "common_dump_settings.iteration", "the item \"\" is neither a step nor a range: write 5 or 3-5,"},
    {"kernel_args_with_device_statistics", "e2e_dump_settings.save_kernel_args", "has no effect but with \"enable\": true and statistics of th"},
    {"kernel_args_without_enable", "e2e_dump_settings.save_kernel_args", "has no effect but with \"enable\": true and statistics of th"},
    {"kernels_empty_list_is_every_operator", "common_dump_settings.kernels", "names no operator, which stands for every one"},
    {"kernels_number", "common_dump_settings.kernels[0]", "is no string, and counts as \"5\""},
    {"kernels_object_matches_nothing", "common_dump_settings.kernels[0]", "matches nothing: it is no string"},
    {"kernels_of_blanks_only_is_every_operator", "common_dump_settings.kernels", "names no operator, which stands for every one"},
    {"kernels_twice", "common_dump_settings.kernels", "\"conv\" is named twice and counts once"},
    {"kernels_without_dump_mode_1", "common_dump_settings.kernels", "not looked at: it only counts with \"dump_mode\": 1"},
    {"nested_deeply_in_unknown_key", "x", "unknown, and ignored"},
    {"o2_exception_with_iteration", "common_dump_settings.iteration", "counts as \"all\" with this op_debug_mode"},
    {"o2_overflow_with_iteration", "common_dump_settings.iteration", "counts as \"all\" with this op_debug_mode"},
    {"overflow_of_inputs", "common_dump_settings.input_output", "counts as 0, inputs and outputs, with this op_debug_mode"},
    {"overflow_with_device_statistics", "e2e_dump_settings.stat_calc_mode", "counts as \"host\": with op_debug_mode 3 it only goes with \""},
    {"overflow_with_dump_mode_1", "common_dump_settings.dump_mode", "counts as 0, every operator, with this op_debug_mode"},
    {"sample_num_without_mode", "e2e_dump_settings.sample_num", "not looked at: it only counts with \"sample_mode\": 1"},
    {"unknown_common_key", "common_dump_settings.saved_dat", "unknown, and ignored; is it a slip of the keys for \"saved_"},
    {"unknown_e2e_key", "e2e_dump_settings.sample_number", "unknown, and ignored"},
    {"unknown_root_key", "e2e_dump_setting", "unknown, and ignored; is it a slip of the keys for \"e2e_du"},
    // clang-format on
};

/// The members stand behind valid ones, so that they count. `e2e` "none": there is no such object.
ParsedConfig parse(const std::string& common, const std::string& e2e = "",
                   const ConfigContext& context = {}) {
  std::string text =
      R"({"common_dump_settings": {"path": "/dump", "net_name": "Net", "support_device": [0], "kernels": [], )"
      R"("op_debug_mode": 0, "dump_mode": 0, "iteration": "all", "input_output": 0)";
  if (!common.empty()) text += ", " + common;
  text += "}";
  if (e2e != "none") text += ", \"e2e_dump_settings\": {" + e2e + "}";
  return ParsedConfig(text + "}", check_path, context);
}

}  // namespace

TEST_CASE("mindspore: every file of accept/ and warn/ asks for a dump, those of inactive/ do not") {
  const auto agrees = [](const ParsedConfig& parsed) {
    CHECK((!parsed.config.active || parsed.config.asked));
  };
  kCorpus.check_accepted("accept", agrees);
  kCorpus.check_accepted("warn", agrees);
  kCorpus.check_accepted("inactive", [&](const ParsedConfig& parsed) {
    agrees(parsed);
    CHECK_FALSE(parsed.notes.empty());
  });
}

TEST_CASE("mindspore: every file of warn/ is told what is replaced or ignored") {
  kCorpus.check_warned(kWarned);
}

TEST_CASE("mindspore: every file of refuse/ is refused for its reason, at its place") {
  kCorpus.check_refused(kRefused);
}

TEST_CASE("mindspore: the documented files") {
  const DumpConfig& o0 = parse_case("accept", "documented_o0").config;
  CHECK(o0.dump_path == "/absolute_path");
  CHECK(o0.net_name == "ResNet50");
  CHECK(o0.mode == DumpMode::all);
  CHECK(o0.form.data == DumpData::tensor);
  CHECK(o0.form.layout == Layout::mindspore_kernel);
  CHECK(o0.form.file_format == FileFormat::npy);
  CHECK(o0.synchronous);
  CHECK_FALSE(o0.device_format);
  REQUIRE(o0.models.size() == 1);
  CHECK(o0.models[0].any_model);
  CHECK(o0.models[0].all_layers);
  REQUIRE(o0.steps.ranges.size() == 3);
  for (const std::uint64_t step : {0, 5, 8, 100, 120}) CHECK(o0.steps.contains(step));
  for (const std::uint64_t step : {1, 4, 9, 99, 121}) CHECK_FALSE(o0.steps.contains(step));
  CHECK_FALSE(o0.every_device);
  CHECK(o0.devices.size() == 8);
  CHECK(o0.devices[7] == 7);

  const DumpConfig& o2 = parse_case("accept", "documented_o2").config;
  CHECK(o2.form.layout == Layout::mindspore_graph);
  CHECK(o2.form.file_format == FileFormat::npy);
  CHECK(parse_case("accept", "o2_default_format").config.form.file_format == FileFormat::protobuf);

  const DumpConfig& cpu = parse_case("accept", "cpu_documented").config;
  CHECK(cpu.form.layout == Layout::mindspore_cpu);
  CHECK(cpu.every_device);
}

TEST_CASE("mindspore: what is read is kept for who acts on it") {
  CHECK(parse(R"("input_output": 1)").config.mode == DumpMode::input);
  CHECK(parse(R"("input_output": 2)").config.mode == DumpMode::output);
  CHECK(parse(R"("initial_iteration": 7)").config.first_step == 7);
  CHECK(parse("", R"("trans_flag": false)").config.device_format);
  CHECK(parse("", R"("sample_mode": 1)").config.sample_number == 100);
  CHECK(parse("", R"("sample_mode": 1, "sample_num": 20)").config.sample_number == 20);
  CHECK(parse("", R"("sample_mode": 0, "sample_num": 20)").config.sample_number == 0);
  CHECK(parse("", R"("enable": true, "save_kernel_args": true)").config.save_kernel_args);
  CHECK_FALSE(parse("", R"("save_kernel_args": true)").config.save_kernel_args);
  CHECK(parse("", R"("device_stat_precision_mode": "low")").config.statistics_in_dtype);
  CHECK(parse(R"("saved_data": "statistic")", R"("stat_calc_mode": "device")")
            .config.form.statistics_on_device);
  CHECK_FALSE(
      parse(R"("saved_data": "full")", R"("stat_calc_mode": "device")").config.form.statistics_on_device);
  CHECK(parse(R"("saved_data": "full")").config.form.data == DumpData::full);

  const DumpConfig& overflow = parse(R"("op_debug_mode": 3, "overflow_number": 2, "input_output": 1)").config;
  CHECK(overflow.overflow);
  CHECK(overflow.overflow_number == 2);
  CHECK(overflow.mode == DumpMode::all);
  const DumpConfig& filtered = parse(R"("op_debug_mode": 3, "iteration": "1")").config;
  CHECK(filtered.steps.ranges.size() == 1);
  CHECK(parse(R"("op_debug_mode": 3, "iteration": "1")", "none").config.steps.every_step());
  const DumpConfig& exception =
      parse(R"("op_debug_mode": 4, "iteration": "1", "dump_mode": 2, "saved_data": "full")").config;
  CHECK(exception.exception == ExceptionDump::brief);
  CHECK(exception.steps.every_step());
  CHECK(exception.models[0].all_layers);
  CHECK(exception.form.data == DumpData::tensor);

  ConfigContext context;
  context.world_size = 8;
  context.rank = 3;
  CHECK(parse("", "", context).config.form.rank == 3);
  CHECK(parse("", "", context).config.form.world_size == 8);
}

TEST_CASE("mindspore: what has no effect is told") {
  const auto note_of = [](const ParsedConfig& parsed, std::string_view key) {
    std::string text;
    for (const ConfigNote& note : parsed.notes) text += note.key.ends_with(key) ? note.text : "";
    return text;
  };
  ConfigContext context;
  CHECK(note_of(parse("", R"("enable": true)"), "enable").find("up to \"when_full\"") != std::string::npos);
  CHECK(note_of(parse("", R"("enable": false)"), "enable").empty());
  context.mindspore = MindSporeMode::cpu;
  CHECK(note_of(parse("", R"("enable": true)", context), "enable") == "true has no effect on CPU and GPU");
  context.mindspore = MindSporeMode::by_file;
  const std::string key = "device_stat_precision_mode";
  CHECK(note_of(parse("", '"' + key + R"(": "low")"), key).starts_with("\"low\" has no effect"));
  CHECK(note_of(parse("", '"' + key + R"(": "high")"), key).empty());
  // tests/unit/platform/ascend_test.cpp and tests/opencl/memory_test.cpp hold it against the memories.
  const ParsedConfig on_device = parse(R"("saved_data": "statistic")", R"("stat_calc_mode": "device")");
  CHECK(note_of(on_device, "stat_calc_mode").find("that for Ascend among them") != std::string::npos);
  const std::string variable = "ENABLE_MS_GE_DUMP";
  CHECK(note_of(parse("", "none", context), variable).empty());
  context.ge_dump = true;
  CHECK(note_of(parse("", "none", context), variable).starts_with("the variable is not followed: "));
  CHECK(note_of(parse("", "", context), variable).empty());  // it is about O2 alone
}

TEST_CASE("mindspore: in CANN's layout there is no folder for the rank") {
  const std::string text = read_file(corpus("mindspore/accept") / "o2_bin.json");
  const std::string members = text.substr(text.find('{') + 1);
  const ParsedConfig parsed(R"({"opdump": {"layout": "cann"}, )" + members, check_path);
  REQUIRE(parsed.status == Status::ok);
  CHECK(parsed.config.form.layout == Layout::cann);
  CHECK(parsed.config.form.world_size == 0);
  CHECK(parse("").config.form.world_size == 1);
}

TEST_CASE("mindspore: iterations that select nothing") {
  const auto steps = [](const std::string& iteration) {
    return parse(R"("iteration": ")" + iteration + "\"").config.steps;
  };
  for (const char* none : {"-", "|", "8-5", "5-", "-5", "1-2-3", "||", "18446744073709551616"}) {
    CAPTURE(none);
    CHECK(steps(none).no_step());
    CHECK_FALSE(steps(none).every_step());
    for (const std::uint64_t step : {0, 1, 2, 3, 5, 8}) CHECK_FALSE(steps(none).contains(step));
  }
  const ParsedConfig partly = parse_case("warn", "iteration_with_useless_items");
  CHECK(partly.config.steps.contains(3));
  CHECK(partly.config.steps.ranges.size() == 1);
  const ParsedConfig largest = parse_case("accept", "iteration_largest");
  CHECK(largest.config.steps.contains(UINT64_MAX));
}

TEST_CASE("mindspore: statistics in the order of their columns") {
  const auto columns = [](const ParsedConfig& parsed) {
    return std::vector<StatBits>(parsed.config.statistic_columns.begin(),
                                 parsed.config.statistic_columns.end());
  };
  using Columns = std::vector<StatBits>;
  const ParsedConfig none = parse(R"("saved_data": "full")");
  CHECK(columns(none) == Columns{kStatMax, kStatMin, kStatL2Norm});
  CHECK(none.config.form.statistics == (kStatMax | kStatMin | kStatL2Norm));
  CHECK(columns(parse_case("accept", "categories_all")) ==
        Columns{kStatMax, kStatMin, kStatMean, kStatCount, kStatNegative, kStatPositive, kStatNan,
                kStatNegativeInf, kStatPositiveInf, kStatZero, kStatL2Norm, kStatMd5});
  CHECK(columns(parse_case("accept", "categories_twice")) == Columns{kStatMin, kStatMax, kStatMin});
  CHECK(columns(parse_case("accept", "categories_hash")) == Columns{kStatSha1, kStatSha1, kStatMd5});
  CHECK(parse_case("accept", "categories_of_no_more_than_common_columns").config.form.statistics == 0);
  CHECK(columns(parse_case("warn", "device_cannot_compute")) == Columns{kStatMax});
}

TEST_CASE("mindspore: without a path, the diagnostic path is taken") {
  ConfigContext context;
  context.diagnostic_path = "/data/run1";
  const auto path = [&context](const std::string& value) { return parse(value, "", context); };
  CHECK(path(R"("path": "")").config.dump_path == "/data/run1/debug_dump");
  CHECK(path(R"("path": "/x")").config.dump_path == "/x");
  context.diagnostic_path = "/data/run.1";
  CHECK(path(R"("path": "")").error.fault == ConfigFault::invalid_value);
  const std::string absent = read_file(corpus("mindspore/refuse") / "path_missing.json");
  context.diagnostic_path = "/data";
  CHECK(ParsedConfig(absent, check_path, context).config.dump_path == "/data/debug_dump");
}

TEST_CASE("mindspore: the mode that is given goes before what the file says") {
  const std::string with = read_file(corpus("mindspore/accept") / "dump_mode_0.json");
  const std::string without = read_file(corpus("mindspore/accept") / "o2_bin.json");
  const auto layout = [](const std::string& text, MindSporeMode mode) {
    ConfigContext context;
    context.mindspore = mode;
    const ParsedConfig parsed(text, check_path, context);
    REQUIRE(parsed.status == Status::ok);
    return std::pair(parsed.config.form.layout, parsed.config.asked);
  };
  CHECK(layout(with, MindSporeMode::by_file) == std::pair(Layout::mindspore_kernel, true));
  CHECK(layout(with, MindSporeMode::kernel) == std::pair(Layout::mindspore_kernel, true));
  CHECK(layout(with, MindSporeMode::graph) == std::pair(Layout::mindspore_graph, false));
  CHECK(layout(with, MindSporeMode::cpu) == std::pair(Layout::mindspore_cpu, true));
  CHECK(layout(without, MindSporeMode::by_file) == std::pair(Layout::mindspore_graph, true));
  CHECK(layout(without, MindSporeMode::kernel) == std::pair(Layout::mindspore_kernel, false));
  CHECK(layout(without, MindSporeMode::cpu) == std::pair(Layout::mindspore_cpu, true));
}

TEST_CASE("mindspore: a dialect that is given goes before the keys") {
  ConfigContext context;
  context.dialect = ConfigDialect::mindspore;
  const auto error = [&context](const std::string& text) {
    return ParsedConfig(text, check_path, context).error;
  };
  CHECK(error("").fault == ConfigFault::syntax);
  CHECK(error("{}").key == "common_dump_settings");
  CHECK(error(R"({"dump": {}})").key == "common_dump_settings");
  CHECK(error("[]").key == "common_dump_settings");
  context.dialect = ConfigDialect::acl;
  CHECK(ParsedConfig(R"({"common_dump_settings": {}})", check_path, context).status == Status::ok);
  context.dialect = ConfigDialect::torchair;
  CHECK(error("{}").key == "dump_config");
}

TEST_CASE("mindspore: the memory that is always enough, is") {
  std::string patterns;
  for (int i = 0; i < 500; ++i)
    patterns += R"("name-regex([a-)" + std::string(1, static_cast<char>('b' + i % 20)) + "]{9}.*)\", ";
  const std::string many_patterns = R"("dump_mode": 1, "kernels": [)" + patterns + "\"x\"]";
  const std::string many_names = R"("dump_mode": 1, "kernels": [)" + repeated("\"a\",", 9999) + "\"\"]";
  const std::string many_devices = R"("support_device": [)" + repeated("0,", 9999) + "0]";
  const std::string many_steps = R"("iteration": ")" + repeated("0|", 9999) + "\"";
  const std::string many_columns =
      R"("saved_data": "full", "statistic_category": [)" + repeated("\"max\",", 9999) + "\"min\"]";
  for (const std::string& text : {many_patterns, many_names, many_devices, many_steps, many_columns}) {
    const ParsedConfig parsed = parse(text);
    CAPTURE(parsed.error.reason);
    CHECK(parsed.status == Status::ok);
  }
}

TEST_CASE("mindspore: a thousand patterns are taken, and one more is refused") {
  const std::string pattern = "\"name-regex(a.*)\",";
  const auto text = [&](std::size_t patterns) {
    return R"("dump_mode": 1, "kernels": ["a/b",)" + repeated(pattern, patterns - 1) +
           pattern.substr(0, pattern.size() - 1) + "]";
  };
  CHECK(parse(text(1000)).status == Status::ok);
  const ParsedConfig refused = parse(text(1001));
  CHECK(refused.error.fault == ConfigFault::invalid_value);
  CHECK(refused.error.key == "common_dump_settings.kernels");
  CHECK(refused.error.reason ==
        "1001 regular expressions, and at most 1000 are allowed: join some of them with |");
}

TEST_CASE("mindspore: triggers are read as beside CANN's object") {
  check_trigger_case(parse_case("accept", "options_trigger"));
}
