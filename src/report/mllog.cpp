#include "report/mllog.h"

#include <algorithm>
#include <array>
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
#include "report/present.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::Phase;
using judge::RoundResult;

constexpr std::string_view kPoint = "POINT_IN_TIME";
constexpr std::string_view kStart = "INTERVAL_START";
constexpr std::string_view kEnd = "INTERVAL_END";

// The separators of Python's json.dumps, which readers of these logs expect.
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
    // Lines stand in the order of events; a clock that is off by a rounding must not undo that.
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

// The first of `names` that the configuration has as a scalar.
const Json* find_config(const Json& config, std::initializer_list<const char*> names) {
  if (!config.is_object()) return nullptr;
  for (const char* name : names) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_primitive() && !found->is_null()) return &*found;
  }
  return nullptr;
}

std::string platform_of(const CaseResult& result) {
  const std::string hardware = result.hardware.empty() ? "unknown" : result.hardware;
  if (result.nodes == 1) return fmt::format("{}x{}", result.procs, hardware);
  return fmt::format("{}x{}x{}", result.nodes, result.procs, hardware);
}

// When things happened, in seconds since the first rank was started.
struct Timeline {
  double init_start = 0;
  double run_start = 0;
  double run_stop = 0;
  struct Stretch {
    bool evaluation;
    double start;
    double end;
  };
  std::vector<Stretch> stretches;  // in order, not overlapping
  double trained = 0;              // seconds of training, for shares of the samples
};

Timeline timeline_of(const RoundResult& round, double whole_s) {
  Timeline line;
  std::optional<double> train_start;
  std::optional<double> train_end;
  double last = 0;
  std::vector<Phase> evaluations;
  for (const Phase& phase : round.phases) {
    if (!std::isfinite(phase.start_s) || !std::isfinite(phase.end_s)) continue;
    last = std::max(last, phase.end_s);
    if (phase.name == "init") {
      line.init_start = std::max(0.0, phase.start_s);
      line.run_start = std::max(line.run_start, phase.end_s);
    } else if (phase.name == "train") {
      train_start = std::min(train_start.value_or(phase.start_s), phase.start_s);
      train_end = std::max(train_end.value_or(phase.end_s), phase.end_s);
    } else if (phase.name == "evaluate" || phase.name == "eval") {
      evaluations.push_back(phase);
    }
  }
  if (train_start) line.run_start = std::max(*train_start, line.init_start);
  line.run_stop = std::max({train_end.value_or(0), last, line.run_start});
  if (round.phases.empty()) line.run_stop = whole_s;
  std::ranges::sort(evaluations, {}, &Phase::start_s);

  double at = line.run_start;
  const double trained_until = train_end.value_or(line.run_stop);
  const auto train_to = [&](double end) {
    end = std::min(end, trained_until);
    if (end <= at) return;
    line.stretches.push_back({false, at, end});
    line.trained += end - at;
    at = end;
  };
  for (const Phase& phase : evaluations) {
    train_to(phase.start_s);
    const double start = std::max(at, phase.start_s);
    const double end = std::max(start, phase.end_s);
    line.stretches.push_back({true, start, end});
    at = end;
  }
  train_to(trained_until);
  if (line.trained == 0) line.stretches.insert(line.stretches.begin(), {false, at, at});
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

Json whole_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

// Hyperparameters whose name in a configuration and in the log differ; the others keep theirs.
constexpr std::array<std::pair<const char*, const char*>, 10> kRenamed{{
    {"max_sequence_length", "max_seq_length"},
    {"opt_name", "optimizer"},
    {"opt_base_learning_rate", "learning_rate"},
    {"opt_base_learning_rate", "lr"},
    {"opt_end_learning_rate", "end_learning_rate"},
    {"opt_learning_rate_warmup_steps", "warmup_steps"},
    {"opt_weight_decay", "weight_decay"},
    {"opt_gradient_clip_norm", "max_grad_norm"},
    {"gradient_accumulation_steps", "gradient_accumulation_steps"},
    {"max_steps", "max_steps"},
}};

void add_hyperparameters(Log& log, double at, const CaseResult& result, const Json& config) {
  if (const Json* batch = find_config(config, {"global_batch_size"})) {
    log.add(at, kPoint, "global_batch_size", *batch);
  } else if (const Json* local = find_config(
                 config, {"train_batch_size", "per_gpu_train_batch_size", "batch_size"});
             local != nullptr && local->is_number()) {
    log.add(at, kPoint, "global_batch_size",
            whole_number(local->get<double>() * result.nodes * result.procs),
            {{"note", "batch size of a rank times ranks"}});
  }
  std::vector<std::string> written;
  const auto add = [&](const std::string& key, const Json& value) {
    if (std::ranges::find(written, key) != written.end()) return;
    written.push_back(key);
    log.add(at, kPoint, key, value);
  };
  for (const auto& [key, name] : kRenamed) {
    if (const Json* own = find_config(config, {key})) add(key, *own);
    if (const Json* value = find_config(config, {name})) add(key, *value);
  }
  if (!config.is_object()) return;
  for (const auto& item : config.items())
    if (item.key().starts_with("opt_") && item.value().is_primitive())
      add(item.key(), item.value());
}

void add_data(Log& log, double at, const Json& config, const char* key,
              std::initializer_list<const char*> names) {
  if (const Json* value = find_config(config, names))
    log.add(at, kPoint, key, *value);
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
      ms += (rest[0] - '0') * scale;
      rest.remove_prefix(1);
    }
  }
  if (rest != "Z") return std::nullopt;
  return ms;
}

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
  const Json total = whole_number(samples);

  Log log(*started, context.file);
  const Json& config = context.config;
  log.add(0, kPoint, "submission_org", context.org);
  log.add(0, kPoint, "submission_platform",
          context.platform.empty() ? platform_of(result) : context.platform);
  log.add(0, kPoint, "submission_division", context.division);
  log.add(0, kPoint, "submission_benchmark",
          !context.benchmark.empty() ? context.benchmark
          : !result.model.empty()    ? result.model
                                     : result.name);
  log.add(0, kPoint, "submission_status", context.status);
  const Json* cleared = find_config(config, {"cache_clear"});
  log.add(0, kPoint, "cache_clear", cleared != nullptr ? *cleared : Json(false));
  log.add(line.init_start, kStart, "init_start", nullptr);
  add_hyperparameters(log, line.init_start, result, config);
  add_data(log, line.init_start, config, "eval_samples", {"eval_samples", "num_eval_samples"});
  add_data(log, line.init_start, config, "train_samples", {"train_samples", "num_train_samples"});
  if (const Json* seed = find_config(config, {"seed"}))
    log.add(line.init_start, kPoint, "seed", *seed);
  log.add(line.run_start, kEnd, "init_stop", nullptr);
  log.add(line.run_start, kStart, "run_start", nullptr);

  const judge::Metric* quality = quality_of(round, context);
  const auto last_eval =
      std::ranges::find_if(line.stretches.rbegin(), line.stretches.rend(),
                           [](const auto& stretch) { return stretch.evaluation; });
  const auto accuracy = [&](double at) {
    Json extra = {{"samples_count", total}};
    if (quality != nullptr)
      extra["metric"] = quality->info.name;
    else
      extra["note"] = "not known: the round reported no quality";
    log.add(at, kPoint, "eval_accuracy", quality != nullptr ? Json(quality->value) : Json(nullptr),
            extra);
  };
  double trained = 0;
  for (const Timeline::Stretch& stretch : line.stretches) {
    // Only the total is known; within the run the samples are divided by time, and the log states
    // it.
    const auto count = [&] {
      if (trained == 0) return Json{{"samples_count", 0}};
      if (trained >= line.trained) return Json{{"samples_count", total}};
      return Json{{"samples_count", std::llround(samples * trained / line.trained)},
                  {"estimated", true}};
    };
    const Json before = count();
    if (stretch.evaluation) {
      log.add(stretch.start, kStart, "eval_start", nullptr, before);
      if (&stretch == &*last_eval) accuracy(stretch.end);
      log.add(stretch.end, kEnd, "eval_stop", nullptr, before);
    } else {
      log.add(stretch.start, kStart, "block_start", nullptr, before);
      trained += stretch.end - stretch.start;
      log.add(stretch.end, kEnd, "block_stop", nullptr,
              line.trained == 0 ? Json{{"samples_count", total}} : count());
    }
  }
  if (last_eval == line.stretches.rend()) accuracy(line.run_stop);
  const bool success =
      round.status == RoundStatus::completed && round.validity == judge::Validity::valid;
  log.add(line.run_stop, kEnd, "run_stop", nullptr,
          {{"status", success ? "success" : "aborted"}, {"samples_count", total}});
  return log.take();
}

std::string mllog_file_name(const std::string& case_name, int round) {
  std::string name = printable(case_name);
  for (char& c : name)
    if (c == '/' || c == '\n' || c == '\t') c = '_';
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  // 255 bytes is the limit of file systems; a cut within a character is made whole again.
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
  if (planned->target && !planned->target->metric.empty())
    context.target_metric = planned->target->metric;
  return context;
}

}  // namespace

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
  std::error_code ec;
  std::vector<std::filesystem::path> stale;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ec))
    if (entry.path().extension() == ".txt" && !written.contains(entry.path().filename().string()))
      stale.push_back(entry.path());
  for (const auto& path : stale) std::filesystem::remove(path, ec);
}

}  // namespace assay::report
