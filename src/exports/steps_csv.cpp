#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exports/csv_table.h"
#include "exports/csv_tables.h"

namespace assay::exports {

namespace {

using perflog::EventKind;
using perflog::Field;

// The values that docs/perflog.md defines for a step, in the order of its table.
constexpr std::array<std::string_view, 11> kDefined{
    "loss",   "samples",   "global_samples", "tokens",      "flops",   "lr",
    "data_s", "compute_s", "comm_s",         "optimizer_s", "bubble_s"};
// Columns for place and time.
const std::set<std::string, std::less<>> kTaken{"case", "round",  "rank",      "host",
                                                "step", "time_s", "elapsed_s", "step_s"};

bool is_number(const Field& field) {
  return field.type == Field::Type::number || field.type == Field::Type::boolean;
}

// Names of step values that PerfLog does not define.
std::vector<std::string> own_columns(const RunFiles& run) {
  std::set<std::string, std::less<>> found;
  for (const live::LogFile& log : run.ranks())
    read_rank_log(log, 0, [&](const perflog::Event& event, double) {
      if (event.kind != EventKind::step_end) return;
      for (const Field& field : event.fields)
        if (is_number(field) && found.size() < kMaxOwnColumns &&
            std::ranges::find(kDefined, field.key) == kDefined.end() && !kTaken.contains(field.key))
          found.emplace(field.key);
    });
  return {found.begin(), found.end()};
}

void begin_row(CsvTable& table, const live::LogFile& log) {
  table.text(log.case_name)
      .number(std::int64_t{log.round})
      .number(std::int64_t{log.rank})
      .text(log.host);
}

double since_start(const RunFiles& run, const live::LogFile& log, double t) {
  return t - static_cast<double>(run.round_of(log.round_index).start_ms) / 1e3;
}

}  // namespace

std::uint64_t write_steps(const RunFiles& run, const std::filesystem::path& file) {
  std::vector<std::string> columns(kDefined.begin(), kDefined.end());
  for (std::string& name : own_columns(run)) columns.push_back(std::move(name));
  CsvTable table(file);
  for (const char* name :
       {"case", "round", "rank", "host", "step", "time_s", "elapsed_s", "step_s"})
    table.text(name);
  for (const std::string& name : columns) table.text(name);
  table.end_row();
  std::uint64_t rows = 0;
  for (const live::LogFile& log : run.ranks()) {
    std::optional<double> last;
    std::int64_t steps = 0;
    read_rank_log(
        log, run.watch().clock_offset(log.node), [&](const perflog::Event& event, double t) {
          if (event.kind == EventKind::train_start) last = t;
          if (event.kind == EventKind::step_begin && !last) last = t;
          if (event.kind != EventKind::step_end) return;
          ++steps;
          begin_row(table, log);
          table.number(event.step == perflog::Event::kMissing ? steps : event.step)
              .number(t)
              .number(since_start(run, log, t));
          last ? table.number(t - *last) : table.empty();
          last = t;
          for (const std::string& name : columns) {
            const Field* field = event.find(name);
            field != nullptr&& is_number(*field) ? table.number(field->number) : table.empty();
          }
          table.end_row();
          ++rows;
        });
  }
  table.finish();
  return rows;
}

std::uint64_t write_evaluations(const RunFiles& run, const std::filesystem::path& file) {
  CsvTable table(file);
  for (const char* name :
       {"case", "round", "rank", "host", "step", "time_s", "elapsed_s", "name", "value"})
    table.text(name);
  table.end_row();
  std::uint64_t rows = 0;
  for (const live::LogFile& log : run.ranks()) {
    read_rank_log(
        log, run.watch().clock_offset(log.node), [&](const perflog::Event& event, double t) {
          if (event.kind != EventKind::evaluate && event.kind != EventKind::init_evaluation) return;
          for (const Field& field : event.fields) {
            if (!is_number(field) || field.key == "step") continue;
            begin_row(table, log);
            event.step == perflog::Event::kMissing ? table.empty() : table.number(event.step);
            table.number(t).number(since_start(run, log, t)).text(field.key).number(field.number);
            table.end_row();
            ++rows;
          }
        });
  }
  table.finish();
  return rows;
}

}  // namespace assay::exports
