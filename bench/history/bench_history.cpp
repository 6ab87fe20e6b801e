// The cost of a history of many runs: makes a folder of runs with results of the usual size, reads
// all of them into an index, and queries it.
//
//   bench_history [--runs N] [--cases N] [--folder DIR]    default: 10000 runs of 3 cases, in /tmp
//
// With --folder the runs stay and are reused.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "catalog/metrics.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/time.h"
#include "history/history_page.h"
#include "history/history_text.h"
#include "history/trends.h"
#include "report/json_report.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;

constexpr std::int64_t kFirst = 1'700'000'000'000'000'000;
constexpr std::int64_t kApart = 3'600'000'000'000;

judge::CaseResult make_case(std::size_t number, double speed, std::mt19937_64& random,
                            const std::string& started) {
  std::normal_distribution<double> noise(1, 0.01);
  judge::CaseResult result;
  result.model = fmt::format("model{}", number);
  result.framework = "libtorch";
  result.hardware = "H200";
  result.procs = 8;
  result.repeats = 3;
  result.name = fmt::format("{}:libtorch:H200:1:8:3", result.model);
  result.validity = judge::Validity::valid;
  result.headline = "steady_throughput";
  for (int setting = 0; setting < 60; ++setting)
    result.configuration.push_back(
        {fmt::format("config.setting_{}", setting), setting, "suite.yaml:12", "applied"});
  for (int rule = 0; rule < 60; ++rule) {
    catalog::Rule one;
    one.id = fmt::format("rule-{}", rule);
    one.fact = "repeat_spread";
    one.max = 0.05;
    one.origin = "conf/rules/default.yaml:7";
    result.rules.push_back(one);
  }
  for (int number_of_round = 1; number_of_round <= 3; ++number_of_round) {
    judge::RoundResult round;
    round.round = number_of_round;
    round.status = RoundStatus::completed;
    round.validity = judge::Validity::valid;
    round.started = started;
    round.ended = started;
    std::size_t metrics = 0;
    for (const catalog::KnownMetric& known : catalog::known_metrics()) {
      if (known.name != "steady_throughput" && ++metrics > 30) continue;
      judge::Metric metric;
      metric.info = known.info();
      metric.value = speed * noise(random);
      round.metrics.push_back(metric);
    }
    for (int rank = 0; rank < 8; ++rank) {
      judge::RankResult one;
      one.rank = rank;
      one.host = "node1";
      one.ended_by = "itself";
      one.log = fmt::format("{}/round{}/node1_noderank0/rank{}.out.log", result.name,
                            number_of_round, rank);
      round.ranks.push_back(one);
    }
    result.rounds.push_back(round);
  }
  for (std::size_t i = 0; i < result.rounds[0].metrics.size(); ++i) {
    std::vector<double> values;
    for (const judge::RoundResult& round : result.rounds) values.push_back(round.metrics[i].value);
    std::ranges::sort(values);
    judge::Summary summary;
    summary.info = result.rounds[0].metrics[i].info;
    summary.n = 3;
    summary.median = summary.mean = values[1];
    summary.min = values[0];
    summary.max = values[2];
    result.summary.push_back(summary);
  }
  return result;
}

void make_run(const fs::path& results, std::size_t number, std::size_t cases, std::size_t runs) {
  const std::int64_t at = kFirst + static_cast<std::int64_t>(number) * kApart;
  std::mt19937_64 random(number);
  judge::RunResult run;
  run.run_id = fmt::format("run{}-{:04x}", compact_utc(at), number & 0xffff);
  run.suite = "nightly";
  run.validity = judge::Validity::valid;
  // Two machines; after two thirds of the runs, a new driver costs 5 %.
  const bool slower = number * 3 > runs * 2;
  run.system = {{"assay", {{"version", "0.1.0"}}},
                {"nodes",
                 {{{"host", number % 2 == 0 ? "node1" : "node2"},
                   {"kernel", "6.1.0"},
                   {"driver", slower ? "560.28" : "550.54"}}}}};
  run.provenance = {{"run_id", run.run_id}, {"assay_version", "0.1.0"}};
  for (std::size_t i = 0; i < cases; ++i)
    run.cases.push_back(make_case(i, slower ? 950 : 1000, random, iso_utc(at)));
  const fs::path folder = results / run.run_id;
  fs::create_directories(folder);
  write_file_atomic(folder / "plan.json", "{}", false);
  write_file_atomic(folder / "result.json", report::render_json(run), false);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Prints the median of eleven, and the worst.
void measure(const char* what, const std::function<void()>& query) {
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) times.push_back(seconds_of(query) * 1000);
  std::ranges::sort(times);
  fmt::print("{:<44} {:7.1f} ms median, {:.1f} ms worst of {}\n", what, times[5], times[10],
             times.size());
  std::fflush(stdout);
}

int bench(std::size_t runs, std::size_t cases, const fs::path& results) {
  if (!fs::exists(results) || fs::is_empty(results)) {
    fs::create_directories(results);
    const double took = seconds_of([&] {
      run_parallel(runs, 0, {}, [&](std::size_t i, const std::stop_token&) {
        make_run(results, i, cases, runs);
      });
    });
    fmt::print("{} runs made in {:.1f} s\n", runs, took);
  }
  fs::directory_iterator first(results);
  while (!first->is_directory()) ++first;
  fmt::print("a result.json has {} bytes\n", fs::file_size(first->path() / "result.json"));
  history::IndexOptions anew;
  anew.rebuild = true;
  std::size_t read = 0;
  const double took =
      seconds_of([&] { read = history::RunIndex::open(results, anew).runs_read(); });
  fmt::print("rebuilt: {} runs in {:.2f} s, {:.0f} runs/s; index {} bytes\n", read, took,
             static_cast<double>(read) / took, fs::file_size(results / history::RunIndex::kFile));
  const auto ask = [&](const auto& query) {
    return [&results, query] { (void)history::ask_index(results, {}, query); };
  };
  measure("index opened, nothing new", ask([](history::RunIndex&) { return 0; }));
  history::TrendOptions one;
  one.runs.cases = {"model1"};
  measure("history of one case", ask([&](history::RunIndex& index) {
            return history::read_history(index, one).trends.size();
          }));
  measure("history of all cases", ask([](history::RunIndex& index) {
            return history::read_history(index, {}).trends.size();
          }));
  history::TrendOptions since = one;
  since.runs.since_ms = (kFirst + static_cast<std::int64_t>(runs * 9 / 10) * kApart) / 1'000'000;
  measure("history of one case, the last tenth", ask([&](history::RunIndex& index) {
            return history::read_history(index, since).trends.size();
          }));
  const history::RunFilter where{
      .conditions = {history::parse_condition("steady_throughput > 1020")}};
  measure("find 'steady_throughput > 1020'",
          ask([&](history::RunIndex& index) { return history::find_runs(index, where).size(); }));
  measure("find on a host", ask([](history::RunIndex& index) {
            return history::find_runs(index, {.hosts = {"node1"}}).size();
          }));
  measure("page of one case", ask([&](history::RunIndex& index) {
            return history::render_history_page(history::read_history(index, one), "", {}).size();
          }));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t runs = 10'000;
  std::size_t cases = 3;
  fs::path folder;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--runs") runs = static_cast<std::size_t>(std::atoll(argv[i + 1]));
    if (option == "--cases") cases = static_cast<std::size_t>(std::atoll(argv[i + 1]));
    if (option == "--folder") folder = argv[i + 1];
  }
  try {
    if (!folder.empty()) return bench(runs, cases, folder);
    const fs::path temporary = fs::temp_directory_path() / fmt::format("assay-runs-{}", ::getpid());
    const int code = bench(runs, cases, temporary);
    fs::remove_all(temporary);
    return code;
  } catch (const Error& error) {
    fmt::print(stderr, "bench_history: {}\n", error.what());
    return 1;
  }
}
