#include "src/tool/page/page.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/card/sha256.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/base64.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/page/html.hpp"
#include "src/tool/page/page_files.hpp"
#include "src/tool/page/page_parts.hpp"

namespace opdump::tool {
namespace {

std::string script() {
  std::string text = "\n'use strict';\n(() => {\n";
  for (const std::string_view piece : page_script()) text += piece;
  return text + "})();\n";
}

/// The one script that the page's policy lets run, whatever names of the dump hold.
std::string script_hash() {
  const std::string text = script();
  const std::string digits = cards::sha256(as_bytes(text));
  std::vector<std::byte> hash;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    hash.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return "'sha256-" + base64(hash) + "'";
}

std::string front_of(const ReportFacts& facts, const PageHead& head, PageDetail detail) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src " +
      script_hash() +
      "; img-src data:\">\n"
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

/// What the least page takes, and how there can be one.
std::string too_large_text(std::uint64_t bytes, std::uint64_t most) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kSlack = 4096;  // for the command line, which the page tells too
  return "the page takes " + byte_text(bytes) + " at least, more than the --max-bytes of " + byte_text(most) +
         ": choose steps with '--step' or operators with '--op', or allow it by '--max-bytes " +
         std::to_string((bytes + kSlack) / kMiB + 1) + "M'";
}

std::string back() {
  return "</script>\n<script>" + script() + "</script>\n</body>\n</html>\n";
}

}  // namespace

bool write_page(const std::string& path, const ReportFacts& facts, const PageHead& head, PageDetail detail,
                std::string& error) {
  const std::string behind = back();
  for (;;) {
    const std::string front = front_of(facts, head, detail);
    const std::uint64_t around = front.size() + behind.size();
    PageWriter json(static_cast<std::size_t>(head.max_bytes - std::min(around, head.max_bytes)));
    const std::optional<PageDetail> next = write_page_data(facts, detail, json);
    if (next) {
      detail = *next;
      continue;
    }
    const std::uint64_t bytes = around + json.bytes();
    if (bytes > head.max_bytes) {
      error = path + ": " + too_large_text(bytes, head.max_bytes);
      return false;
    }
    return write_file(
        path, [&](const auto& put) { return put(front) && put(json.passed()) && put(behind); }, error);
  }
}

}  // namespace opdump::tool
