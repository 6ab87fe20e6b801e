#include "report/mllog.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/files.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "report/mllog_settings.h"
#include "report/present.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::Phase;
using judge::RoundResult;

constexpr const char* kNotes = "notes.md";  // beside the logs, which contain only log lines
constexpr std::string_view kPoint = "POINT_IN_TIME";
constexpr std::string_view kStart = "INTERVAL_START";
constexpr std::string_view kEnd = "INTERVAL_END";

// Uses the separators of Python's json.dumps, which readers of these logs expect.
void dump_spaced(std::string& out, const Json& value) {
  if (value.is_object() || value.is_array()) {
    const bool object = value.is_object();
    out += object ? '{' : '[';
    bool first = true;
    for (const auto& item : value.items()) {
      if (!first) out += ", ";
      first = false;
      if (object) out += dump_line(Json(item.key())) + ": ";
      dump_spaced(out, item.value());
    }
    out += object ? '}' : ']';
  } else {
    out += dump_line(value);
  }
}

class Log {
 public:
  Log(std::int64_t origin_ms, std::string file) : origin_ms_(origin_ms), file_(std::move(file)) {}

  void add(double t_s, std::string_view type, std::string_view key, Json value,
           const Json& extra = Json::object()) {
    // Lines are in the order of events; a rounding error of a time must not change that.
    last_ms_ = std::max<std::int64_t>(last_ms_, origin_ms_ + std::llround(t_s * 1000));
    Json metadata = {{"file", file_}, {"lineno", ++lines_}};
    for (const auto& item : extra.items()) metadata[item.key()] = item.value();
    const Json line = {{"namespace", ""},           {"time_ms", last_ms_},
                       {"event_type", type},        {"key", key},
                       {"value", std::move(value)}, {"metadata", std::move(metadata)}};
    out_ += ":::MLLOG ";
    dump_spaced(out_, line);
    out_ += '\n';
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::int64_t origin_ms_;
  std::int64_t last_ms_ = 0;
  std::string file_;
  int lines_ = 0;
  std::string out_;
};

std::string platform_of(const CaseResult& result) {
  const std::string hardware = result.hardware.empty() ? "unknown" : result.hardware;
  if (result.nodes == 1) return fmt::format("{}x{}", result.procs, hardware);
  return fmt::format("{}x{}x{}", result.nodes, result.procs, hardware);
}

// Times of events, in seconds since the first rank was started.
struct Timeline {
  double init_start = 0;
  double run_start = 0;
  double run_stop = 0;
  struct Stretch {
    const judge::EvaluationResult* evaluation;  ///< nullptr: training
    double start;
    double end;
  };
  std::vector<Stretch> stretches;                    // in order, without overlaps
  std::vector<judge::EvaluationResult> evaluations;  // the targets of their pointers
  double trained = 0;                                // seconds of training
};

// If a round's evaluations were not recorded individually, the phases give their times.
std::vector<judge::EvaluationResult> evaluations_of(const RoundResult& round) {
  if (!round.evaluations.empty()) return round.evaluations;
  std::vector<judge::EvaluationResult> out;
  for (const Phase& phase : round.phases)
    if ((phase.name == "evaluate" || phase.name == "eval") && std::isfinite(phase.start_s) &&
        std::isfinite(phase.end_s))
      out.push_back({phase.start_s, phase.end_s});
  std::ranges::sort(out, {}, &judge::EvaluationResult::start_s);
  return out;
}

Timeline timeline_of(const RoundResult& round, double whole_s) {
  Timeline line;
  line.evaluations = evaluations_of(round);
  std::optional<double> train_start;
  std::optional<double> train_end;
  double last = 0;
  for (const Phase& phase : round.phases) {
    if (!std::isfinite(phase.start_s) || !std::isfinite(phase.end_s)) continue;
    last = std::max(last, phase.end_s);
    if (phase.name == "init") {
      line.init_start = std::max(0.0, phase.start_s);
      line.run_start = std::max(line.run_start, phase.end_s);
    } else if (phase.name == "train") {
      train_start = std::min(train_start.value_or(phase.start_s), phase.start_s);
      train_end = std::max(train_end.value_or(phase.end_s), phase.end_s);
    }
  }
  for (const judge::EvaluationResult& evaluation : line.evaluations)
    last = std::max(last, evaluation.end_s);
  if (train_start) line.run_start = std::max(*train_start, line.init_start);
  line.run_stop = std::max({train_end.value_or(0), last, line.run_start});
  if (round.phases.empty()) line.run_stop = std::max(whole_s, last);

  double at = line.run_start;
  const double trained_until = train_end.value_or(line.run_stop);
  const auto train_to = [&](double end) {
    end = std::min(end, trained_until);
    if (end <= at) return;
    line.stretches.push_back({nullptr, at, end});
    line.trained += end - at;
    at = end;
  };
  for (const judge::EvaluationResult& evaluation : line.evaluations) {
    train_to(evaluation.start_s);
    const double start = std::max(at, evaluation.start_s);
    const double end = std::max(start, evaluation.end_s);
    line.stretches.push_back({&evaluation, start, end});
    at = end;
  }
  train_to(trained_until);
  if (line.trained == 0) line.stretches.insert(line.stretches.begin(), {nullptr, at, at});
  return line;
}

const judge::Metric* quality_of(const RoundResult& round, const MllogContext& context) {
  std::vector<std::string> names;
  if (context.target_metric) {
    std::string name = *context.target_metric;
    names = {"final_" + name, name};
    if (name.starts_with("eval_")) names.push_back("final_" + name.substr(5));
  }
  for (const char* name : {"final_accuracy", "accuracy", "final_eval_accuracy", "eval_accuracy",
                           "final_mlm_accuracy", "final_acc1", "final_loss"})
    names.emplace_back(name);
  for (const std::string& name : names)
    if (const judge::Metric* metric = find_metric(round, name);
        metric != nullptr && std::isfinite(metric->value))
      return metric;
  return nullptr;
}

void add_data(Log& log, double at, const Json& config, const char* key,
              std::initializer_list<const char*> names, std::optional<double> reported) {
  const Json* value = find_config(config, names);
  // 0 means the data set's own size.
  if (value != nullptr && *value != Json(0))
    log.add(at, kPoint, key, *value);
  else if (reported)
    log.add(at, kPoint, key, whole_number(*reported), {{"note", "of an epoch, by the workload"}});
  else
    log.add(at, kPoint, key, nullptr, {{"note", "not known: the configuration does not say it"}});
}

}  // namespace

std::optional<std::int64_t> parse_iso_ms(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                  &second, &used) != 6)
    return std::nullopt;
  namespace chrono = std::chrono;
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  std::int64_t ms = (chrono::sys_days(date).time_since_epoch().count() * 86400LL + hour * 3600LL +
                     minute * 60LL + second) *
                    1000;
  std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(used));
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    for (int scale = 100; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; scale /= 10) {
      ms += std::int64_t{rest[0] - '0'} * scale;
      rest.remove_prefix(1);
    }
  }
  if (rest != "Z") return std::nullopt;
  return ms;
}

namespace {

// The training's progress in samples and, if their size is known, epochs.
class Progress {
 public:
  Progress(double samples, std::optional<double> epoch_samples)
      : samples_(samples), epoch_samples_(epoch_samples) {}

  [[nodiscard]] Json at(double share, bool exact) const {
    Json out{{"samples_count", std::llround(samples_ * share)}};
    if (epoch_samples_) out["epoch_num"] = epochs(share);
    if (!exact) out["estimated"] = true;
    return out;
  }
  // A block is the training between two points.
  [[nodiscard]] Json block(double from, double to, bool exact, bool start) const {
    Json out{{"samples_count", std::llround(samples_ * (start ? from : to))}};
    if (epoch_samples_) {
      out["first_epoch_num"] = epochs(from);
      if (start && to > from) out["epoch_count"] = epochs(to - from);
    }
    if (!exact) out["estimated"] = true;
    return out;
  }

 private:
  // Six decimals resolve one sample in a hundred thousand.
  [[nodiscard]] Json epochs(double share) const {
    return whole_number(std::round(samples_ * share / *epoch_samples_ * 1e6) / 1e6);
  }

  double samples_;
  std::optional<double> epoch_samples_;
};

}  // namespace

std::string render_mllog(const CaseResult& result, const RoundResult& round,
                         const MllogContext& context) {
  const auto started = parse_iso_ms(round.started);
  if (!started) return {};
  const auto ended = parse_iso_ms(round.ended);
  const double whole_s = ended ? std::max(0.0, static_cast<double>(*ended - *started) / 1000) : 0;
  const Timeline line = timeline_of(round, whole_s);
  double samples = 0;
  for (const judge::RankResult& rank : round.ranks)
    if (std::isfinite(rank.samples)) samples += rank.samples;
  const std::optional<double> epoch = mllog_train_samples(round, context);
  const Progress progress(samples, epoch);

  Log log(*started, context.file);
  const Json& config = context.config;
  log.add(0, kPoint, "submission_org", context.org);
  log.add(0, kPoint, "submission_platform",
          context.platform.empty() ? platform_of(result) : context.platform);
  log.add(0, kPoint, "submission_division", context.division);
  log.add(0, kPoint, "submission_benchmark", mllog_benchmark(result, context));
  log.add(0, kPoint, "submission_status", context.status);
  const Json* cleared = find_config(config, {"cache_clear"});
  log.add(0, kPoint, "cache_clear", cleared != nullptr ? *cleared : Json(context.caches_dropped));
  log.add(line.init_start, kStart, "init_start", nullptr);
  for (const MllogSetting& setting : mllog_settings(result, context))
    log.add(line.init_start, kPoint, setting.key, setting.value,
            setting.note.empty() ? Json::object() : Json{{"note", setting.note}});
  add_data(log, line.init_start, config, "eval_samples",
           {"eval_samples", "num_eval_samples", "eval_size"}, std::nullopt);
  add_data(log, line.init_start, config, "train_samples",
           {"train_samples", "num_train_samples", "train_size"}, epoch);
  if (const Json* seed = find_config(config, {"seed"}))
    log.add(line.init_start, kPoint, "seed", *seed);
  log.add(line.run_start, kEnd, "init_stop", nullptr);
  log.add(line.run_start, kStart, "run_start", nullptr);

  const judge::Metric* quality = quality_of(round, context);
  bool evaluated = false;
  const auto accuracy = [&](double at, Json extra, const std::string& metric, const Json& value) {
    if (metric.empty())
      extra["note"] = "not known: the round reported no quality";
    else
      extra["metric"] = metric;
    log.add(at, kPoint, "eval_accuracy", value, extra);
    evaluated = true;
  };
  double seconds = 0;
  double share = 0;
  for (std::size_t i = 0; i < line.stretches.size(); ++i) {
    const Timeline::Stretch& stretch = line.stretches[i];
    if (const judge::EvaluationResult* evaluation = stretch.evaluation) {
      const Json where =
          progress.at(share, evaluation->trained_exactly || share == 0 || share == 1);
      log.add(stretch.start, kStart, "eval_start", nullptr, where);
      const bool last = evaluation == &line.evaluations.back();
      if (const auto measured = mllog_quality(*evaluation, context))
        accuracy(stretch.end, where, measured->first, measured->second);
      else if (last && quality != nullptr)
        accuracy(stretch.end, where, quality->info.name, quality->value);
      log.add(stretch.end, kEnd, "eval_stop", nullptr, where);
      continue;
    }
    // Samples that were not counted are distributed by time, and the log says so.
    seconds += stretch.end - stretch.start;
    const auto* next = i + 1 < line.stretches.size() ? line.stretches[i + 1].evaluation : nullptr;
    const bool all = line.trained == 0 || seconds >= line.trained;
    double to = all ? 1 : seconds / line.trained;
    bool exact = all;
    if (next != nullptr && next->trained) {
      to = std::max(share, *next->trained);
      exact = next->trained_exactly || to == 1;
    }
    // After the last evaluation nothing may be left to train: there is no empty block.
    if (to <= share && share > 0) continue;
    log.add(stretch.start, kStart, "block_start", nullptr,
            progress.block(share, to, exact || share == 0, true));
    log.add(stretch.end, kEnd, "block_stop", nullptr, progress.block(share, to, exact, false));
    share = to;
  }
  if (!evaluated)
    accuracy(line.run_stop, progress.at(1, true), quality != nullptr ? quality->info.name : "",
             quality != nullptr ? Json(quality->value) : Json(nullptr));
  const bool success =
      round.status == RoundStatus::completed && round.validity == judge::Validity::valid;
  Json end = progress.at(1, true);
  end["status"] = success ? "success" : "aborted";
  log.add(line.run_stop, kEnd, "run_stop", nullptr, end);
  return log.take();
}

std::string mllog_file_name(const std::string& case_name, int round) {
  std::string name = printable(case_name);
  for (char& c : name)
    if (c == '/' || c == '\n' || c == '\t') c = '_';
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  // File systems allow 255 bytes; printable() repairs a character cut in two.
  if (name.size() > 200) name = printable(name.substr(0, 200));
  return fmt::format("{}_round{}.txt", name, round);
}

namespace {

MllogContext context_of(const ReportInput& input, const std::string& case_name) {
  MllogContext context;
  const auto take = [&](const char* key, std::string& into) {
    const auto given = input.plan.submission.find(key);
    if (given != input.plan.submission.end()) into = given->second;
  };
  take("org", context.org);
  take("division", context.division);
  take("status", context.status);
  take("platform", context.platform);
  take("benchmark", context.benchmark);
  const auto planned = std::ranges::find(input.plan.cases, case_name, &plan::CasePlan::name);
  if (planned == input.plan.cases.end()) return context;
  context.config = planned->config;
  for (const auto& item : planned->declared.items())
    if (!context.config.contains(item.key())) context.config[item.key()] = item.value();
  context.own_program = planned->config_use == plan::ConfigUse::applied;
  context.caches_dropped = planned->drop_caches;
  if (planned->target && !planned->target->metric.empty())
    context.target_metric = planned->target->metric;
  return context;
}

}  // namespace

std::vector<std::string> mllog_obstacles(const judge::RunResult& result, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const CaseResult& case_result : result.cases) {
    const MllogContext context = context_of({result, plan, {}}, case_result.name);
    for (const RoundResult& round : case_result.rounds) {
      if (!parse_iso_ms(round.started)) continue;
      for (const std::string& obstacle : mllog_obstacles(case_result, round, context)) {
        std::string text = case_result.name + ": " + obstacle;
        if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
      }
    }
  }
  return out;
}

void write_mllogs(const ReportInput& input) {
  const auto folder = input.run_dir / layout::kMllog;
  std::set<std::string> taken;
  std::set<std::string> written;
  for (const judge::CaseResult& case_result : input.result.cases) {
    MllogContext context = context_of(input, case_result.name);
    for (const judge::RoundResult& round : case_result.rounds) {
      std::string name = mllog_file_name(case_result.name, round.round);
      while (!taken.insert(name).second) name.insert(0, "_");
      context.file = std::string(layout::kMllog) + name;
      const std::string log = render_mllog(case_result, round, context);
      if (log.empty()) continue;
      make_directories(folder);
      write_file_atomic(folder / name, log);
      written.insert(name);
    }
  }
  std::string notes;
  for (const std::string& obstacle : mllog_obstacles(input.result, input.plan))
    notes += "- " + printable(obstacle) + "\n";
  std::error_code ec;
  if (!notes.empty() && !written.empty())
    write_file_atomic(folder / kNotes,
                      "What stands in the way of MLPerf's compliance checker:\n\n" + notes);
  else
    std::filesystem::remove(folder / kNotes, ec);
  std::vector<std::filesystem::path> stale;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ec))
    if (entry.path().extension() == ".txt" && !written.contains(entry.path().filename().string()))
      stale.push_back(entry.path());
  for (const auto& path : stale) std::filesystem::remove(path, ec);
}

}  // namespace assay::report
