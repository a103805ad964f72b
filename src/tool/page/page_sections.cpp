#include <algorithm>
#include <utility>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/page/html.hpp"
#include "src/tool/page/page_parts.hpp"

namespace opdump::tool {

namespace {

/// How much was written whole, reduced and lost, as widths.
std::string bar_of(const RecordCounts& counts) {
  const double all = static_cast<double>(counts.written + counts.lost);
  const std::string whole = number_text(100.0 * static_cast<double>(counts.written - counts.reduced) / all);
  const std::string reduced = number_text(100.0 * static_cast<double>(counts.reduced) / all);
  return "<div class=\"bar\" role=\"img\" aria-label=\"" + whole + " % written whole, " + reduced +
         " % reduced\"><span style=\"width:" + whole +
         "%\"></span><span class=\"part\" style=\"width:" + reduced + "%\"></span></div>\n";
}

/// Of the operators that lost most, how much of each was written.
std::string losses_by_op(const OpRecordCounts& by_op) {
  constexpr std::size_t kMostBars = 50;
  struct Hurt {
    const std::pair<std::string, std::string>& op;
    RecordCounts counts;
  };
  std::vector<Hurt> hurt;
  for (const auto& [op, told] : by_op) {
    if (const RecordCounts counts = told.counts(); counts.lost + counts.reduced != 0)
      hurt.push_back({op, counts});
  }
  if (hurt.empty()) return {};
  std::vector<std::size_t> order(hurt.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(hurt[b].counts.lost, hurt[b].counts.reduced) <
           std::pair(hurt[a].counts.lost, hurt[a].counts.reduced);
  });
  std::string text =
      "<h3>By operator</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Losses by "
      "operator\"><table>\n<thead><tr><th scope=\"col\">Operator</th><th scope=\"col\">Model</th><th "
      "scope=\"col\" class=\"n\">Wanted</th><th scope=\"col\" class=\"n\">Written</th><th scope=\"col\" "
      "class=\"n\">Reduced</th><th scope=\"col\" class=\"n\">Lost</th><th scope=\"col\">Whole, reduced, "
      "lost</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(kMostBars, hurt.size()); ++i) {
    const auto& [op, counts] = hurt[order[i]];
    const std::uint64_t wanted = counts.written + counts.lost;
    text += "<tr><th scope=\"row\"><bdi>" + html_name(op.second) + "</bdi></th><td><bdi>" +
            html_name(op.first) + "</bdi></td>";
    for (const std::uint64_t count : {wanted, counts.written, counts.reduced, counts.lost})
      text += "<td class=\"n\">" + std::to_string(count) + "</td>";
    text += "<td>" + bar_of(counts) + "</td></tr>\n";
  }
  text += "</tbody></table></div>\n";
  if (hurt.size() > kMostBars)
    text += "<p>And " + std::to_string(hurt.size() - kMostBars) + " more; opdump verify lists them.</p>\n";
  return text;
}

}  // namespace

std::string worst_section(const ReportFacts& facts) {
  const bool compared = facts.compared != nullptr;
  const bool recomputed = !facts.recomputed.empty();
  std::string text =
      "<section id=\"worst\" aria-labelledby=\"worst-h\">\n<h2 id=\"worst-h\">Worst operators</h2>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the worst "
      "operators\">\n<table>\n<thead><tr>"
      "<th scope=\"col\">Operator</th><th scope=\"col\">At</th>";
  if (compared)
    text +=
        "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"n\">Error</th><th scope=\"col\" "
        "class=\"n\">Cosine</th>";
  text += "<th scope=\"col\" class=\"n\">NaN, Inf</th><th scope=\"col\" class=\"n\">max |x|</th>";
  if (recomputed) text += "<th scope=\"col\" class=\"n\">Isolated error</th>";
  text += compared || recomputed ? "<th scope=\"col\">Why</th></tr></thead>\n<tbody>\n"
                                 : "</tr></thead>\n<tbody>\n";
  for (const std::size_t number : facts.worst_runs()) {
    const ReportRun& run = facts.runs[number];
    text += "<tr><th scope=\"row\"><a href=\"" + link_of(facts, number) + "\"><bdi>" +
            html_name(name_of(facts, run)) + "</bdi></a></th><td>" + html_name(facts.places[run.place].text) +
            "</td>";
    if (compared) {
      text += "<td>" + (run.verdict ? verdict_badge(*run.verdict) : "-") + "</td><td class=\"n\">" +
              number_or_dash(run.error) + "</td><td class=\"n\">" + number_or_dash(run.cosine) + "</td>";
    }
    text += "<td class=\"n\">" + std::to_string(run.nonfinite) + "</td><td class=\"n\">" +
            number_or_dash(run.peak) + "</td>";
    if (recomputed) text += "<td class=\"n\">" + number_or_dash(run.isolated) + "</td>";
    const auto& told = run.is_own_fault ? facts.replayed : facts.evidence;
    const auto found = told.find(number);
    const std::string why = found == told.end() ? std::string() : found->second;
    if (compared || recomputed) text += "<td>" + html(shortened(printable(why), 3 * kMostName)) + "</td>";
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n</div>\n</section>\n";
}

std::string completeness_text(const JournalFacts& journal) {
  if (journal.journals == 0) return "not proved: the dump has no journal";
  return journal.verdict + ": " + count_text(journal.written, "record") + " written, " +
         std::to_string(journal.lost) + " lost";
}

std::string losses_section(const ReportFacts& facts) {
  const JournalFacts& journal = facts.journal;
  std::string text =
      "<section id=\"losses\" aria-labelledby=\"losses-h\">\n<h2 id=\"losses-h\">Losses</h2>\n<p>" +
      html(completeness_text(journal)) + ".</p>\n";
  if (journal.lost != 0) text += bar_of({.written = journal.written, .lost = journal.lost});
  text += losses_by_op(journal.by_op);
  for (const FindingGroup& group : journal.findings) {
    const std::string heading =
        html(std::string(group.heading)) + " (" + std::to_string(group.findings) + ")";
    text += "<h3>" + heading + "</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
            heading + "\"><table><tbody>\n";
    for (const std::vector<std::string>& row : group.rows) {
      text += "<tr>";
      for (const std::string& cell : row) text += "<td>" + html(cell) + "</td>";
      text += "</tr>\n";
    }
    text += "</tbody></table></div>\n";
    if (group.lines > group.rows.size())
      text += "<p>And " + std::to_string(group.lines - group.rows.size()) +
              " more; opdump verify lists them.</p>\n";
  }
  return text + "</section>\n";
}

std::string config_section(const ConfigFacts& config) {
  if (config.file.empty()) return {};
  std::string text =
      "<section id=\"config\" aria-labelledby=\"config-h\">\n<h2 id=\"config-h\">Config</h2>\n<p><code>" +
      html(config.file) + "</code>: " +
      (!config.valid   ? "refused"
       : config.active ? "valid and active"
                       : "valid, but it switches nothing on") +
      ".</p>\n<ul class=\"list\">\n";
  for (const std::string& line : config.lines) text += "<li>" + html(line) + "</li>\n";
  for (const std::string& note : config.notes) text += "<li>" + html(note) + "</li>\n";
  return text + "</ul>\n</section>\n";
}

std::string about_section(const ReportFacts& facts, const PageHead& head) {
  std::string text =
      "<section id=\"about\" aria-labelledby=\"about-h\">\n<h2 id=\"about-h\">About this page</h2>\n";
  for (const std::string& note : facts.notes) text += "<p>" + html(note) + "</p>\n";
  text += "<p>Made by opdump " OPDUMP_VERSION ": <code>" + html(head.command) +
          "</code></p>\n<p>Numbers are those of <code>opdump show</code> and <code>opdump compare</code>. "
          "Error is the relative Euclidean distance of the output that is farthest from golden; of "
          "statistics, the largest difference by golden's range. Isolated error is the same distance from "
          "what <code>opdump diverge</code> makes of the operator's own inputs. Times are UTC. The page "
          "loads nothing from anywhere.</p>\n";
  return text + "</section>\n";
}

}  // namespace opdump::tool
