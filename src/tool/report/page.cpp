#include "src/tool/report/page.hpp"

#include <algorithm>

#include "src/tool/report/html.hpp"
#include "src/tool/report/page_files.hpp"
#include "src/tool/report/page_parts.hpp"

namespace opdump::tool {
namespace {

std::string front_of(const ReportFacts& facts, const PageHead& head, PageDetail detail) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>opdump report: " +
      html_name(head.dump) + "</title>\n<style>\n";
  for (const std::string_view piece : page_style()) page += piece;
  return page +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#worst\">Skip to the worst operators</a>\n" +
         page_header(facts, head, detail) + "<main>\n<div id=\"app\"></div>\n" + worst_section(facts) +
         losses_section(facts) + config_section(facts.config) + about_section(facts, head) +
         "</main>\n<script type=\"application/json\" id=\"d\">";
}

std::string back() {
  std::string page = "</script>\n<script>\n'use strict';\n(() => {\n";
  for (const std::string_view piece : page_script()) page += piece;
  return page + "})();\n</script>\n</body>\n</html>\n";
}

}  // namespace

std::string make_page(const ReportFacts& facts, const PageHead& head, PageDetail detail, std::size_t& bytes,
                      std::string& error) {
  const std::string behind = back();
  for (int level = static_cast<int>(detail); level <= static_cast<int>(PageDetail::no_files); ++level) {
    const std::string front = front_of(facts, head, static_cast<PageDetail>(level));
    const std::size_t around = front.size() + behind.size();
    PageWriter json(
        static_cast<std::size_t>(head.max_bytes - std::min<std::uint64_t>(around, head.max_bytes)));
    write_page_data(facts, static_cast<PageDetail>(level), json);
    bytes = around + json.bytes();
    error = json.error();
    if (!error.empty()) return {};
    if (bytes > head.max_bytes) continue;
    std::string page;
    page.reserve(bytes);
    return page.append(front).append(json.kept()).append(behind);
  }
  return {};
}

}  // namespace opdump::tool
