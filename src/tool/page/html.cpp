#include "src/tool/page/html.hpp"

#include <time.h>

#include <cmath>
#include <cstdio>

#include "src/config/text/human_text.hpp"

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

}  // namespace opdump::tool
