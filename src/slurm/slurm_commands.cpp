#include "slurm/slurm_commands.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::slurm {

namespace {

constexpr std::size_t kMostOutput = 64U << 20;  // enough for 100,000 jobs
constexpr std::size_t kMostWords = 300;

// This machine may have no descriptor or process to spare for a moment. To the caller, this is the
// same as a slurmctld that does not answer.
CommandResult call(const std::vector<std::string>& argv, Nanoseconds limit = kCommandLimit) {
  CommandOptions options;
  options.timeout = limit;
  options.max_output = kMostOutput;
  options.env = {{"SLURM_TIME_FORMAT", "%s"}};
  try {
    return run_command(argv, options);
  } catch (const Error& error) {
    CommandResult failed;
    failed.err = error.message();
    return failed;
  }
}

std::string words_of(const std::string& program, const CommandResult& result,
                     Nanoseconds limit = kCommandLimit) {
  if (result.not_found) return program + " is not installed";
  if (result.timed_out)
    return fmt::format("{}: no answer within {} s", program,
                       std::chrono::duration_cast<std::chrono::seconds>(limit).count());
  std::string said = ellipsize(printable(trim(result.err)), kMostWords);
  if (said.empty()) said = to_string(result.status);
  return said.starts_with(program) ? said : program + ": " + said;
}

/// Whether slurmctld did not answer at all. It may still do what it was asked.
bool is_away(const CommandResult& result) {
  constexpr auto kSigns = std::to_array<std::string_view>(
      {"Unable to contact slurm controller", "timed out", "Zero Bytes were transmitted",
       "Connection refused", "Connection reset", "Communication connection failure",
       "connect failure", "authentication error", "munge", "temporarily unable",
       "Unable to establish", "in standby"});
  return result.timed_out || result.not_found || !result.status.code ||
         std::ranges::any_of(kSigns, [&](std::string_view sign) {
           return result.err.find(sign) != std::string::npos;
         });
}

NoAnswer silence_of(const std::string& program, const CommandResult& result, Nanoseconds limit) {
  return {words_of(program, result, limit), result.not_found};
}

/// Why Slurm did not do something.
template <class Result>
Result not_done(const std::string& program, const CommandResult& result, Nanoseconds limit) {
  if (is_away(result)) return silence_of(program, result, limit);
  return Refused{words_of(program, result, limit)};
}

Outcome run_scancel(std::vector<std::string> args, Nanoseconds limit) {
  args.insert(args.begin(), "scancel");
  const CommandResult result = call(args, limit);
  if (result.ok()) return Done{};
  return not_done<Outcome>("scancel", result, limit);
}

std::vector<std::string> expand(const std::string& list) {
  std::vector<std::string> names;
  const CommandResult answer = call({"scontrol", "show", "hostnames", list});
  if (!answer.ok()) return {list};
  for (const std::string_view line : split(answer.out, '\n'))
    if (!trim(line).empty()) names.emplace_back(trim(line));
  return names;
}

void update_node(const std::string& node, std::vector<std::string> what) {
  std::vector<std::string> argv{"scontrol", "update", "NodeName=" + node};
  argv.insert(argv.end(), what.begin(), what.end());
  const CommandResult result = call(argv);
  if (result.ok()) return;
  throw Error(ErrorKind::environment,
              fmt::format("Slurm did not change node {}: {}", printable(node),
                          words_of("scontrol", result)),
              {}, "the server's user must be an operator of Slurm");
}

}  // namespace

Answer<std::vector<Job>> ask_jobs(const JobFilter& which, Nanoseconds limit) {
  return read_jobs(which, call(squeue_argv(which), limit), limit);
}

Answer<std::vector<Job>> read_jobs(const JobFilter& which, const CommandResult& result,
                                   Nanoseconds limit) {
  std::vector<Job> jobs = parse_jobs(result.out);
  if (result.ok()) return jobs;
  // A line about the job counts, however squeue ended. For a job that slurmctld has forgotten,
  // squeue fails.
  if (!which.id.empty() &&
      (!jobs.empty() || result.err.find("Invalid job id") != std::string::npos))
    return jobs;
  return silence_of("squeue", result, limit);
}

Answer<std::vector<Node>> ask_nodes() {
  const CommandResult result = call(sinfo_argv());
  if (!result.ok()) return silence_of("sinfo", result, kCommandLimit);
  return parse_nodes(result.out);
}

std::variant<Submitted, Refused, NoAnswer> submit(const std::vector<std::string>& args,
                                                  const SubmitOptions& options) {
  std::vector<std::string> argv;
  if (options.environment) {
    // sbatch passes its own environment on to the job.
    argv = {"env", "-i"};
    argv.insert(argv.end(), options.environment->begin(), options.environment->end());
  }
  argv.insert(argv.end(), {"sbatch", "--parsable"});
  argv.insert(argv.end(), args.begin(), args.end());
  const CommandResult result = call(argv, options.limit);
  // It prints "17" or "17;cluster".
  std::string id(trim(std::string_view(result.out).substr(0, result.out.find(';'))));
  if (result.ok() && !id.empty()) return Submitted{std::move(id)};
  return not_done<std::variant<Submitted, Refused, NoAnswer>>("sbatch", result, options.limit);
}

Outcome signal_script(const std::string& id, const std::string& signal, Nanoseconds limit) {
  return run_scancel({"--batch", "--signal=" + signal, id}, limit);
}

Outcome cancel(const std::string& id, Nanoseconds limit) {
  return run_scancel({id}, limit);
}

void drain(const std::string& node, const std::string& reason) {
  update_node(node, {"State=DRAIN", "Reason=" + (reason.empty() ? "drained" : reason)});
}

void undrain(const std::string& node) {
  update_node(node, {"State=RESUME"});
}

Allocation own_allocation(const std::string& id) {
  return {id, parse_allocation(call({"scontrol", "show", "job", "--details", id}).out, expand)};
}

std::optional<Job> accounted_job(const std::string& id) {
  const CommandResult result = call(sacct_argv(id));
  return result.ok() ? parse_accounting(result.out) : std::nullopt;
}

std::string exit_code_of(const std::string& id) {
  const std::string out = call({"scontrol", "show", "job", "--oneliner", id}).out;
  constexpr std::string_view kKey = " ExitCode=";
  const std::size_t at = out.find(kKey);
  if (at == std::string::npos) return {};
  const std::string rest = out.substr(at + kKey.size());
  return rest.substr(0, rest.find_first_of(": \n"));
}

}  // namespace assay::slurm
