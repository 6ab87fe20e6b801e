#include "exports/mlflow.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "live/metric_readers.h"
#include "report/mllog.h"

namespace assay::exports {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max() / 4;
constexpr std::size_t kMaxKey = 250;
constexpr std::size_t kMaxParameter = 500;  // the limit of its first versions
constexpr std::size_t kBuffered = 1U << 20;
// RunStatus of MLflow.
constexpr int kFinished = 3;
constexpr int kFailed = 4;
constexpr int kLocalSource = 4;

std::string yaml(std::string_view text) {
  return Json(text).dump();  // JSON strings are valid in YAML
}

std::string absolute_uri(const fs::path& path) {
  std::string out = "file://";
  for (const char c : fs::absolute(path).lexically_normal().string())
    out += c == ' ' ? "%20" : c == '%' ? "%25" : std::string(1, c);
  return out;
}

void write_new(const fs::path& file, std::string_view text) {
  make_directories(file.parent_path());
  write_file_atomic(file, text, false);
}

// A run's metrics: one file per metric, one line per value.
class MetricFiles {
 public:
  explicit MetricFiles(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& key, double t, double value, std::int64_t step) {
    std::string& lines = pending_[key];
    lines +=
        fmt::format("{} {} {}\n", static_cast<std::int64_t>(std::llround(t * 1e3)), value, step);
    if (lines.size() > kBuffered) flush(key, lines);
  }
  void finish() {
    for (auto& [key, lines] : pending_) flush(key, lines);
  }

 private:
  void flush(const std::string& key, std::string& lines) {
    const fs::path file = folder_ / mlflow_key(key);
    make_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out << lines;
    out.close();
    if (out.fail()) throw Error(ErrorKind::environment, "cannot be written", file.string());
    lines.clear();
  }

  fs::path folder_;
  std::map<std::string, std::string> pending_;
};

std::string experiment_meta(const std::string& id, std::string_view name, const fs::path& folder) {
  const std::int64_t now_ms = wall_now_ns() / 1'000'000;
  return fmt::format(
      "artifact_location: {}\ncreation_time: {}\nexperiment_id: '{}'\nlast_update_time: {}\n"
      "lifecycle_stage: active\nname: {}\n",
      yaml(absolute_uri(folder)), now_ms, id, now_ms, yaml(name));
}

// A store needs a default experiment to accept logs.
void make_store(const fs::path& store) {
  std::error_code ec;
  if (fs::exists(store, ec) && !fs::is_empty(store, ec)) {
    const bool is_store = std::ranges::any_of(
        fs::directory_iterator(store),
        [](const fs::directory_entry& entry) { return fs::exists(entry.path() / "meta.yaml"); });
    if (!is_store)
      throw Error(ErrorKind::usage, "the folder is not a store of MLflow", store.string(),
                  "give another one with --to; it is made");
    return;
  }
  make_directories(store / ".trash");
  write_new(store / "0" / "meta.yaml", experiment_meta("0", "Default", store / "0"));
}

// The folder of the experiment with that name, created if missing.
fs::path experiment_folder(const fs::path& store, const std::string& name) {
  for (const fs::directory_entry& entry : fs::directory_iterator(store)) {
    const std::string meta = read_file_or_empty(entry.path() / "meta.yaml");
    if (meta.find("\nname: " + name + "\n") != std::string::npos ||
        meta.find("\nname: " + yaml(name) + "\n") != std::string::npos)
      return entry.path();
  }
  // Only digits, as in MLflow, and always the same for the same name.
  const std::string id = fmt::format(
      "{:018}", std::stoull(sha256(name).substr(0, 15), nullptr, 16) % 900'000'000'000'000'000ULL +
                    100'000'000'000'000'000ULL);
  fs::path folder = store / id;
  write_new(folder / "meta.yaml", experiment_meta(id, name, folder));
  return folder;
}

void add_rank(const RunFiles& files, const live::LogFile& log, MetricFiles& metrics) {
  std::int64_t step = 0;
  live::MetricSink sink;
  sink.step = [&](int, std::int64_t number) { step = number; };
  sink.value = [&](live::MetricName name, live::Scope scope, int, int item, double t,
                   double value) {
    metrics.add(curve_of_rank(log.rank, name, scope, item), t, value, step);
  };
  sink.amount = [&](live::MetricName name, int, double from, double to, double amount, bool) {
    metrics.add(curve_of_rank(log.rank, name), to, amount / (to - from), step);
  };
  sink.mark = [](const live::RunMark&) {};
  std::uint64_t left = kAll;
  live::RankReader reader(log);
  (void)reader.look(kAll, files.watch().clock_offset(log.node), true, sink, left);
}

void add_node(const RunFiles& files, const live::TelemetryFile& file, MetricFiles& metrics) {
  const double begin = static_cast<double>(files.round_of(file.round_index).start_ms) / 1e3;
  live::MetricSink sink;
  sink.value = [&](live::MetricName name, live::Scope scope, int, int item, double t,
                   double value) {
    const std::string part = scope == live::Scope::device ? fmt::format("/device{}", item) : "";
    metrics.add(fmt::format("{}_{}{}/{}", file.host, file.node, part, live::curve_tag(name)), t,
                value, static_cast<std::int64_t>(std::max(0.0, t - begin)));
  };
  sink.amount = [](live::MetricName, int, double, double, double, bool) {};
  sink.mark = [](const live::RunMark&) {};
  std::uint64_t left = kAll;
  live::NodeReader reader(file);
  (void)reader.look(kAll, files.watch().clock_offset(file.node), true, sink, left);
}

void write_run(const fs::path& folder, const std::string& id, const std::string& experiment,
               const fs::path& place, const RunFiles& files, const judge::RunResult& result,
               const judge::CaseResult& of, const judge::RoundResult& round) {
  const std::string name = fmt::format("{} round {}", of.name, round.round);
  const std::int64_t started = report::parse_iso_ms(round.started).value_or(0);
  const std::int64_t ended = report::parse_iso_ms(round.ended).value_or(started);
  write_new(
      folder / "meta.yaml",
      fmt::format("artifact_uri: {}\nend_time: {}\nentry_point_name: ''\nexperiment_id: '{}'\n"
                  "lifecycle_stage: active\nrun_id: {}\nrun_name: {}\nrun_uuid: {}\n"
                  "source_name: ''\nsource_type: {}\nsource_version: ''\nstart_time: {}\n"
                  "status: {}\ntags: []\nuser_id: assay\n",
                  yaml(absolute_uri(place / "artifacts")), ended, experiment, id, yaml(name), id,
                  kLocalSource, started,
                  round.status == RoundStatus::completed ? kFinished : kFailed));
  make_directories(folder / "artifacts");
  make_directories(folder / "params");
  const auto tag = [&](const std::string& key, std::string_view value) {
    write_new(folder / "tags" / key, value);
  };
  tag("mlflow.runName", name);
  tag("mlflow.user", "assay");
  tag("assay.run_id", result.run_id);
  tag("assay.suite", result.suite);
  tag("assay.case", of.name);
  tag("assay.round", std::to_string(round.round));
  tag("assay.verdict", judge::to_string(round.validity));
  tag("assay.headline", of.headline);
  for (const plan::Setting& setting : of.configuration) {
    std::string key = mlflow_key(setting.key);
    std::ranges::replace(key, '/', '.');  // so that none is another's folder
    write_new(folder / "params" / key,
              ellipsize(setting.value.is_string() ? setting.value.get<std::string>()
                                                  : setting.value.dump(),
                        kMaxParameter));
  }
  MetricFiles metrics(folder / "metrics");
  for (const judge::Metric& metric : round.metrics)
    metrics.add("result/" + metric.info.name, static_cast<double>(ended) / 1e3, metric.value, 0);
  const auto here = [&](std::size_t index) { return files.is_round(index, of.name, round.round); };
  for (const live::LogFile& log : files.ranks())
    if (here(log.round_index) && log.rank < live::kDetailedRanks) add_rank(files, log, metrics);
  for (const live::TelemetryFile& file : files.watch().telemetry())
    if (here(file.round_index)) add_node(files, file, metrics);
  metrics.finish();
}

}  // namespace

std::string mlflow_key(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kMaxKey)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool allowed =
        std::isalnum(byte) != 0 || std::string_view("_-. /").find(c) != std::string_view::npos;
    out += allowed ? c : '_';
  }
  // Removes parts of a path that would lead elsewhere.
  for (const std::string_view bad : {"../", "./", "//"})
    for (auto at = out.find(bad); at != std::string::npos; at = out.find(bad)) out.erase(at, 1);
  while (!out.empty() && (out.front() == '/' || out.front() == '.')) out.erase(0, 1);
  while (!out.empty() && (out.back() == '/' || out.back() == '.')) out.pop_back();
  return out.empty() ? "_" : out;
}

MlflowExport export_mlflow(const RunFiles& files, const judge::RunResult& result,
                           const fs::path& store) {
  make_store(store);
  const fs::path experiment = experiment_folder(store, result.suite);
  MlflowExport out{.experiment = result.suite};
  for (const judge::CaseResult& of : result.cases)
    for (const judge::RoundResult& round : of.rounds) {
      if (round.started.empty()) continue;
      const std::string id = round_id(result.run_id, of.name, round.round).substr(0, 32);
      const fs::path place = experiment / id;
      if (fs::exists(place))
        throw Error(ErrorKind::usage,
                    fmt::format("round {} of {} is there already", round.round, of.name),
                    place.string(), "remove it, or give another store with --to");
      const fs::path temporary = experiment / fmt::format(".{}.part", id);
      fs::remove_all(temporary);
      write_run(temporary, id, experiment.filename().string(), place, files, result, of, round);
      fs::rename(temporary, place);
      ++out.runs;
    }
  return out;
}

}  // namespace assay::exports
