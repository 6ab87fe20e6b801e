#include "slurm/job.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"
#include "slurm/fields.h"

namespace assay::slurm {

namespace {

constexpr auto kJobFields = std::to_array<std::string_view>(
    {"%i", "%T", "%r", "%u", "%P", "%D", "%N", "%V", "%S", "%e", "%Z", "%j"});

// Compared as prefixes, because Slurm adds words to some of them.
constexpr auto kReasons = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Resources", "the nodes it needs are in use"},
    {"Priority", "other jobs come first"},
    {"ReqNodeNotAvail", "nodes it needs are down or reserved"},
    {"Nodes required for job are DOWN", "nodes it needs are down, drained or reserved"},
    {"PartitionNodeLimit", "it asks for more nodes than the partition has"},
    {"PartitionTimeLimit", "it asks for more time than the partition allows"},
    {"PartitionConfig", "the partition has no such nodes, or not so many"},
    {"PartitionDown", "the partition is down"},
    {"PartitionInactive", "the partition is not in use"},
    {"BadConstraints", "no node can be what it asks for"},
    {"Reservation", "it waits for its reservation"},
    {"Licenses", "it waits for a license"},
    {"QOSMaxNodePerUserLimit", "the QOS allows fewer nodes"},
    {"QOS", "a limit of the QOS is reached"},
    {"AssocGrpNodeLimit", "the account allows fewer nodes"},
    {"Assoc", "a limit of the account is reached"},
    {"InvalidAccount", "the account may not be used"},
    {"InvalidQOS", "the QOS may not be used"},
    {"Dependency", "it waits for another job"},
    {"JobArrayTaskLimit", "enough jobs of its array run"},
    {"BeginTime", "its time to begin has not come"},
    {"JobHeldUser", "it is held"},
    {"JobHeldAdmin", "an administrator holds it"},
    {"launch failed requeued held", "it could not be started, and is held"},
});

std::int64_t seconds(std::string_view text) {
  return parse_number<std::int64_t>(text).value_or(0);
}

void read_state(std::string_view text, Job& job) {
  job.state = parse_job_state(text);
  job.state_text = text;
}

std::string known(std::string_view text) {
  return text == "N/A" || text == "(null)" ? "" : std::string(text);
}

}  // namespace

std::string job_format() {
  return format_of(kJobFields);
}

std::vector<Job> parse_jobs(std::string_view output) {
  std::vector<Job> jobs;
  for (const std::string_view line : split(output, '\n')) {
    const auto fields = split(line, kFieldSeparator);
    if (fields.size() != kJobFields.size() || fields[0].empty()) continue;
    Job job;
    job.id = fields[0];
    read_state(fields[1], job);
    job.reason = fields[2];
    job.user = fields[3];
    job.partition = fields[4];
    job.nodes = parse_number<int>(fields[5]).value_or(0);
    job.node_list = known(fields[6]);
    job.submit_s = seconds(fields[7]);
    job.start_s = seconds(fields[8]);
    job.end_s = seconds(fields[9]);
    job.work_folder = fields[10];
    job.name = fields[11];
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string accounting_format() {
  return "JobIDRaw,State,NodeList,Start,End";
}

std::optional<Job> parse_accounting(std::string_view output) {
  std::optional<Job> job;
  for (const std::string_view line : split(output, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() != 5 || fields[0].empty()) continue;
    job.emplace();
    job->id = fields[0];
    read_state(fields[1], *job);
    job->node_list = fields[2].starts_with("None") ? "" : known(fields[2]);
    job->start_s = seconds(fields[3]);
    job->end_s = seconds(fields[4]);
  }
  return job;
}

std::string_view reason_in_words(std::string_view reason) noexcept {
  for (const auto& [known, meaning] : kReasons)
    if (reason.starts_with(known)) return meaning;
  return {};
}

std::string describe_pending(const Job& job) {
  if (job.state != JobState::pending && job.state != JobState::configuring) return {};
  std::string text = fmt::format("job {} is {}", job.id, to_lower(to_text(job.state)));
  if (job.reason.empty() || job.reason == "None") return text;
  text += ": " + printable(job.reason);
  const std::string_view words = reason_in_words(job.reason);
  return words.empty() ? text : fmt::format("{} ({})", text, words);
}

std::string describe_end(const Job& job) {
  using enum JobState;
  switch (job.state) {
    case cancelled:
      return fmt::format("job {} was cancelled from outside", job.id);
    case node_fail:
      return fmt::format("a node of job {} failed", job.id);
    case preempted:
      return fmt::format("job {} was pre-empted by another job", job.id);
    case timeout:
    case deadline:
      return fmt::format("job {} reached the time limit of its allocation", job.id);
    case out_of_memory:
      return fmt::format("job {} ran out of memory", job.id);
    default:
      return {};
  }
}

}  // namespace assay::slurm
