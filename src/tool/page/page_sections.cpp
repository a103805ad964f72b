#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/page/page.hpp"
#include "src/tool/page/page_parts.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kVerdictCount = 5;

class PageHeader {
 public:
  PageHeader(const ReportFacts& facts, const PageHead& head) : facts_(facts), head_(head) {}

  std::string write(PageDetail detail) const {
    std::string text = "<header class=\"" + verdict_class() +
                       "\">\n<p class=\"brand\">opdump report</p>\n<h1>" + html(verdict_text(facts_)) +
                       "</h1>\n";
    if (facts_.first)
      text += "<p><a id=\"first\" class=\"go\" href=\"" + link_of(facts_, *facts_.first) + "\">Look at " +
              html_name(name_of(facts_, facts_.runs[*facts_.first])) + "</a> " + counts_text() + "</p>\n";
    else if (facts_.verdicts != nullptr)
      text += "<p>" + counts_text() + "</p>\n";
    text += "<dl>\n";
    const auto row = [&](std::string_view name, const std::string& value) {
      if (!value.empty())
        text += "<div><dt>" + std::string(name) + "</dt><dd>" + html(value) + "</dd></div>\n";
    };
    row("Dump", head_.dump);
    row("Golden", head_.golden);
    row("Journal", completeness_text(facts_.journal));
    row("Recomputed", facts_.recomputed);
    row("Models", models());
    row("Device", devices());
    row("Made by", facts_.provenance);
    row("Size", count_text(facts_.ops.size(), "operator") + ", " + count_text(facts_.runs.size(), "record") +
                    ", " + count_text(facts_.dumps.mine().tensors.size(), "tensor") + ", " +
                    byte_text(bytes()));
    row("Time", times());
    row("Limits", limits());
    row("Left out", left_out_text(detail));
    return text + "</dl>\n</header>\n";
  }

 private:
  std::string verdict_class() const {
    if (facts_.first) return "bad";
    if (facts_.unread_files + facts_.unread_tensors != 0) return "warn";
    for (const PairResult& result : facts_.dumps.results()) {
      if (result.pair.mine && !result.comparison) return "warn";
    }
    return facts_.journal.journals != 0 && !facts_.journal.complete ? "warn" : "good";
  }

  std::string order_text() const {
    if (!facts_.first) return {};
    return "It is record " + std::to_string(*facts_.first + 1) + " of " + std::to_string(facts_.runs.size()) +
           " in the order of execution. ";
  }

  /// What `order_text` says, and "1 culprit, 4 victims".
  std::string counts_text() const {
    if (facts_.verdicts == nullptr) return order_text();
    std::array<std::size_t, kVerdictCount> counts{};
    for (const OpVerdict& op : facts_.verdicts->ops()) ++counts[static_cast<std::size_t>(op.verdict)];
    std::string text = order_text();
    bool any = false;
    for (const Verdict verdict :
         {Verdict::culprit, Verdict::diverges, Verdict::victim, Verdict::unpaired, Verdict::agrees}) {
      const std::size_t count = counts[static_cast<std::size_t>(verdict)];
      if (count == 0) continue;
      text += (any ? ", " : "") + std::to_string(count) + "&nbsp;" + verdict_badge(verdict);
      any = true;
    }
    return text;
  }

  std::string models() const {
    std::set<std::string> names;
    std::set<std::uint64_t> steps;
    for (const ReportPlace& place : facts_.places) {
      if (!place.model.empty()) names.insert(place.model);
      if (place.step) steps.insert(*place.step);
    }
    std::string text;
    for (const std::string& name : names)
      text += (text.empty() ? "" : ", ") + shortened(printable(name), kMostName);
    if (steps.empty()) return text;
    text += text.empty() ? "" : "; ";
    if (steps.size() == 1) return text + "step " + std::to_string(*steps.begin());
    text += count_text(steps.size(), "step");
    return text + ", " + std::to_string(*steps.begin()) + " to " + std::to_string(*steps.rbegin());
  }

  std::string devices() const {
    std::string text;
    for (const std::uint64_t device : facts_.journal.devices)
      text += (text.empty() ? "" : ", ") + std::to_string(device);
    return text;
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const ReportRun& run : facts_.runs) sum += run.bytes;
    return sum;
  }

  std::string times() const {
    std::uint64_t first = UINT64_MAX, last = 0;
    for (const DumpFile& file : facts_.dumps.mine().files) {
      if (file.unix_us == 0) continue;
      first = std::min(first, file.unix_us);
      last = std::max(last, file.unix_us);
    }
    return last == 0 ? std::string() : utc_text(first) + " to " + utc_text(last);
  }

  std::string limits() const {
    if (facts_.compared == nullptr) return {};
    std::string text;
    for (const Threshold& limit : facts_.compared->thresholds)
      text += (text.empty() ? "" : ", ") + std::string(limit.measure->short_name) +
              (limit.measure->larger_is_better ? " at least " : " at most ") + number_text(limit.limit);
    return text;
  }

  const ReportFacts& facts_;
  const PageHead& head_;
};

/// "; 1 file could not be read", and what else the verdict does not stand for; empty: it stands for all.
std::string gaps_text(const ReportFacts& facts) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what, std::string_view gap) {
    if (count != 0) text += (text.empty() ? "; " : ", ") + count_text(count, what) + ' ' + std::string(gap);
  };
  add(facts.unread_files, "file", "could not be read");
  add(facts.unread_tensors, "tensor", "could not be read");
  std::uint64_t lonely = 0;
  for (const PairResult& result : facts.dumps.results()) lonely += result.pair.mine ? 0 : 1;
  add(lonely, "golden tensor", "without a partner");
  return text;
}

/// With its first letter as a sentence has it.
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// "Complete, 15 of 15 records. "; empty where nothing proves it.
std::string complete_prefix(const JournalFacts& journal) {
  if (journal.journals == 0) return {};
  return (journal.complete ? "Complete, " : "Not complete, ") + std::to_string(journal.written) + " of " +
         count_text(journal.written + journal.lost, "record") + ". ";
}

/// What was found in what could be read.
std::string finding_text(const ReportFacts& facts) {
  if (facts.verdicts != nullptr && !facts.verdicts->first() && !facts.own_fault.empty())
    return "First operator that is off by itself: " + shortened(printable(facts.own_fault), 4 * kMostName);
  if (facts.verdicts != nullptr) {
    if (facts.verdicts->first())
      return sentence(shortened(printable(facts.verdicts->headline()), 4 * kMostName));
    std::size_t compared = 0, failed = 0;
    for (const PairResult& result : facts.dumps.results()) {
      if (!result.pair.mine) continue;
      result.comparison ? ++compared : ++failed;
    }
    std::string text = "Nothing diverges: " + count_text(compared, "tensor") + " compared";
    if (failed != 0) text += ", " + std::to_string(failed) + " could not be";
    return text;
  }
  if (!facts.own_fault.empty())
    return complete_prefix(facts.journal) +
           "First diverging operator: " + shortened(printable(facts.own_fault), 4 * kMostName);
  const Judgement& alone = facts.alone;
  if (!alone.headline.empty())
    return complete_prefix(facts.journal) + sentence(shortened(printable(alone.headline), 4 * kMostName));
  return complete_prefix(facts.journal) + (alone.any
                                               ? "Nothing is wrong in what could be judged: " + alone.judged
                                               : std::string("Nothing could be judged"));
}

}  // namespace

std::string verdict_text(const ReportFacts& facts) {
  return finding_text(facts) + gaps_text(facts);
}

std::string page_header(const ReportFacts& facts, const PageHead& head, PageDetail detail) {
  return PageHeader(facts, head).write(detail);
}

namespace {

/// How much was written whole, reduced and lost, as widths: attributes of SVG, which the page's policy lets in.
std::string bar_of(const RecordCounts& counts) {
  const double all = static_cast<double>(counts.written + counts.lost);
  const std::string whole = number_text(100.0 * static_cast<double>(counts.written - counts.reduced) / all);
  const std::string reduced = number_text(100.0 * static_cast<double>(counts.reduced) / all);
  return "<div class=\"bar\" role=\"img\" aria-label=\"" + whole + " % written whole, " + reduced +
         " % reduced\"><svg><rect width=\"" + whole + "%\"/><rect class=\"part\" x=\"" + whole +
         "%\" width=\"" + reduced + "%\"/></svg></div>\n";
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
