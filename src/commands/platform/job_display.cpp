#include "commands/platform/job_display.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "lang/language.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

using client::JobRow;

std::string verdict_text(jobs::Verdict verdict) {
  return verdict == jobs::Verdict::none ? "–" : std::string(to_text(verdict));
}

std::string color_of(const JobRow& job) {
  if (job.state.is(jobs::State::running)) return "36";
  if (job.state.is(jobs::State::failed) || job.state.is(jobs::State::error)) return "31";
  if (job.state.is(jobs::State::finished)) return job.verdict == jobs::Verdict::valid ? "32" : "33";
  return {};
}

// The total running time over all attempts; empty if it has not run.
std::string time_of(const JobRow& job) {
  return job.ran_s.value_or(0) > 0 ? format_duration(from_seconds(*job.ran_s)) : "";
}

// An array element has the array's name.
std::string name_of(const JobRow& job) {
  return printable(job.name) + (job.array_index ? fmt::format("[{}]", *job.array_index) : "");
}

}  // namespace

std::string shown_time(const std::string& iso) {
  if (!client::parse_time(iso)) return "–";
  return iso.substr(0, 10) + " " + iso.substr(11, 5);
}

std::string shown_placement(const jobs::Placement& placement) {
  std::vector<std::string> shares;
  for (const jobs::NodeShare& share : placement)
    shares.push_back(fmt::format("{} ({})", printable(share.node), share.devices));
  if (shares.size() > 16) {
    const std::size_t more = shares.size() - 16;
    shares.resize(16);
    shares.push_back(lang::tr(fmt::format("and {} more", more)));
  }
  return join(shares, ", ");
}

std::string shown_wait(const std::string& pending, std::int64_t place,
                       const std::string& estimated_start) {
  std::string text = printable(pending);
  if (place > 0) text += fmt::format("{}place {} in line", text.empty() ? "" : "; ", place);
  if (client::parse_time(estimated_start))
    text +=
        fmt::format("{}starts about {} UTC", text.empty() ? "" : "; ", shown_time(estimated_start));
  return text;
}

page::Table jobs_table(const std::vector<JobRow>& jobs) {
  using page::Align;
  using page::Cut;
  page::Table table{{{.title = "JOB", .align = Align::right},
                     {.title = "NAME", .cut = Cut::end, .soft_min = 16, .hard_min = 8},
                     {.title = "OWNER", .cut = Cut::end, .soft_min = 8, .hard_min = 5},
                     {.title = "QUEUE", .cut = Cut::end, .soft_min = 8, .hard_min = 5},
                     {.title = "STATE"},
                     {.title = "VERDICT"},
                     {.title = "DEVICES", .align = Align::right},
                     {.title = "SUBMITTED"},
                     {.title = "TIME", .align = Align::right},
                     {.title = "WHY", .cut = Cut::end, .soft_min = 12, .hard_min = 3}}};
  for (const JobRow& job : jobs) {
    page::Cell state(printable(job.state.text));
    state.color = color_of(job);
    const std::string devices = job.device_type.empty()
                                    ? std::to_string(job.devices)
                                    : fmt::format("{} {}", job.devices, printable(job.device_type));
    table.rows.push_back(
        {{std::to_string(job.id), page::name(name_of(job)), page::name(printable(job.owner)),
          page::name(printable(job.queue)), state, verdict_text(job.verdict), devices,
          shown_time(job.submitted), time_of(job).empty() ? "–" : time_of(job),
          shown_wait(job.pending, job.place, job.estimated_start)}});
  }
  return table;
}

std::string job_brief(const client::JobDetails& job,
                      const std::vector<client::TimelineRow>& timeline, const std::string& page) {
  const JobRow& row = job.row;
  const jobs::Submission& asked = job.submission;
  std::string text;
  const auto line = [&](std::string_view title, const std::string& value) {
    const std::string shown = lang::tr(value);
    if (!shown.empty()) text += page::pad_right(lang::tr(title), 10) + " " + shown + "\n";
  };
  line("Job", fmt::format("{} {}", row.id, lang::name(name_of(row))));
  if (row.array != 0 && row.array_index)
    line("Array", fmt::format("element {} of the array that begins with job {}", *row.array_index,
                              row.array));
  line("State", printable(row.state.text) +
                    (row.verdict == jobs::Verdict::none ? "" : ", " + verdict_text(row.verdict)));
  line("Why", shown_wait(row.pending, row.place, row.estimated_start));
  line("Last", printable(job.message));
  if (job.exit_code && *job.exit_code != 0) line("Exit code", std::to_string(*job.exit_code));
  line("Owner", lang::name(printable(row.owner)) +
                    (row.team.empty() ? "" : ", team " + lang::name(printable(row.team))));
  line("Queue", fmt::format("{}, priority {}{}", lang::name(printable(row.queue)), row.priority,
                            asked.preemptible ? ", preemptible" : ""));
  line("Asks for",
       fmt::format("{} × {}{}", counted(asked.nodes, "node"),
                   counted(jobs::devices_per_node(asked), "device"),
                   asked.device_type.empty() ? "" : " of type " + lang::name(asked.device_type)));
  line("Nodes", lang::name(shown_placement(job.placement)));
  line("Submitted", shown_time(row.submitted));
  if (!row.started.empty()) line("Started", shown_time(row.started));
  if (!row.ended.empty()) line("Ended", shown_time(row.ended));
  line("Ran for", time_of(row));
  if (!job.logs_removed.empty())
    line("Logs", "removed " + shown_time(job.logs_removed) + "; result and report stay");
  if (job.attempt > 1)
    line("Attempt", fmt::format("{}, {}", job.attempt, counted(job.retries, "retry", "retries")));
  line("Command", lang::name(printable(asked.command)));
  line("Page", lang::name(page));
  if (timeline.empty()) return text;
  page::Table table{{{.title = "AT"},
                     {.title = "EVENT"},
                     {.title = "STATE"},
                     {.title = "WHO"},
                     {.title = "WORDS"}}};
  for (const client::TimelineRow& event : timeline)
    table.rows.push_back(
        {{shown_time(event.at) + event.at.substr(std::min<std::size_t>(16, event.at.size()), 3),
          printable(event.event), printable(event.to), page::name(printable(event.who)),
          printable(event.words)}});
  return text + "\n" + join(page::text_lines(table), "\n") + "\n";
}

}  // namespace assay::commands
