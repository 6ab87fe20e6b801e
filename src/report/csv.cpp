#include "report/csv.h"

#include <cmath>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::report {

namespace {

// A text cell: neutralized, then quoted where RFC 4180 requires it.
std::string cell(std::string_view raw) {
  std::string text = printable(raw);
  // Spreadsheets also evaluate a formula after leading blanks.
  const auto first = text.find_first_not_of(" \t\n");
  if (first != std::string::npos && std::string_view("=+-@").find(text[first]) != std::string::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\n\t") == std::string::npos && text == trim(text)) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string decimal(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}
std::string decimal(std::optional<double> value) {
  return value ? decimal(*value) : "";
}

void row(std::string& out, std::initializer_list<std::string> cells) {
  bool first = true;
  for (const std::string& text : cells) {
    if (!first) out += ',';
    first = false;
    out += text;
  }
  out += "\r\n";
}

}  // namespace

std::string csv_cell(std::string_view text) {
  return cell(text);
}

std::string render_csv(const judge::RunResult& result) {
  std::string out;
  row(out, {"run_id", "case", "round", "metric", "value", "unit", "better", "origin", "validity",
            "role"});
  for (const judge::CaseResult& case_result : result.cases) {
    const auto role = [&](const std::string& name) {
      return name == case_result.headline ? "headline" : name == case_result.beside ? "beside" : "";
    };
    for (const judge::RoundResult& round : case_result.rounds) {
      for (const judge::Metric& metric : round.metrics) {
        if (!std::isfinite(metric.value)) continue;
        row(out, {cell(result.run_id), cell(case_result.name), std::to_string(round.round),
                  cell(metric.info.name), decimal(metric.value), cell(metric.info.unit),
                  cell(to_text(metric.info.better)), cell(to_text(metric.origin)),
                  cell(judge::to_string(round.validity)), role(metric.info.name)});
      }
    }
  }
  return out;
}

std::string render_ranks_csv(const judge::RunResult& result) {
  std::string out;
  row(out, {"run_id", "case", "round", "rank", "node", "local_rank", "host", "exit_code", "signal",
            "ended_by", "steps", "samples", "mean_step_s", "relative_speed", "malformed_lines",
            "dropped_bytes", "log"});
  for (const judge::CaseResult& case_result : result.cases) {
    for (const judge::RoundResult& round : case_result.rounds) {
      for (const judge::RankResult& rank : round.ranks) {
        const bool code = rank.exit && rank.exit->code;
        const bool signal = rank.exit && rank.exit->signal;
        row(out,
            {cell(result.run_id), cell(case_result.name), std::to_string(round.round),
             std::to_string(rank.rank), std::to_string(rank.node), std::to_string(rank.local_rank),
             cell(rank.host), code ? std::to_string(*rank.exit->code) : "",
             signal ? signal_name(*rank.exit->signal) : "", cell(rank.ended_by),
             std::to_string(rank.steps), decimal(rank.samples), decimal(rank.mean_step_s),
             decimal(rank.relative_speed), std::to_string(rank.malformed_lines),
             std::to_string(rank.dropped_bytes), cell(rank.log)});
      }
    }
  }
  return out;
}

}  // namespace assay::report
