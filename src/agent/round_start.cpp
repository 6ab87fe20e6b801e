// What a round begins with on a node: its folder, ssh, the ranks, and what watches them.

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <poll.h>

#include "agent/node_files.h"
#include "agent/round_supervisor.h"
#include "agent/self_usage.h"
#include "core/env_names.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/run_layout.h"
#include "entry/round_ssh.h"

namespace assay::agent {

namespace {

constexpr std::int64_t kFirstMarks = 1'000'000'000;

// Programs that were copied to this node came with libraries that it may lack. Only these programs
// use them: a user's command has its own.
void add_shipped_libraries(const std::vector<std::string>& argv, std::vector<std::string>& env) {
  std::error_code ec;
  const std::filesystem::path programs = program_folder();
  const std::filesystem::path libraries = programs / "lib";
  if (!std::filesystem::is_directory(libraries, ec)) return;
  const std::string prefix = programs.string() + "/";
  if (std::ranges::none_of(
          argv, [&](const std::string& word) { return word.find(prefix) != std::string::npos; }))
    return;
  const char* present = std::getenv("LD_LIBRARY_PATH");
  env.push_back("LD_LIBRARY_PATH=" + libraries.string() +
                (present == nullptr ? "" : ":" + std::string(present)));
}

// Otherwise the node would write its evidence to its own disk, where nobody finds it.
void require_shared(const std::filesystem::path& file) {
  // A network file system may be slow to show what another node has just created.
  constexpr int kLooks = 50;
  constexpr int kBetweenMs = 100;
  for (int i = 0; i < kLooks; ++i) {
    std::error_code ec;
    if (file.empty() || std::filesystem::exists(file, ec)) return;
    ::poll(nullptr, 0, kBetweenMs);
  }
  throw Error(
      ErrorKind::environment, "the folder of the run is not there on this node",
      file.parent_path().string(),
      "the nodes must share it under this path (of the platform: the server's data folder); "
      "or set cluster.slurm.shared: false, and the files are sent");
}

}  // namespace

void RoundSupervisor::start() {
  started_ns_ = mono_now_ns();
  next_marks_ns_ = started_ns_ + kFirstMarks;
  cpu_before_s_ = self_cpu_s();
  try {
    require_shared(request_.shared_file);
    if (request_.fresh && std::filesystem::exists(request_.directory))
      forget_node_files(request_.directory);
    make_directories(request_.directory);
    for (const auto& [name, content] : request_.files)
      write_file_atomic(request_.directory / name, content);
    cgroup_.emplace(request_.id, cgroup_place());
    dlws_home_.emplace(request_.env, request_.directory / "ib_config");
    start_ssh();
    for (const RankRequest& rank : request_.ranks)
      ranks_.push_back(std::make_unique<RankProcess>(loop_, rank, request_));
    evidence_.emplace(request_.directory, request_.id, node_);
    list_given_files();
  } catch (const Error& error) {
    send_(StartFailed{"environment", {}, error.message(), error.where(), error.advice()});
    ranks_.clear();
    close();
    return;
  }
  watch_machine();
  start_telemetry();
  start_ranks();
  schedule_tick();
}

void RoundSupervisor::start_telemetry() {
  if (request_.telemetry_interval.count() == 0) return;
  telemetry::RecorderConfig config;
  config.directory = request_.directory;
  config.interval = request_.telemetry_interval;
  config.sources = request_.sources;
  config.on_device_processes = [this](int device, const std::vector<int>& pids) {
    watch_->device_processes(device, pids);
  };
  config.job_processes = [this] { return job_processes(); };
  recorder_ = std::make_unique<telemetry::Recorder>(
      loop_, std::move(config), [this](const telemetry::Gap& gap) {
        send_gap(gap.source, gap.seconds, gap.reason, gap.file);
      });
  try {
    recorder_->start();
  } catch (const Error& error) {
    send_gap("node", 0, error.what());
    recorder_.reset();
  }
}

// Without it the round goes on: a program that needs ssh fails and says so.
void RoundSupervisor::start_ssh() {
  if (request_.ssh.folder.empty()) return;
  RoundSsh::Setup setup;
  setup.node = node_;
  setup.round = request_.id;
  setup.request = request_.ssh;
  setup.program.argv = request_.ssh.container;
  setup.program.folder = request_.workdir;
  setup.program.cgroup = cgroup_->procs();
  const auto path_of = [&](std::map<std::string, std::string>& env) {
    const auto own = env.find("PATH");
    const auto common = request_.env.find("PATH");
    const char* inherited = std::getenv("PATH");
    return request_.ssh.folder.string() + ":" +
           (own != env.end()               ? own->second
            : common != request_.env.end() ? common->second
            : inherited != nullptr         ? inherited
                                           : "/usr/local/bin:/usr/bin:/bin");
  };
  std::map<std::string, std::string> served = request_.env;
  for (const auto& [name, value] : request_.ssh.env) served[name] = value;
  served["PATH"] = path_of(served);
  served[kSshFolderVariable] = request_.ssh.folder.string();
  served[std::string(kRoundVariable)] = request_.id;
  std::vector<std::string> overrides;
  for (const auto& [name, value] : served) overrides.push_back(name + "=" + value);
  setup.program.env = environment_of_rank(overrides);
  try {
    ssh_ = std::make_unique<RoundSsh>(loop_, std::move(setup),
                                      [this](const Relay& relay) { send_(relay); });
  } catch (const Error& error) {
    if (!request_.ssh.container.empty()) throw;  // the container mounts its folder
    return send_gap("ssh", 0, error.what());
  }
  for (RankRequest& rank : request_.ranks) rank.env["PATH"] = path_of(rank.env);
  request_.env.erase("PATH");
  request_.env[kSshFolderVariable] = request_.ssh.folder.string();
}

void RoundSupervisor::watch_machine() {
  telemetry::MachineWatch::Setup setup;
  setup.round_id = request_.id;
  setup.ranks = static_cast<int>(request_.ranks.size());
  setup.lists_processes = request_.lists_processes;
  // Docker's containers are children of a daemon, those of other runtimes are ours.
  setup.ranks_elsewhere = std::ranges::any_of(request_.ranks, [](const RankRequest& rank) {
    return !rank.cleanup.empty() &&
           std::filesystem::path(rank.cleanup.front()).filename() == "docker";
  });
  watch_.emplace(std::move(setup), mono_now_ns());
  if (request_.lists_processes)
    rounds_here_.emplace(loop_, request_.id.substr(0, request_.id.find('/')));
}

void RoundSupervisor::start_ranks() {
  std::vector<std::string> env{std::string(kRoundVariable) + "=" + request_.id};
  for (const auto& [name, value] : request_.env) env.push_back(name + "=" + value);
  std::vector<RankBinding> bindings;
  try {
    bindings = bind_ranks(request_.bind, cpu_places(CpuSet::usable()), ranks_.size());
  } catch (const Error& error) {
    send_(StartFailed{"environment", {}, error.message(), error.where(), error.advice()});
    stop(EndedBy::stop, Nanoseconds(0));
    return;
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const auto& rank = ranks_[i];
    std::vector<std::string> rank_env = env;
    add_shipped_libraries(request_.ranks[i].argv, rank_env);
    std::optional<RankBinding> binding;
    if (!bindings.empty()) binding = bindings.at(i);
    const std::string error = rank->start(rank_env, request_.workdir, cgroup_->procs(), binding);
    if (!error.empty()) {
      send_(StartFailed{"launch", rank->rank(), error, "",
                        "check the command of the case, and that it exists on this node"});
      stop(EndedBy::stop, std::min<Nanoseconds>(request_.grace, std::chrono::seconds(1)));
      return;
    }
    RankStart started{rank->rank(), rank->local_rank(), rank->pid(), rank->started()};
    if (binding) started.bound = binding->cpus;
    if (binding) started.memory = binding->memory;
    send_(started);
  }
}

// Lists them as the ranks get them; later changes show in the list at the end.
void RoundSupervisor::list_given_files() {
  std::vector<evidence::FileRecord> files;
  for (const auto& [name, content] : request_.files) {
    const layout::RunFile* file = layout::find_run_file(layout::FilePlace::node, name);
    if (file == nullptr || !file->judged) continue;
    evidence::FileHash hash;
    hash.append(content);
    files.push_back(hash.record(name));
  }
  (void)evidence_->add(now(), files);  // heartbeats report a full disk
}

}  // namespace assay::agent
