#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/config/write_blob.hpp"
#include "opdump/impl/plan/privacy.hpp"
#include "opdump/types/trigger.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

ParsedConfig with(const std::string& members) {
  return ParsedConfig("{\"dump\": {\"dump_path\": \"output\", " + members + "}}");
}

/// "key: text" of each note.
std::vector<std::string> notes_of(const ParsedConfig& parsed) {
  std::vector<std::string> texts;
  for (const ConfigNote& note : parsed.notes) texts.push_back(note.key + ": " + note.text);
  return texts;
}

}  // namespace

TEST_CASE("config: statistics, kernel data and scenes are kept for who acts on them") {
  CHECK(parse_file("accept", "data_stats").config.form.data == DumpData::statistics);
  CHECK(parse_file("accept", "data_stats").config.form.statistics == kStatsByDefault);
  CHECK(parse_file("accept", "stats_all").config.form.statistics == (kStatsByDefault | kStatL2Norm));
  CHECK(parse_file("accept", "stats_one").config.form.statistics == kStatMax);
  CHECK(
      with(R"("dump_data": "stats", "dump_stats": ["Nan", "Positive Inf", "Nan"])").config.form.statistics ==
      (kStatNan | kStatPositiveInf));

  CHECK(parse_file("accept", "data_tensor").config.kernel_data == 0);
  CHECK(parse_file("accept", "kernel_data_all").config.kernel_data == kKernelAll);
  CHECK(parse_file("accept", "kernel_data_list").config.kernel_data == kKernelAll);
  CHECK(with(R"("dump_kernel_data": "assert,printf")").config.kernel_data == (kKernelAssert | kKernelPrintf));

  CHECK(parse_file("accept", "debug_on").config.overflow);
  CHECK(with(R"("dump_debug": "on", "dump_step": "1|3-4")").config.steps.ranges.size() == 2);
  CHECK(parse_file("accept", "exception_lite").config.exception == ExceptionDump::brief);
  CHECK(parse_file("accept", "exception_brief").config.exception == ExceptionDump::brief);
  CHECK(parse_file("accept", "exception_norm").config.exception == ExceptionDump::norm);
  CHECK(parse_file("accept", "exception_detail").config.exception == ExceptionDump::detail);
  CHECK(parse_file("accept", "exception_path_not_looked_at").config.dump_path == "missing");

  const ParsedConfig watcher = parse_file("accept", "watcher_with_layers");
  CHECK(watcher.config.watch);
  REQUIRE(watcher.config.models.size() == 1);
  REQUIRE(watcher.config.models[0].extras != nullptr);
  CHECK(watcher.config.models[0].extras->watched.size() == 1);
  CHECK(watcher.config.models[0].extras->watched[0] == "C");
  CHECK(watcher.config.models[0].layers[0] == "A");
}

TEST_CASE("config: blacklists keep what can leave a tensor out") {
  const ParsedConfig parsed = parse_file("accept", "blacklist_positions");
  REQUIRE(parsed.config.models.size() == 1);
  REQUIRE(parsed.config.models[0].extras != nullptr);
  const auto exclusions = parsed.config.models[0].extras->exclusions;
  REQUIRE(exclusions.size() == 1);
  CHECK(exclusions[0].by_type);
  CHECK(exclusions[0].name == "Conv2D");
  REQUIRE(exclusions[0].positions.size() == 2);
  CHECK_FALSE(exclusions[0].positions[0].output);
  CHECK(exclusions[0].positions[0].index == 0);
  CHECK(exclusions[0].positions[1].output);
  CHECK(exclusions[0].positions[1].index == 12);

  CHECK(parse_file("accept", "blacklist_100_of_each").config.models[0].extras->exclusions.size() == 200);
  CHECK(parse_file("accept", "blacklist_without_positions").config.models[0].extras->exclusions.empty());
}

TEST_CASE("config: ranges add to layers, and a range alone is not every operator") {
  const ParsedConfig range = parse_file("accept", "range");
  CHECK_FALSE(range.config.models[0].all_layers);
  CHECK(range.config.models[0].layers.empty());
  REQUIRE(range.config.models[0].extras->ranges.size() == 1);
  CHECK(range.config.models[0].extras->ranges[0].begin == "a");
  CHECK(range.config.models[0].extras->ranges[0].end == "c");
  CHECK(parse_file("accept", "range_beside_layers").config.models[0].layers.size() == 1);
  CHECK(parse_file("accept", "range_beside_layers").config.models[0].extras->ranges.size() == 2);
  CHECK(parse_file("accept", "range_beside_single_ops_and_empty_layer").config.models.size() == 1);
  CHECK(parse_file("accept", "data_tensor").config.models[0].extras == nullptr);
  CHECK(parse_file("accept", "lists_that_are_empty").config.models[0].extras == nullptr);
}

TEST_CASE("config: what has no effect is noted, with its place") {
  const ParsedConfig steps = parse_file("accept", "debug_step_not_looked_at");
  CHECK(steps.config.steps.every_step());
  REQUIRE(steps.notes.size() == 1);
  CHECK(steps.notes[0].key == "dump.dump_step");
  CHECK(steps.notes[0].line == 3);
  CHECK(steps.notes[0].column == 61);
  CHECK(to_string(steps.notes[0], "acl.json")
            .starts_with("acl.json:3:61: note: dump.dump_step: not looked at, so every step counts: "));

  const auto first_key = [](const ParsedConfig& parsed) {
    return parsed.notes.empty() ? std::string() : parsed.notes[0].key;
  };
  CHECK(parse_file("accept", "exception_norm").notes.empty());
  CHECK(parse_file("accept", "watcher_with_nodes").notes.empty());
  CHECK(parse_file("accept", "debug_on").notes.empty());
  CHECK(parse_file("accept", "data_stats").notes.empty());
  CHECK(first_key(parse_file("accept", "kernel_data_all")) == "dump.dump_kernel_data");
  CHECK(parse_file("accept", "blacklist_100_names").notes.empty());
  CHECK(first_key(parse_file("accept", "exception_detail")) == "dump.dump_scene");
  CHECK(parse_file("accept", "blacklist_without_positions").notes.size() == 3);
  CHECK(parse_file("accept", "range").notes.empty());
  CHECK(parse_file("accept", "documented_model_dump").notes.empty());
  CHECK(parse_file("accept", "data_tensor").notes.empty());
  CHECK(parse_file("accept", "debug_off").notes.empty());

  CHECK(notes_of(parse_file("inactive", "dump_in_wrong_case")) ==
        std::vector<std::string>{"Dump: unknown, and ignored; is it a slip of the keys for \"dump\"?"});
  CHECK(notes_of(with(R"("dump_steps": "1", "dump_list": [{"layers": ["a"], "x": 1}])")) ==
        std::vector<std::string>{
            "dump.dump_list[0].layers: unknown, and ignored; is it a slip of the keys for \"layer\"?",
            "dump.dump_list[0].x: unknown, and ignored",
            "dump.dump_steps: unknown, and ignored; is it a slip of the keys for \"dump_step\"?"});
}

TEST_CASE("config: a key that stands there several times is noted, wherever it stands") {
  CHECK(notes_of(
            with(R"("dump_mode": "input", "dump_list": [{}, {"layer": ["a"], "layer": ["b"], "layer": ["c"]}],
                         "dump_mode": "all")")) ==
        std::vector<std::string>{"dump.dump_list[1].layer: stands there 3 times, and this one counts",
                                 "dump.dump_mode: stands there 2 times, and this one counts"});
  const ParsedConfig twice("{\"dump\": {}, \"dump\": {\"dump_path\": \"output\", \"dump_list\": [{}]}}");
  REQUIRE(notes_of(twice) == std::vector<std::string>{"dump: stands there 2 times, and this one counts"});
  CHECK(twice.notes[0].column == 14);
}

TEST_CASE("config: a refused text has no notes, and a long list of notes ends") {
  const ParsedConfig refused = with(R"("dump_list": [{"x": 1}, {"layer": []}])");
  CHECK(refused.status == Status::config_refused);
  CHECK(refused.notes.empty());

  const ParsedConfig many = with("\"dump_list\": [{}" + repeated(R"(, {"x": 1})", 1000) + "]");
  REQUIRE(many.notes.size() == kMaxConfigNotes);
  CHECK(many.notes.back().text.ends_with("there is more like this, which is not told"));
}

TEST_CASE("config: faults have CANN's numbers") {
  const auto number = [](const ParsedConfig& parsed) {
    return std::to_string(acl_error(parsed.error)) + " " + std::string(cann_message_id(parsed.error.fault));
  };
  CHECK(number(parse_file("refuse", "arrays_nested_11_deep")) == "100006 ");
  CHECK(number(parse_file("refuse", "comment")) == "100009 EP0004");
  CHECK(number(parse_file("refuse", "path_missing")) == "100009 EP0001");
  CHECK(number(parse_file("refuse", "dump_is_null")) == "100009 EP0001");
  CHECK(number(parse_file("refuse", "mode_empty")) == "100009 EP0001");
  CHECK(number(parse_file("refuse", "mode_near_miss")) == "100009 EP0002");
  CHECK(number(parse_file("refuse", "step_backwards")) == "100009 EP0003");
  CHECK(number(parse_file("refuse", "debug_with_op_switch")) == "100009 EP0005");
  CHECK(number(parse_file("accept", "range")) == "0 ");
  CHECK(number(ParsedConfig(std::string(kMaxConfigBytes + 1, ' '))) == "100003 ");
  CHECK(number(ParsedConfig(0, R"({"dump": {"dump_path": "x"}})")) == "200000 ");
}

TEST_CASE("config: the opdump object, with absent told from present") {
  const DumpOptions all = parse_file("accept", "options_all").config.options;
  CHECK(all.ring_bytes == 65536u);
  CHECK(all.when_full == WhenFull::degrade);
  CHECK(all.block_limit_ms == 250u);
  CHECK(all.journal == JournalDetail::gaps);
  const DumpOptions room = parse_file("accept", "options_room").config.options;
  CHECK(room.max_bytes == 9223372036854775807u);
  CHECK(room.max_files == 1u);
  CHECK(room.reserve_bytes == 0u);
  CHECK(room.keep == Keep::newest);
  CHECK(room.fsync == Fsync::record);
  CHECK(parse_file("accept", "options_keep_oldest").config.options.keep == Keep::oldest);
  CHECK(parse_file("accept", "options_keep_oldest").config.options.fsync == Fsync::never);
  CHECK(parse_file("accept", "options_fsync_finalize").config.options.fsync == Fsync::finalize);
  CHECK(parse_file("accept", "options_block").config.options.when_full == WhenFull::block);
  CHECK(parse_file("accept", "options_block").config.options.block_limit_ms == 0u);
  CHECK(parse_file("accept", "options_drop").config.options.when_full == WhenFull::drop);
  CHECK(parse_file("accept", "options_drop").config.options.journal == JournalDetail::none);
  CHECK(parse_file("accept", "options_inline").config.options.when_full == WhenFull::inline_drain);
  CHECK(parse_file("accept", "options_inline").config.options.journal == JournalDetail::records);
  for (const char* name : {"options_empty", "range"}) {
    const DumpOptions none = parse_file("accept", name).config.options;
    CHECK_FALSE(none.ring_bytes);
    CHECK_FALSE(none.when_full);
    CHECK_FALSE(none.block_limit_ms);
    CHECK_FALSE(none.journal);
    CHECK_FALSE(none.max_bytes);
    CHECK_FALSE(none.max_files);
    CHECK_FALSE(none.reserve_bytes);
    CHECK_FALSE(none.keep);
    CHECK_FALSE(none.fsync);
  }
}

TEST_CASE("config: the opdump object has a say in file format and layout") {
  const DumpConfig none = parse_file("accept", "range").config;
  CHECK(none.form.file_format == FileFormat::nano);
  CHECK(none.form.layout == Layout::cann);
  CHECK(parse_file("accept", "options_format_npy").config.form.file_format == FileFormat::npy);
  CHECK(parse_file("accept", "options_format_protobuf").config.form.file_format == FileFormat::protobuf);
  CHECK(parse_file("accept", "options_layout_mindspore_kernel").config.form.layout ==
        Layout::mindspore_kernel);
  CHECK(parse_file("accept", "options_layout_mindspore_graph").config.form.layout == Layout::mindspore_graph);
  CHECK(parse_file("accept", "options_layout_mindspore_cpu").config.form.layout == Layout::mindspore_cpu);
  CHECK(parse_file("accept", "options_layout_mindspore_cpu_product").config.form.layout ==
        Layout::mindspore_cpu_product);
  CHECK(parse_file("accept", "options_layout_mindspore_cpu_document").config.form.layout ==
        Layout::mindspore_cpu_document);
  const DumpConfig lite = parse_file("accept", "options_layout_mindspore_lite").config;
  CHECK(lite.form.layout == Layout::mindspore_lite);
  CHECK(lite.form.file_format == FileFormat::bin);
  CHECK(parse_file("accept", "options_format_npy").config.active);
  CHECK_FALSE(none.form.fixed_point);
  CHECK(none.form.trailing_comma);
  CHECK(parse_file("accept", "options_numbers_nano").config.form.fixed_point);
  CHECK_FALSE(parse_file("accept", "options_no_trailing_comma").config.form.trailing_comma);
  CHECK(parse_file("accept", "options_no_model_card").config.options.without_cards);
}

TEST_CASE("config: a seal is a public key, in every dialect, or the path of one") {
  const ParsedConfig sealed = parse_file("accept", "options_seal");
  const std::string_view seal = sealed.config.options.seal;
  REQUIRE(seal.size() == 32);
  CHECK(seal.substr(0, 3) == "\x27\xc5\x82");
  CHECK(parse_file("accept", "options_seal_base64").config.options.seal == seal);
  CHECK(parse_file("accept", "options_seal_base64").config.options.without_cards);
  CHECK(parse_file("accept", "options_digest").config.options.seal.empty());
  ConfigContext context = {.dialect = ConfigDialect::torchair, .seal = seal_reader()};
  context.read_seal_key = [](std::string_view path, std::span<std::byte, 32> key, std::string& reason) {
    reason = "no key in " + std::string(path);
    std::fill(key.begin(), key.end(), std::byte{5});
    return path == "key.pub";
  };
  const auto torchair = [&](const std::string& path) {
    return ParsedConfig(
        R"({"dump_config": {"enable_dump": true, "dump_path": "output"}, "opdump": {"seal": ")" + path +
            "\"}}",
        check_path, context);
  };
  CHECK(torchair("key.pub").config.options.seal == std::string(32, '\5'));
  CHECK(torchair("other").status == Status::config_refused);
  CHECK(torchair("other").error.reason == "no key in other");
  CHECK(torchair("other").error.key == "opdump.seal");
}

TEST_CASE("config: a digest takes the place of the tensors, in every dialect") {
  const auto cann = [](const std::string& dump, const std::string& options) {
    return ParsedConfig("{\"dump\": {\"dump_path\": \"output\", \"dump_list\": [{}]" + dump +
                        "}, \"opdump\": {" + options + "}}");
  };
  CHECK(digest_word(cann("", R"("digest": "crc32c")").config.form) == "crc32c");
  CHECK(digest_word(cann("", R"("digest": "xxh3")").config.form) == "xxh3");
  CHECK(digest_word(cann("", R"("digest": "md5")").config.form) == "md5");
  CHECK(digest_word(cann("", "").config.form).empty());
  const ParsedConfig torchair(
      R"({"dump_config": {"enable_dump": true, "dump_path": "output"}, "opdump": {"digest": "xxh3"}})");
  CHECK(digest_bytes(torchair.config.form) == 8);
  CHECK(torchair.status == Status::ok);
  const ParsedConfig lite(
      R"({"common_dump_settings": {"dump_mode": 0, "path": "/d", "net_name": "n", "iteration": "all",
          "input_output": 0, "kernels": []}, "opdump": {"digest": "md5"}})",
      check_path, {.dialect = ConfigDialect::mindspore_lite});
  CHECK(lite.status == Status::ok);
  CHECK(digest_bytes(lite.config.form) == 16);

  const auto refused = [&](const std::string& dump, const std::string& options, std::string_view reason) {
    CAPTURE(dump);
    CAPTURE(options);
    const ParsedConfig parsed = cann(dump, "\"digest\": \"xxh3\"" + options);
    CHECK(parsed.status != Status::ok);
    CHECK(parsed.error.key == "opdump.digest");
    CHECK(parsed.error.reason.find(reason) != std::string::npos);
  };
  refused(R"(, "dump_data": "stats")", "", "takes the place of statistics");
  refused("", R"(, "history_steps": 3)", "history_steps");
  refused("", R"(, "file_format": "npy")", "leave that out");
  refused("", R"(, "when_full": "degrade")", "nothing is smaller than a digest");
  const ParsedConfig overflow(
      R"({"dump": {"dump_path": "output", "dump_debug": "on"}, "opdump": {"digest": "xxh3"}})");
  CHECK(overflow.error.key == "opdump.digest");
}

TEST_CASE("config: triggers have a cause, names, limits, a count in a row and a cooldown") {
  const ParsedConfig parsed = parse_file("accept", "options_trigger");
  const DumpOptions& options = parsed.config.options;
  const std::span<const TriggerRule> rules = triggers_of(options);
  REQUIRE(rules.size() == 9);
  CHECK(trigger_limits(options).bytes_per_boot == 1'000'000);
  CHECK(trigger_limits(options).firings_per_boot == 20);
  CHECK(rules[0].cause() == TriggerCause::max);
  CHECK(rules[0].op()[0].text == "softmax");
  CHECK(rules[0].model().empty());
  CHECK(rules[0].takes(0.25));
  CHECK_FALSE(rules[0].takes(0.5));
  CHECK(rules[0].steps == 3);
  CHECK(rules[0].cooldown_s == 600);
  CHECK(rules[1].is_input());
  CHECK(rules[1].index() == 1);
  CHECK(takes_name(rules[1].op(), "stage2/conv7"));
  CHECK_FALSE(takes_name(rules[1].op(), "stage2/conv17"));
  CHECK(rules[1].takes(-2));
  CHECK(rules[1].takes(1001));
  CHECK_FALSE(rules[1].takes(0));
  CHECK(rules[2].takes(1));
  CHECK_FALSE(rules[2].takes(0));
  CHECK_FALSE(rules[3].takes(3));
  CHECK(rules[4].upper() == 0.01);
  CHECK(rules[5].cause() == TriggerCause::change);
  CHECK(rules[6].cause() == TriggerCause::latency_us);
  CHECK(rules[7].cooldown_s == 60);
  CHECK(rules[8].call == "door");
}
