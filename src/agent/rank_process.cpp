#include "agent/rank_process.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace assay::agent {

namespace {

// Lets a burst fit into the pipe while the agent is busy. Best effort: the kernel limits it.
constexpr int kPipeBytes = 1 << 20;
// Keeps a rank that floods its output from blocking the loop for the others.
constexpr std::size_t kReadsPerTurn = 8;
// Reads of what a dead rank left in its pipe; bounded because others may still write to it.
constexpr std::size_t kReadsAfterExit = 1024;
// Shows a few lines of each rank even when there are many.
constexpr std::size_t kMinLiveBytes = 1024;

// srun's variables about the agent's own task contradict the ranks' numbers, and an srun that a
// rank starts would take them as its own; the same holds for how the agents' step divides its
// tasks, one per node. Variables about the whole job stay, and so does SLURM_TASKS_PER_NODE: mpirun
// needs it in any job, and under Slurm the round sets it to match its world
// (rendezvous/environment.cpp).
constexpr auto kOfTheAgentsTask = std::to_array<std::string_view>({
    "PMI_RANK",
    "PMI_SIZE",
    "SLURM_GTIDS",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_NTASKS_PER_TRES",
    "SLURM_PROCID",
    "SLURM_SRUN_COMM_HOST",
    "SLURM_SRUN_COMM_PORT",
    "SLURM_STEPID",
    "SLURM_STEP_GPUS",
    "SLURM_STEP_ID",
    "SLURM_STEP_LAUNCHER_PORT",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_TASK_PID",
});

// In a job of several components (packs before Slurm 20.02) srun also sets everything for each of
// them, and nobody corrects the tasks per node there.
bool is_of_the_agents_task(std::string_view name) {
  const auto group = std::min(name.find("_HET_GROUP_"), name.find("_PACK_GROUP_"));
  if (group != std::string_view::npos) {
    name = name.substr(0, group);
    if (name == "SLURM_TASKS_PER_NODE") return true;
  }
  return std::ranges::find(kOfTheAgentsTask, name) != kOfTheAgentsTask.end();
}

}  // namespace

// The overrides come first in the result.
std::vector<std::string> environment_of_rank(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = environment_with(overrides);
  const auto inherited = all.begin() + static_cast<std::ptrdiff_t>(overrides.size());
  all.erase(std::remove_if(inherited, all.end(),
                           [](std::string_view entry) {
                             return is_of_the_agents_task(entry.substr(0, entry.find('=')));
                           }),
            all.end());
  return all;
}

RankProcess::RankProcess(asio::io_context& loop, const RankRequest& request,
                         const RoundRequest& round)
    : request_(request),
      log_(round.directory / fmt::format("rank{}.out.log", request.rank), round.output_limit),
      live_(round.live_bytes == 0
                ? 0
                : std::max<std::size_t>(round.live_bytes / round.ranks.size(), kMinLiveBytes)),
      output_(loop) {}

std::string RankProcess::start(const std::vector<std::string>& common_env,
                               const std::string& workdir, int cgroup,
                               const std::optional<RankBinding>& binding) {
  std::vector<std::string> env = common_env;
  for (const auto& [name, value] : request_.env) env.push_back(name + "=" + value);
  // Taken before the start: a rank may be well into its work when this process runs again.
  started_ = now();
  try {
    std::optional<BoundHere> bound;  // so that what starts here begins where it is to stay
    if (binding) bound.emplace(*binding);
    child_ = spawn({.argv = request_.argv,
                    .env = environment_of_rank(env),
                    .folder = workdir,
                    .out = Stream::pipe(),
                    .err = Stream::output(),
                    .pipe_bytes = kPipeBytes,
                    .plain_scripts = true,
                    .cgroup = cgroup});
  } catch (const Error& error) {
    return error.message();
  }
  last_output_ns_ = started_.mono_ns;
  last_event_ns_ = started_.mono_ns;
  ::fcntl(child_.out.get(), F_SETFL, O_NONBLOCK);
  output_.assign(child_.out.release());
  wait_for_output();
  return {};
}

void RankProcess::wait_for_output() {
  output_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& ec) {
    if (ec) return;
    if (read_available(kReadsPerTurn))
      wait_for_output();
    else
      output_.close();
  });
}

bool RankProcess::read_available(std::size_t at_most) {
  static thread_local std::array<char, std::size_t{256} << 10> buffer;
  for (std::size_t i = 0; i < at_most; ++i) {
    const ssize_t n = ::read(output_.native_handle(), buffer.data(), buffer.size());
    if (n == 0) return false;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    const std::uint64_t events = progress_.events();
    progress_.feed(bytes);
    last_output_ns_ = mono_now_ns();
    if (progress_.events() != events) last_event_ns_ = last_output_ns_;
    log_.append(bytes);
    live_.append(bytes);
  }
  return true;
}

bool RankProcess::reap() {
  if (!running()) return false;
  exit_ = child_.poll();
  if (!exit_) return false;
  ended_ = now();
  if (output_.is_open()) read_available(kReadsAfterExit);
  return true;
}

bool RankProcess::output_held() {
  if (output_.is_open() && !read_available(kReadsPerTurn)) output_.close();
  return output_.is_open();
}

void RankProcess::close_output() {
  if (!output_.is_open()) return;
  read_available(kReadsAfterExit);
  output_.close();
}

double RankProcess::idle_s(std::int64_t mono_ns) const noexcept {
  return static_cast<double>(mono_ns - last_output_ns_) * 1e-9;
}

double RankProcess::event_idle_s(std::int64_t mono_ns) const noexcept {
  return static_cast<double>(mono_ns - last_event_ns_) * 1e-9;
}

}  // namespace assay::agent
