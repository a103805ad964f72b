#include "src/tool/timeline/trace_writer.hpp"

#include <cstdio>

namespace opdump::tool {

TraceWriter::TraceWriter(ExportFile* file) : file_(file) {
  json_.open('{').key("displayTimeUnit").text("ms").key("traceEvents").open('[');
}

void TraceWriter::put(const std::string& text) {
  if (file_ != nullptr) {
    good_ = good_ && file_->write(text);
  } else {
    std::fputs(text.c_str(), stdout);
  }
}

void TraceWriter::begin(std::string_view phase, const Track& track, std::uint64_t at,
                        std::string_view category, std::string_view name) {
  json_.line()
      .open('{')
      .key("ph")
      .text(phase)
      .key("pid")
      .number(track.process)
      .key("tid")
      .number(track.thread);
  json_.key("ts").number(at).key("cat").text(category).key("name").text(name);
}

void TraceWriter::end() {
  json_.close('}').close('}');
  put(json_.take());
}

void TraceWriter::name_process(std::uint64_t process, const std::string& name) {
  json_.line().open('{').key("ph").text("M").key("pid").number(process).key("name").text("process_name");
  json_.key("args").open('{').key("name").text(name);
  end();
}

void TraceWriter::name_thread(const Track& track, const std::string& name) {
  json_.line().open('{').key("ph").text("M").key("pid").number(track.process).key("tid").number(track.thread);
  json_.key("name").text("thread_name").key("args").open('{').key("name").text(name);
  end();
}

JsonWriter& TraceWriter::slice(const Track& track, std::uint64_t at, std::uint64_t duration,
                               std::string_view category, std::string_view name) {
  begin("X", track, at, category, name);
  return json_.key("dur").number(duration).key("args").open('{');
}

JsonWriter& TraceWriter::instant(const Track& track, std::uint64_t at, std::string_view category,
                                 std::string_view name, bool of_process) {
  begin("i", track, at, category, name);
  return json_.key("s").text(of_process ? "p" : "t").key("args").open('{');
}

void TraceWriter::counter(std::uint64_t process, std::uint64_t at, const std::string& name,
                          std::string_view unit, std::uint64_t value) {
  json_.line().open('{').key("ph").text("C").key("pid").number(process).key("ts").number(at);
  json_.key("name").text(name).key("args").open('{').key(unit).number(value);
  end();
}

void TraceWriter::span(std::uint64_t process, std::uint64_t first, std::uint64_t last,
                       std::string_view category, const std::string& name) {
  ++spans_;
  for (const bool is_end : {false, true}) {
    begin(is_end ? "e" : "b", {process, 0}, is_end ? last : first, category, name);
    json_.key("id").number(spans_).key("args").open('{');
    end();
  }
}

bool TraceWriter::finish() {
  put(json_.line().close(']').close('}').take() + '\n');
  return good_;
}

}  // namespace opdump::tool
