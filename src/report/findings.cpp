#include "report/findings.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::report {

namespace {

bool is_word_end(const std::string& text, std::size_t at) {
  return at >= text.size() || std::isalnum(static_cast<unsigned char>(text[at])) == 0;
}

// Compares whole words: "rank 12" does not contain "rank 1".
bool says(const std::string& text, const std::string& words) {
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    if ((at == 0 || is_word_end(text, at - 1)) && is_word_end(text, at + words.size())) return true;
  return false;
}

// The parts of "round 2, ranks 0, 3 on node1" that the reason does not already contain. A bare
// number is not a part but continues the list before it.
std::string unsaid(const std::string& where, const std::string& reason) {
  std::string out;
  for (std::size_t from = 0; from < where.size();) {
    std::size_t to = where.find(", ", from);
    while (to != std::string::npos && to + 2 < where.size() &&
           std::isdigit(static_cast<unsigned char>(where[to + 2])) != 0)
      to = where.find(", ", to + 2);
    to = std::min(to, where.size());
    const std::string part = where.substr(from, to - from);
    if (!says(reason, part)) out += (out.empty() ? "" : ", ") + part;
    from = to + 2;
  }
  return out;
}

class Folding {
 public:
  void add(const std::vector<MergedFinding>& merged, const std::string& of) {
    for (const MergedFinding& next : merged) {
      const auto same = std::ranges::find_if(
          folded_, [&](const FoldedFinding& entry) { return fits(entry, next, of); });
      if (same == folded_.end()) {
        folded_.push_back({next, of, {}, {of}});
        continue;
      }
      same->others.push_back(next);
      same->same_reason = same->same_reason && same->first.finding.reason == next.finding.reason;
      if (same->of == of)
        same->alike.insert(same->alike.end(), next.places.begin(), next.places.end());
      if (same->cases.back() != of) same->cases.push_back(of);
    }
  }

  std::vector<FoldedFinding> take() {
    std::ranges::stable_sort(folded_, std::ranges::greater{}, [](const FoldedFinding& entry) {
      return entry.first.finding.severity;
    });
    return std::move(folded_);
  }

 private:
  static bool fits(const FoldedFinding& entry, const MergedFinding& next, const std::string& of) {
    const judge::Finding& known = entry.first.finding;
    if (known.rule != next.finding.rule || known.severity != next.finding.severity ||
        known.advice != next.finding.advice || known.quote != next.finding.quote ||
        entry.of.empty() != of.empty())
      return false;
    if (known.severity < judge::Severity::incomplete) return true;
    // Two failures in one round count as two.
    const auto elsewhere = [&](const std::string& place) {
      return std::ranges::find(entry.first.places, place) == entry.first.places.end() &&
             std::ranges::find(entry.alike, place) == entry.alike.end();
    };
    return entry.of == of && !next.places.empty() && std::ranges::all_of(next.places, elsewhere);
  }

  std::vector<FoldedFinding> folded_;
};

}  // namespace

std::vector<MergedFinding> merged_findings(const judge::RunResult& result) {
  judge::CaseResult whole;
  whole.findings = result.findings;
  return merged_findings(whole);
}

std::vector<MergedFinding> merged_findings(const judge::CaseResult& result) {
  std::vector<MergedFinding> merged;
  const auto add = [&](const judge::Finding& finding, const std::string& where) {
    const std::string place = unsaid(where, finding.reason);
    const auto same = std::ranges::find_if(merged, [&](const MergedFinding& other) {
      return other.finding.rule == finding.rule && other.finding.severity == finding.severity &&
             other.finding.reason == finding.reason && other.finding.advice == finding.advice;
    });
    MergedFinding& entry =
        same != merged.end() ? *same : merged.emplace_back(MergedFinding{finding, {}});
    entry.finding.where.clear();
    if (!place.empty() && std::ranges::find(entry.places, place) == entry.places.end())
      entry.places.push_back(place);
  };
  for (const judge::Finding& finding : result.findings) add(finding, finding.where);
  for (const judge::RoundResult& round : result.rounds) {
    const std::string prefix = "round " + std::to_string(round.round);
    for (const judge::Finding& finding : round.findings) {
      if (finding.where.empty())
        add(finding, prefix);
      else
        add(finding,
            finding.where.starts_with("round ") ? finding.where : prefix + ", " + finding.where);
    }
  }
  std::ranges::stable_sort(merged, [](const MergedFinding& a, const MergedFinding& b) {
    return a.finding.severity > b.finding.severity;
  });
  return merged;
}

std::vector<FoldedFinding> folded_findings(const judge::RunResult& result) {
  Folding folding;
  folding.add(merged_findings(result), "");
  for (const judge::CaseResult& case_result : result.cases)
    folding.add(merged_findings(case_result), case_result.name);
  return folding.take();
}

std::vector<FoldedFinding> folded_findings(const std::vector<MergedFinding>& merged) {
  Folding folding;
  folding.add(merged, "");
  return folding.take();
}

std::string where_text(const FoldedFinding& folded) {
  std::string out = places_text(folded.first.places);
  if (folded.cases.size() > 1) return out;
  if (!folded.alike.empty()) return out + "; alike in " + places_text(folded.alike);
  if (!folded.others.empty())
    out += fmt::format("{}{} more like it", out.empty() ? "" : "; ", folded.others.size());
  return out;
}

std::string places_text(const std::vector<std::string>& places) {
  if (places.empty()) return {};
  if (places.size() == 1) return places[0];
  const bool rounds = std::ranges::all_of(places, [](const std::string& place) {
    return place.starts_with("round ") && place.find(',') == std::string::npos;
  });
  if (!rounds && places.size() > 3)
    return std::to_string(places.size()) + " places, first: " + places[0];
  if (!rounds) return join(places, "; ");
  std::string out = "rounds ";
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i == 8 && places.size() > 9)
      return out + " and " + std::to_string(places.size() - i) + " more";
    if (i > 0) out += i + 1 == places.size() ? " and " : ", ";
    out += places[i].substr(6);
  }
  return out;
}

}  // namespace assay::report
