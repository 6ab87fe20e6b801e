#include "exports/wandb.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/scratch_folder.h"
#include "core/text.h"
#include "core/time.h"
#include "core/version.h"
#include "exports/step_rows.h"
#include "exports/wandb_log.h"
#include "report/mllog.h"

namespace assay::exports {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kWholeFile = std::numeric_limits<std::uint64_t>::max() / 4;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kIdLength = 16;
constexpr std::string_view kRunFolder = "offline-run-";

// Fields of Record in wandb_internal.proto; those of messages are named where written.
enum RecordField : std::uint32_t {
  kHistory = 2,
  kSummary = 3,
  kStats = 7,
  kRun = 17,
  kExit = 18,
  kFinal = 20,
  kHeaderRecord = 21,
  kFooter = 22,
};

// HistoryItem, SummaryItem, ConfigItem and StatsItem: key = 1, value_json = 16. Older clients would
// lose keys with parts (nested_key).
ProtoMessage item(std::string_view key, std::string_view json) {
  return ProtoMessage().text(1, key).text(16, json);
}

ProtoMessage timestamp(std::int64_t ns) {
  return ProtoMessage().number(1, ns / 1'000'000'000).number(2, ns % 1'000'000'000);
}

std::string json_text(std::string_view text) {
  return dump_line(Json(text));
}

// A time in whole microseconds, because differences of Unix seconds have noise in further digits.
std::string in_seconds(double seconds) {
  return wandb_number(std::round(seconds * 1e6) / 1e6);
}

// A round while it is written to its folder.
class RoundExport {
 public:
  RoundExport(const RunFiles& files, const judge::RunResult& result, const judge::CaseResult& of,
              const judge::RoundResult& round)
      : files_(files),
        result_(result),
        of_(of),
        round_(round),
        id_(round_id(result.run_id, of.name, round.round).substr(0, kIdLength)),
        started_ms_(report::parse_iso_ms(round.started).value_or(0)),
        ended_ms_(std::max(started_ms_, report::parse_iso_ms(round.ended).value_or(started_ms_))) {}

  // The client's own names use local time; UTC makes them the same everywhere.
  [[nodiscard]] std::string folder_name() const {
    std::string stamp = compact_utc(started_ms_ * 1'000'000);  // 20261115T101500Z
    std::ranges::replace(stamp, 'T', '_');
    stamp.pop_back();
    return fmt::format("{}{}-{}", kRunFolder, stamp, id_);
  }

  void write(const fs::path& folder) {
    WandbLog log(folder / fmt::format("run-{}.wandb", id_));
    add_header(log);
    add_run(log);
    for (const live::TelemetryFile& file : files_.watch().telemetry())
      if (here(file.round_index)) add_node(log, file);
    add_history(log);
    add_summary(log);
    add_end(log);
    log.finish();
    write_files(folder / "files");
  }

 private:
  [[nodiscard]] bool here(std::size_t index) const {
    return files_.is_round(index, of_.name, round_.round);
  }
  [[nodiscard]] std::vector<live::LogFile> logs() const {
    std::vector<live::LogFile> out = files_.ranks();
    std::erase_if(out, [&](const live::LogFile& log) {
      return !here(log.round_index) || log.rank >= live::kDetailedRanks;
    });
    return out;
  }
  [[nodiscard]] double started() const { return static_cast<double>(started_ms_) / 1e3; }
  [[nodiscard]] std::int32_t runtime() const {
    return static_cast<std::int32_t>((ended_ms_ - started_ms_) / 1000);
  }

  // Settings in W&B's form: "config.batch_size" is batch_size within config.
  [[nodiscard]] Json config() const {
    Json out = Json::object();
    out["assay"] = {{"run", result_.run_id},
                    {"suite", result_.suite},
                    {"case", of_.name},
                    {"round", round_.round},
                    {"headline", of_.headline}};
    for (const plan::Setting& setting : of_.configuration) {
      const std::size_t dot = setting.key.find('.');
      const std::string group = setting.key.substr(0, dot);
      if (dot == std::string::npos || (out.contains(group) && !out[group].is_object()))
        out[setting.key] = setting.value;
      else
        out[group][setting.key.substr(dot + 1)] = setting.value;
    }
    return out;
  }

  // The client expects an answer to both, and some versions do not read them without the name of
  // the waiting party. Control: mailbox_slot = 4, always_send = 5.
  [[nodiscard]] ProtoMessage control() const { return ProtoMessage().text(4, id_).number(5, 1); }

  static void add_header(WandbLog& log) {
    // HeaderRecord: version_info = 1; VersionInfo: producer = 1.
    log.add(kHeaderRecord,
            ProtoMessage().message(1, ProtoMessage().text(1, "assay-" + build_info().version)));
  }

  // RunRecord: run_id = 1, project = 3, config = 4, run_group = 6, job_type = 7, display_name = 8,
  // notes = 9, tags = 10, host = 13, start_time = 17. ConfigRecord: update = 1.
  void add_run(WandbLog& log) const {
    ProtoMessage settings;
    const Json values = config();
    for (const auto& [key, value] : values.items())
      settings.message(1, item(key, dump_line(value)));
    ProtoMessage run;
    run.text(1, id_)
        .text(3, wandb_project(result_.suite))
        .message(4, settings)
        .text(6, ellipsize(result_.run_id, kMaxName))
        .text(7, ellipsize(of_.name, kMaxName))
        .text(8, ellipsize(fmt::format("{} round {}", of_.name, round_.round), kMaxName));
    if (!round_.reason.empty()) run.text(9, round_.reason);
    run.text(10, "assay").text(10, judge::to_string(round_.validity));
    if (const auto ranks = logs(); !ranks.empty()) run.text(13, ranks.front().host);
    run.message(17, timestamp(started_ms_ * 1'000'000));
    const ProtoMessage answer = control();
    log.add(kRun, run, &answer);
  }

  // Uses the client's own names where they exist, so that its pages know them; with several nodes,
  // each node's label is appended, as by the client.
  [[nodiscard]] static std::string system_key(live::MetricName name, live::Scope scope, int device,
                                              const std::string& label) {
    using live::MetricName;
    const bool of_device = scope == live::Scope::device;
    std::string key(live::curve_tag(name));
    if (of_device)
      key = name == MetricName::util          ? "gpu"
            : name == MetricName::memory      ? "memoryAllocatedBytes"
            : name == MetricName::power       ? "powerWatts"
            : name == MetricName::temperature ? "temp"
                                              : key;
    key = of_device                  ? fmt::format("gpu.{}.{}", device, key)
          : name == MetricName::util ? "cpu"
                                     : "node." + key;
    return label.empty() ? key : fmt::format("{}/l:{}", key, label);
  }

  // StatsRecord: timestamp = 2, item = 3.
  void add_node(WandbLog& log, const live::TelemetryFile& file) const {
    const auto nodes = std::ranges::count_if(
        files_.watch().telemetry(),
        [&](const live::TelemetryFile& other) { return here(other.round_index); });
    const std::string label = nodes > 1 ? fmt::format("{}_{}", file.host, file.node) : "";
    ProtoMessage moment;
    double at = 0;
    const auto put_moment = [&] {
      if (at > 0) log.add(kStats, moment);
    };
    live::MetricSink sink;
    sink.value = [&](live::MetricName name, live::Scope scope, int, int device, double t,
                     double value) {
      if (t != at) {
        put_moment();
        moment = ProtoMessage().message(
            2, timestamp(static_cast<std::int64_t>(std::llround(t * 1e6)) * 1000));
        at = t;
      }
      moment.message(3, item(system_key(name, scope, device, label), wandb_number(value)));
    };
    sink.amount = [](live::MetricName, int, double, double, double, bool) {};
    sink.mark = [](const live::RunMark&) {};
    std::uint64_t left = kWholeFile;
    live::NodeReader reader(file);
    (void)reader.look(kWholeFile, files_.watch().clock_offset(file.node), true, sink, left);
    put_moment();
  }

  // HistoryRecord: item = 1, step = 2; HistoryStep: num = 1. The summary has the last of each.
  void add_history(WandbLog& log) {
    read_step_rows(files_, logs(), [&](const StepRow& row) {
      std::map<std::string, std::string> values;  // if a step has two evaluations, the last one
      for (const StepRow::Value& value : row.values)
        values[curve_of_rank(value.rank, value.name, value.scope, value.item)] =
            wandb_number(value.value);
      values["_step"] = std::to_string(row.step);
      values["_runtime"] = in_seconds(row.t - started());
      values["_timestamp"] = in_seconds(row.t);
      ProtoMessage history;
      for (const auto& [key, json] : values) {
        history.message(1, item(key, json));
        summary_[key] = json;
      }
      log.add(kHistory, history.message(2, ProtoMessage().number(1, row.step)));
    });
  }

  // SummaryRecord: update = 1.
  void add_summary(WandbLog& log) {
    for (const judge::Metric& metric : round_.metrics)
      summary_["result/" + metric.info.name] = wandb_number(metric.value);
    summary_["result/verdict"] = json_text(judge::to_string(round_.validity));
    summary_["_wandb"] = fmt::format("{{\"runtime\":{}}}", runtime());
    ProtoMessage summary;
    for (const auto& [key, json] : summary_) summary.message(1, item(key, json));
    log.add(kSummary, summary);
  }

  // RunExitRecord: exit_code = 1, runtime = 2. Older clients notice the exit only if the final
  // record follows.
  void add_end(WandbLog& log) const {
    const ProtoMessage answer = control();
    log.add(kExit,
            ProtoMessage()
                .number(1, round_.status == RoundStatus::completed ? 0 : 1)
                .number(2, runtime()),
            &answer);
    log.add(kFinal, ProtoMessage());
    log.add(kFooter, ProtoMessage());
  }

  // For people: the log has all of it. `wandb sync` requires the folder and rewrites these.
  void write_files(const fs::path& folder) const {
    make_directories(folder);
    std::string text;
    const Json values = config();
    for (const auto& [key, value] : values.items())
      text += fmt::format("{}:\n    value: {}\n", json_text(key), dump_line(value));
    write_file_atomic(folder / "config.yaml", text, false);
    text = "{";
    for (const auto& [key, json] : summary_)
      text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", json_text(key), json);
    write_file_atomic(folder / "wandb-summary.json", text + "}", false);
  }

  const RunFiles& files_;
  const judge::RunResult& result_;
  const judge::CaseResult& of_;
  const judge::RoundResult& round_;
  std::string id_;
  std::int64_t started_ms_;
  std::int64_t ended_ms_;
  std::map<std::string, std::string> summary_;  // JSON by key
};

void make_folder(const fs::path& folder) {
  make_directories(folder);
  if (fs::is_empty(folder)) return;
  const bool has_runs =
      std::ranges::any_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
        const std::string name = entry.path().filename().string();
        return name.starts_with(kRunFolder) || name.starts_with("run-");
      });
  if (!has_runs)
    throw Error(ErrorKind::usage, "the folder holds something else than runs of W&B",
                folder.string(), "give another one with --to; it is made");
}

}  // namespace

std::string wandb_project(std::string_view name) {
  std::string out = ellipsize(printable(name), kMaxName);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 ||
        std::string_view("/\\#?%:").find(c) != std::string_view::npos)
      c = '_';
  return out.empty() ? "assay" : out;
}

std::string wandb_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

WandbExport export_wandb(const RunFiles& files, const judge::RunResult& result,
                         const fs::path& folder) {
  make_folder(folder);
  WandbExport out{.project = wandb_project(result.suite), .folders = {}};
  std::vector<RoundExport> rounds;
  for (const judge::CaseResult& of : result.cases)
    for (const judge::RoundResult& round : of.rounds) {
      if (round.started.empty()) continue;
      rounds.emplace_back(files, result, of, round);
      out.folders.push_back(folder / rounds.back().folder_name());
      if (fs::exists(out.folders.back()))
        throw Error(ErrorKind::usage,
                    fmt::format("round {} of {} is there already", round.round, of.name),
                    out.folders.back().string(), "remove it, or give another folder with --to");
    }
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    ScratchFolder made(folder, ".assay");
    rounds[i].write(made.path());
    made.keep_as(out.folders[i]);
  }
  return out;
}

}  // namespace assay::exports
