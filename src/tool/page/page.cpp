#include "src/tool/page/page.hpp"

#include <time.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/card/sha256.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/base64.hpp"
#include "src/tool/cli/output_file.hpp"
#include "src/tool/page/page_parts.hpp"

namespace opdump::tool {

std::string html(std::string_view text) {
  std::string safe;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string html_name(const std::string& name) {
  return html(shortened(printable(name), kMostName));
}

std::string utc_text(std::uint64_t unix_us) {
  const auto seconds = static_cast<time_t>(unix_us / 1000000);
  tm utc{};
  char text[64];
  if (gmtime_r(&seconds, &utc) == nullptr || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) == 0)
    return std::to_string(unix_us);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06u UTC", static_cast<unsigned>(unix_us % 1000000));
  return std::string(text) + fraction;
}

std::string number_or_dash(double number) {
  return std::isnan(number) ? "-" : number_text(number);
}

constexpr std::string_view kVerdictMarks[] = {"\u2713", "\u25b2", "\u25c6", "\u25cf", "\u25cb"};

std::string verdict_badge(Verdict verdict) {
  const std::string word(to_string(verdict));
  return "<span class=\"v " + word + "\">" + std::string(kVerdictMarks[static_cast<std::size_t>(verdict)]) +
         ' ' + word + "</span>";
}

std::string name_of(const ReportFacts& facts, const ReportRun& run) {
  const ReportOp& op = facts.ops[run.op];
  return (op.type.empty() ? "" : op.type + ' ') + op.name;
}

std::string link_of(const ReportFacts& facts, std::size_t number) {
  const ReportRun& run = facts.runs[number];
  const ReportPlace& place = facts.places[run.place];
  std::size_t alike = facts.has_boots ? 0 : 1;
  for (const ReportPlace& other : facts.places) {
    if (!facts.has_boots) break;
    alike += other.step == place.step && other.model == place.model ? 1 : 0;
  }
  std::string link = "#op=" + std::to_string(run.op);
  if (place.step && alike == 1) return link + "&amp;step=" + std::to_string(*place.step);
  return link + "&amp;at=" + std::to_string(run.place);
}

namespace {

std::string script() {
  std::string text = "\n'use strict';\n(() => {\n";
  for (const std::string_view piece : page_script()) text += piece;
  return text + "})();\n";
}

std::string style() {
  std::string text = "\n";
  for (const std::string_view piece : page_style()) text += piece;
  return text;
}

/// Of the one script or style that the page's policy lets in, whatever names of the dump hold.
std::string hash_of(const std::string& text) {
  const std::string digits = cards::sha256(as_bytes(text));
  std::vector<std::byte> hash;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    hash.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return "'sha256-" + base64(hash) + "'";
}

std::string front_of(const ReportFacts& facts, const PageHead& head, PageDetail detail) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src " +
      hash_of(style()) + "; script-src " + hash_of(script()) +
      "; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>opdump report: " +
      html_name(head.dump) + "</title>\n<style>" + style();
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
