#include "launch/controller.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/address.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "core/version.h"
#include "launch/clock_offset.h"
#include "launch/process.h"
#include "rendezvous/container.h"

namespace assay::launch {

namespace {

constexpr std::int64_t kLiveEvery = 900'000'000;
// The pipes of a channel, and of a transfer beside it; a shell's usual limit is 1,024.
constexpr std::size_t kFilesPerHost = 6;
constexpr std::size_t kFilesPerWorker = 3;  // its connection, and weights both ways
constexpr std::size_t kOwnFiles = 64;
constexpr Nanoseconds kDescribeLimit = std::chrono::seconds(10);

// Only where it is needed: local ranks inherit the limit.
void allow_open_files(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + kOwnFiles) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count + kOwnFiles);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool is_result(const std::string& status) {
  static const std::set<std::string> kResults{"completed", "failed", "timed_out", "stalled"};
  return kResults.contains(status);
}

}  // namespace

std::map<std::pair<std::string, int>, std::string> finished_rounds(
    const std::vector<Json>& journal) {
  std::map<std::pair<std::string, int>, std::string> finished;
  for (const Json& event : journal) {
    const std::pair key(event.value("case", ""), event.value("round", 0));
    const std::string status = event.value("status", "");
    if (event["event"] == "round_start") finished.erase(key);
    if (event["event"] == "round_end" && is_result(status)) finished[key] = status;
  }
  return finished;
}

Controller::Controller(store::RunDir run, std::filesystem::path bindir, Observer& observer)
    : run_(std::move(run)),
      bindir_(std::move(bindir)),
      observer_(observer),
      launcher_(make_launcher(run_.plan().cluster, bindir_)) {
  if (std::filesystem::exists(run_.journal_file()))
    finished_ = finished_rounds(store::Journal::read(run_.journal_file()));
  for (const plan::CasePlan& plan_case : run_.plan().cases) rounds_total_ += plan_case.repeats;
}

std::string Controller::execute() {
  const store::RunLock lock(run_.path());
  asio::io_context loop(1);
  std::exception_ptr failure;
  std::string status;
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  std::function<void()> wait_for_signal = [&] {
    signals.async_wait([&](const asio::error_code& ec, int) {
      if (ec) return;
      interrupt();
      wait_for_signal();
    });
  };
  wait_for_signal();
  ::signal(SIGPIPE, SIG_IGN);
  asio::co_spawn(loop, execute_rounds(loop),
                 [&](const std::exception_ptr& error, std::string result) {
                   failure = error;
                   status = std::move(result);
                   signals.cancel();
                 });
  loop.run();
  std::error_code ignored;
  std::filesystem::remove(run_.live_file(), ignored);
  if (failure) std::rethrow_exception(failure);
  return status;
}

void Controller::interrupt() {
  observer_.stopping(++interrupts_);
  if (experiment_ != nullptr && interrupts_ == 1) experiment_->stop();
  if (current_ != nullptr)
    current_->interrupt();
  else if (fleet_ != nullptr)
    fleet_->abandon();
}

asio::awaitable<std::string> Controller::execute_rounds(asio::io_context& loop) {
  const plan::Plan& plan = run_.plan();
  const bool resumed = std::filesystem::exists(run_.journal_file());
  store::Journal journal(run_.journal_file());
  Json start{{"run", plan.run_id},
             {"host", host_name()},
             {"pid", ::getpid()},
             {"assay", version_string()}};
  if (const char* job = std::getenv("SLURM_JOB_ID")) start["job"] = job;
  journal.append(resumed ? "run_resume" : "run_start", start);
  std::vector<std::string> hosts = launcher_->hosts(plan);
  int nodes = 1;
  int workers = 0;
  for (const plan::CasePlan& plan_case : plan.cases) {
    require_hosts(plan_case, hosts, plan.suite_file);
    nodes = std::max(nodes, plan_case.nodes);
    if (!plan_case.automl.is_null()) workers = std::max(workers, plan_case.world_size());
  }
  hosts.resize(static_cast<std::size_t>(nodes));

  allow_open_files(hosts.size() * kFilesPerHost +
                   static_cast<std::size_t>(workers) * kFilesPerWorker);
  launcher_->prepare(plan);
  Fleet fleet(loop, *launcher_, hosts);
  fleet_ = &fleet;
  fleet.on_waiting([this](const std::string& what_for) { observer_.waiting(what_for); });
  co_await prepare(fleet, journal);
  bool all_completed = true;
  for (const plan::CasePlan& plan_case : plan.cases) {
    bool startable = true;
    for (int round = 1; round <= plan_case.repeats; ++round, ++rounds_done_) {
      const auto done = finished_.find({plan_case.name, round});
      if (done != finished_.end()) {
        all_completed &= done->second == "completed";
        continue;
      }
      if (interrupts_ > 0 || !startable) continue;
      RoundOutcome outcome = co_await execute_round(loop, fleet, journal, plan_case, round);
      for (int retry = 1; retry <= plan.cluster.retries && outcome.status == "lost"; ++retry) {
        if (interrupts_ > 0) break;
        journal.append("round_retry", {{"case", plan_case.name},
                                       {"round", round},
                                       {"retry", retry},
                                       {"reason", outcome.reason}});
        outcome = co_await execute_round(loop, fleet, journal, plan_case, round);
      }
      all_completed &= outcome.status == "completed";
      startable = outcome.status != "launch_failed";
    }
  }
  co_await fleet.disconnect();
  fleet_ = nullptr;
  const std::string status = interrupts_ > 0 ? "interrupted"
                             : all_completed ? "completed"
                                             : "failed";
  journal.append("run_end", {{"status", status}});
  journal.sync();
  co_return status;
}

// Times of several hosts are worth comparing only as far as their clocks agree.
asio::awaitable<void> Controller::compare_clocks(Fleet& fleet, store::Journal& journal) {
  if (launcher_->name() == "local") co_return;
  for (const auto& [node, offset] : co_await measure_offsets(fleet)) {
    const std::string& host = fleet.hosts()[static_cast<std::size_t>(node)];
    Json fields{{"node", node}, {"host", host}};
    fields.update(to_json(offset));
    journal.append("clock_offset", fields);
    const probe::Check check = check_offset(offset);
    if (check.level == probe::Level::fail)
      observer_.warning("the clock of " + host + " is " + check.seen + ": " + check.advice);
  }
}

asio::awaitable<void> Controller::prepare(Fleet& fleet, store::Journal& journal) {
  co_await fleet.connect();
  co_await compare_clocks(fleet, journal);
  const std::string& listen = run_.plan().telemetry.prometheus;
  if (const auto endpoint = parse_endpoint(listen); endpoint && !is_loopback(endpoint->address))
    observer_.warning("whoever reaches " + listen + " on the nodes can read the run's metrics");
  if (std::filesystem::exists(run_.system_file())) co_return;
  Json nodes = Json::array();
  const Json& vendor = run_.plan().vendor_data;
  const Json query = vendor.contains("query") ? vendor["query"] : Json();
  for (auto& [node, system] : co_await fleet.describe(query, kDescribeLimit)) {
    Json entry{{"node", node}, {"host", fleet.hosts()[static_cast<std::size_t>(node)]}};
    entry.update(system);
    nodes.push_back(std::move(entry));
  }
  write_system(run_, launcher_->name(), std::move(nodes));
}

asio::awaitable<RoundOutcome> Controller::execute_round(asio::io_context& loop, Fleet& fleet,
                                                        store::Journal& journal,
                                                        const plan::CasePlan& plan_case,
                                                        int number) {
  (void)set_aside(run_, plan_case, number);
  co_await fleet.connect();  // agents that were lost in an earlier round come back here
  if (plan_case.container) co_await provide_image(fleet, plan_case);
  observer_.round_started(plan_case, number, rounds_done_, rounds_total_);
  std::unique_ptr<ExperimentHost> experiment;
  if (!plan_case.automl.is_null()) {
    take_up_experiment(plan_case, number);
    experiment = std::make_unique<ExperimentHost>(
        loop, run_.plan(), plan_case, run_.round_dir(plan_case.name, number) / "automl", fleet);
  }
  const auto on_progress = [&](RoundProgress progress) {
    if (experiment) progress.automl = experiment->live();
    observer_.round_progress(plan_case, number, progress);
    write_live(plan_case, number, progress);
  };
  Round::Context context{run_.plan(), plan_case, run_, *launcher_, fleet, journal, on_progress};
  if (experiment) context.env = experiment->environment();
  Round round(loop, std::move(context), number);
  current_ = &round;
  experiment_ = experiment.get();
  if (experiment) experiment->start(round);
  RoundOutcome outcome;
  std::exception_ptr failure;
  try {
    outcome = co_await round.run();
  } catch (...) {
    failure = std::current_exception();
    outcome = {"failed", "the run directory cannot be written", {}};
  }
  current_ = nullptr;
  experiment_ = nullptr;
  if (experiment) co_await experiment->finish(outcome);
  if (failure) std::rethrow_exception(failure);
  observer_.round_ended(plan_case, number, outcome);
  co_return outcome;
}

asio::awaitable<void> Controller::provide_image(Fleet& fleet, const plan::CasePlan& plan_case) {
  const plan::Container& container = *plan_case.container;
  const auto commands = rendezvous::image_commands(container);
  const std::string key = container.runtime + " " + container.image;
  if (commands.empty() || images_.contains(key)) co_return;
  observer_.waiting("image " + container.image + " for " + std::to_string(plan_case.nodes) +
                    (plan_case.nodes == 1 ? " node" : " nodes"));
  const auto executor = co_await asio::this_coro::executor;
  const std::vector<std::string> args{"--until", dump_line(Json(commands))};
  std::map<int, std::string> problems;
  int open = plan_case.nodes;
  asio::steady_timer all_done(executor, asio::steady_timer::time_point::max());
  for (int node = 0; node < plan_case.nodes; ++node) {
    const std::string host = fleet.hosts()[static_cast<std::size_t>(node)];
    const auto progress = [this, host](std::string_view text) {
      const std::string_view line = trim(text);
      if (line.empty()) return;
      observer_.waiting(host + ": " + printable(line.substr(line.rfind('\n') + 1)));
    };
    asio::co_spawn(executor,
                   run_process(launcher_->agent_command(host, fleet.identity(node), args),
                               "host " + host, {}, progress, container.timeout),
                   [&, node](const std::exception_ptr& error, const CommandResult& result) {
                     if (error || !result.ok())
                       problems[node] = error              ? "the command could not be started"
                                        : result.timed_out ? "no progress for too long"
                                                           : result.err;
                     if (--open == 0) all_done.cancel();
                   });
  }
  while (open > 0) {
    asio::error_code ec;
    co_await all_done.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (problems.empty()) {
    images_.insert(key);
    co_return;
  }
  std::string text;
  for (const auto& [node, problem] : problems)
    text +=
        (text.empty() ? "" : "; ") + fleet.hosts()[static_cast<std::size_t>(node)] + ": " + problem;
  throw Error(ErrorKind::launch, "the image " + container.image + " is not available on " + text,
              "case " + plan_case.name,
              "pull or load it there, or correct `container` in the suite");
}

// An experiment goes on where it was; the logs of its earlier workers stay aside.
void Controller::take_up_experiment(const plan::CasePlan& plan_case, int round) const {
  const std::filesystem::path folder = run_.round_dir(plan_case.name, round);
  for (int k = 1;; ++k) {
    const std::filesystem::path aside = fmt::format("{}.interrupted-{}", folder.string(), k);
    if (!std::filesystem::exists(aside)) return;
    if (!std::filesystem::exists(aside / "automl")) continue;
    make_directories(folder);
    std::error_code ec;
    std::filesystem::rename(aside / "automl", folder / "automl", ec);
    if (ec)
      throw system_error(ErrorKind::environment, "cannot take up the experiment",
                         (aside / "automl").string(), ec.value());
  }
}

void write_system(const store::RunDir& run, std::string_view launcher, Json nodes) {
  const BuildInfo& build = build_info();
  write_file_atomic(run.system_file(),
                    dump_pretty({{"assay",
                                  {{"version", build.version},
                                   {"revision", build.revision},
                                   {"dirty", build.dirty},
                                   {"compiler", build.compiler},
                                   {"build_type", build.build_type}}},
                                 {"launcher", launcher},
                                 {"nodes", std::move(nodes)}}),
                    /*sync=*/false);
}

int set_aside(const store::RunDir& run, const plan::CasePlan& plan_case, int round) {
  const std::filesystem::path folder = run.round_dir(plan_case.name, round);
  for (int k = 1;; ++k) {
    const std::filesystem::path aside = fmt::format("{}.interrupted-{}", folder.string(), k);
    if (std::filesystem::exists(aside)) continue;
    if (!std::filesystem::exists(folder)) return k - 1;
    std::error_code ec;
    std::filesystem::rename(folder, aside, ec);
    if (ec)
      throw system_error(ErrorKind::environment, "cannot set the interrupted round aside",
                         folder.string(), ec.value());
    return k;
  }
}

void Controller::write_live(const plan::CasePlan& plan_case, int round,
                            const RoundProgress& progress) {
  const std::int64_t mono = mono_now_ns();
  if (mono - live_written_ns_ < kLiveEvery) return;
  live_written_ns_ = mono;
  Json nodes = Json::array();
  for (const auto& [node, beat] : progress.heartbeats) nodes.push_back(beat);
  Json live{{"run", run_.plan().run_id},
            {"host", host_name()},
            {"pid", ::getpid()},
            {"wall_ns", wall_now_ns()},
            {"case", plan_case.name},
            {"round", round},
            {"repeats", plan_case.repeats},
            {"rounds_done", rounds_done_},
            {"rounds_total", rounds_total_},
            {"ranks", progress.ranks},
            {"started", progress.started},
            {"ended", progress.ended},
            {"nodes", std::move(nodes)}};
  if (!progress.automl.is_null()) live["automl"] = progress.automl;
  write_file_atomic(run_.live_file(), dump_pretty(live), /*sync=*/false);
}

}  // namespace assay::launch
