#include "slurm/slurm_commands.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::slurm {

namespace {

constexpr Nanoseconds kLimit = std::chrono::seconds(10);
constexpr std::size_t kMostOutput = 64U << 20;  // 100,000 jobs of others
constexpr std::size_t kMostWords = 300;

// This machine may have no descriptor or process to spare for a moment: for who asks, that is the
// same as a slurmctld that does not answer.
CommandResult call(const std::vector<std::string>& argv) {
  CommandOptions options;
  options.timeout = kLimit;
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

std::string words_of(const std::string& program, const CommandResult& result) {
  if (result.not_found) return program + " is not installed";
  if (result.timed_out)
    return fmt::format("{}: no answer within {} s", program,
                       std::chrono::duration_cast<std::chrono::seconds>(kLimit).count());
  std::string said = ellipsize(printable(trim(result.err)), kMostWords);
  if (said.empty()) said = to_string(result.status);
  return said.starts_with(program) ? said : program + ": " + said;
}

/// Whether slurmctld was not heard at all; what it was asked may still come to pass.
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

Answer<std::vector<Job>> ask_jobs(std::optional<unsigned> user) {
  std::vector<std::string> argv{"squeue", "--noheader", "--all", "--states=all",
                                "--format=" + job_format()};
  if (user) argv.push_back(fmt::format("--user={}", *user));
  const CommandResult result = call(argv);
  if (!result.ok()) return NoAnswer{words_of("squeue", result)};
  return parse_jobs(result.out);
}

Answer<std::vector<Node>> ask_nodes() {
  const CommandResult result =
      call({"sinfo", "--noheader", "--all", "--Node", "--format=" + node_format()});
  if (!result.ok()) return NoAnswer{words_of("sinfo", result)};
  return parse_nodes(result.out);
}

std::variant<Submitted, Refused, NoAnswer> submit(const std::vector<std::string>& args,
                                                  const std::vector<std::string>& environment) {
  // sbatch gives its own environment to the job.
  std::vector<std::string> argv{"env", "-i"};
  argv.insert(argv.end(), environment.begin(), environment.end());
  argv.insert(argv.end(), {"sbatch", "--parsable"});
  argv.insert(argv.end(), args.begin(), args.end());
  const CommandResult result = call(argv);
  // "17" or "17;cluster"
  std::string id(trim(std::string_view(result.out).substr(0, result.out.find(';'))));
  if (result.ok() && !id.empty()) return Submitted{std::move(id)};
  const std::string words = words_of("sbatch", result);
  if (is_away(result)) return NoAnswer{words};
  return Refused{words};
}

bool signal_script(const std::string& id, const std::string& signal) {
  return call({"scancel", "--batch", "--signal=" + signal, id}).ok();
}

bool cancel(const std::string& id) {
  const CommandResult result = call({"scancel", id});
  return result.ok() || !is_away(result);
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
  const CommandResult result = call(accounting_query(id));
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

std::vector<std::string> step_argv(const std::string& id, const std::string& host,
                                   const std::vector<std::string>& argv) {
  const auto plus = id.find('+');
  std::vector<std::string> out{"srun",
                               "--jobid=" + id.substr(0, plus),
                               "--nodes=1",
                               "--ntasks=1",
                               "--nodelist=" + host,
                               "--mem=0",
                               "--cpu-bind=none",
                               "--overlap",
                               "--quiet"};
  if (plus != std::string::npos) out.push_back("--het-group=" + id.substr(plus + 1));
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

}  // namespace assay::slurm
