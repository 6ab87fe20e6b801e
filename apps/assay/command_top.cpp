#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "automl/experiment_journal.h"
#include "automl/score.h"
#include "commands.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "detach.h"
#include "launch/agents/slurm/slurm_batch.h"
#include "launch/time_left.h"
#include "page/table.h"
#include "store/run_dir.h"
#include "terminal.h"
#include "web_view.h"

namespace assay::app {

namespace {

constexpr std::size_t kNodesShown = 40;
constexpr std::size_t kTrialsShown = 20;

std::string percent(const Json& beat, const char* key) {
  return beat.contains(key) && beat[key].is_number()
             ? fmt::format("{:.0f} %", 100 * beat[key].get<double>())
             : "–";
}

std::string number(const Json& beat, const char* key) {
  return beat.contains(key) && beat[key].is_number() ? format_number(beat[key].get<double>()) : "–";
}

// Numbers change every second: widths that suffice keep the columns in their places.
page::Column number_column(std::string title, std::size_t width) {
  return {.title = std::move(title), .align = page::Align::right, .min_width = width};
}

page::Column host_column() {
  return {.title = "HOST", .min_width = 8, .cut = page::Cut::end, .soft_min = 8, .hard_min = 4};
}

page::Column remark_column() {
  return {.cut = page::Cut::end, .soft_min = 12, .hard_min = 4};
}

std::string text_of(const page::Table& table, std::size_t width) {
  return join(page::text_lines(table, {.width = width, .indent = 2}), "\n") + "\n";
}

page::Row node_row(const Json& beat) {
  std::string remark;
  if (beat.contains("suspect"))
    remark = fmt::format("rank {} silent {:.0f} s", beat["suspect"].value("rank", 0),
                         beat["suspect"].value("idle_s", 0.0));
  const std::string host = text_at(beat, "host");
  return {
      {std::to_string(beat.value("node", 0)), host.empty() ? "–" : printable(ellipsize(host, 24)),
       fmt::format("{:>4}/{:<4}", beat.value("running", 0), beat.value("ranks", 0)),
       number(beat, "step_max"), number(beat, "rate"), number(beat, "loss"),
       percent(beat, "cpu_util"), percent(beat, "device_util"),
       beat.contains("mem_used_bytes") ? format_bytes(beat["mem_used_bytes"].get<double>()) : "–",
       number(beat, "power_w"), remark}};
}

std::string percent_of(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.2f} %", 100 * *ratio) : "–";
}

// The trials that run, and the last ones that ended, from the experiment's own journal.
std::string render_trials(const store::RunDir& run, const Json& live, std::size_t width) {
  const Json& now = live["automl"];
  const automl::ExperimentRecord record = automl::record_of(automl::ExperimentJournal::read(
      run.round_dir(live.value("case", ""), live.value("round", 1)) / layout::kExperimentJournal));
  std::string text = fmt::format(
      "\n  experiment {} of {}: {} done, {} failed, {} running; {}, {} idle\n"
      "  best accuracy {}  score {:.4g}, {:.4g} operations/s\n\n",
      format_duration(from_seconds(now.value("elapsed_s", 0.0))),
      format_duration(from_seconds(now.value("max_duration_s", 0.0))),
      counted(now.value("ok", 0), "trial"), now.value("failed", 0), now.value("running", 0),
      counted(now.value("workers", 0), "worker"), now.value("idle", 0),
      percent_of(record.best ? record.trials[static_cast<std::size_t>(*record.best)].accuracy
                             : std::nullopt),
      record.final.score, record.final.ops);
  std::vector<const automl::TrialRecord*> shown;
  for (const automl::TrialRecord& trial : record.trials)
    if (trial.status != automl::TrialStatus::waiting) shown.push_back(&trial);
  std::ranges::stable_sort(shown, [](const auto* a, const auto* b) {
    const bool running = a->status == automl::TrialStatus::running;
    if (running != (b->status == automl::TrialStatus::running)) return running;
    return a->ended_s.value_or(0) > b->ended_s.value_or(0);
  });
  if (shown.size() > kTrialsShown) shown.resize(kTrialsShown);
  page::Table table{{number_column("TRIAL", 6), number_column("PARENT", 6),
                     number_column("STATE", 8), number_column("EPOCHS", 6),
                     number_column("ACCURACY", 9), number_column("PARAMETERS", 10),
                     number_column("TIME", 8), page::Column{"WORKER"}}};
  for (const automl::TrialRecord* trial : shown)
    table.rows.push_back(
        {{std::to_string(trial->id), trial->parent < 0 ? "–" : std::to_string(trial->parent),
          std::string(to_text(trial->status)), std::to_string(trial->epochs),
          percent_of(trial->accuracy), std::to_string(trial->parameters),
          format_duration(from_seconds(trial->ended_s.value_or(record.elapsed_s) -
                                       trial->started_s.value_or(0))),
          fmt::format("{} on {}", trial->worker, trial->host)}});
  return text + text_of(table, width);
}

std::string render(const Json& live, std::size_t width) {
  const double age =
      static_cast<double>(wall_now_ns() - live.value("wall_ns", std::int64_t{0})) * 1e-9;
  std::string text = fmt::format(
      "{}  {}  round {}/{}  ({} of {} rounds done)  {} of {} ranks ended  {:.0f} s ago\n",
      live.value("run", ""), live.value("case", ""), live.value("round", 0),
      live.value("repeats", 0), live.value("rounds_done", 0), live.value("rounds_total", 0),
      live.value("ended", 0), live.value("ranks", 0), std::max(age, 0.0));
  if (const auto elapsed = number_at(live, "elapsed_s"))
    text +=
        "running for " + format_duration(from_seconds(std::floor(*elapsed + std::max(age, 0.0))));
  if (const auto left = number_at(live, "left_s")) text += ", " + launch::about_left(*left);
  text += "\n\n";
  page::Table table{{number_column("NODE", 5), host_column(), number_column("RANKS", 9),
                     number_column("STEP", 9), number_column("STEPS/S", 8),
                     number_column("LOSS", 9), number_column("CPU", 6), number_column("DEV", 6),
                     number_column("MEMORY", 10), number_column("POWER W", 8), remark_column()}};
  const Json nodes = live.value("nodes", Json::array());
  for (std::size_t i = 0; i < std::min(nodes.size(), kNodesShown); ++i)
    table.rows.push_back(node_row(nodes[i]));
  text += text_of(table, width);
  if (nodes.size() > kNodesShown)
    text += fmt::format("  … {} more nodes\n", nodes.size() - kNodesShown);
  return text;
}

// A detached run whose job has not begun yet.
std::string waiting_for(const store::RunDir& run) {
  const std::string job = batch_job_of(run);
  return job.empty() ? "" : launch::batch_waits_for(job);
}

int top(const std::string& path, bool once) {
  const store::RunDir run = store::RunDir::open(path);
  const Terminal t = terminal();
  for (bool first = true;; first = false) {
    const bool running = store::RunLock::held(run.path());
    const Json live = parse_json_or_null(read_regular_file_or_empty(run.live_file()));
    if (t.interactive && !once && running) fmt::print("\x1b[H\x1b[2J");
    if (live.is_object() && running) {
      const std::size_t width = t.interactive && !once ? terminal_width(t.width)
                                                       : std::numeric_limits<std::size_t>::max();
      fmt::print("{}", render(live, width));
      if (live.contains("automl")) fmt::print("{}", render_trials(run, live, width));
    } else if (const std::string why = running ? "" : waiting_for(run); !why.empty()) {
      fmt::print("{}\n", why);
    } else if (!running) {
      if (first || t.interactive) tell(fmt::format("{} is not running\n", run.plan().run_id));
      return 0;
    } else {
      tell(fmt::format("{} is starting\n", run.plan().run_id));
    }
    std::fflush(stdout);
    if (once) return 0;
    ::poll(nullptr, 0, 1000);
  }
}

// Until somebody ends it: the pages of a finished run stay, too.
int top_in_browser(const std::string& path, std::uint16_t port) {
  const store::RunDir run = store::RunDir::open(path);
  const WebView web(run.path(), port);
  fmt::print("{}\n", web.address());
  std::fflush(stdout);
  while (true) ::poll(nullptr, 0, 60'000);
}

}  // namespace

void add_top(CLI::App& app, Action& action) {
  const auto run = std::make_shared<std::string>("results/latest");
  const auto once = std::make_shared<bool>(false);
  const auto web = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("top", "Watch a run from another terminal");
  command->add_option("run", *run, "Folder of a run (default: results/latest)")->type_name("RUN");
  command->add_flag("--once", *once, "Print the state once and end");
  command
      ->add_flag(
          "--web{any}", *web,
          "Show metrics and console in the browser until Ctrl-C; --web=PORT chooses the port")
      ->excludes(command->get_option("--once"));
  command->footer(
      "Examples:\n  assay top\n  assay top results/latest --once\n  assay top results/latest "
      "--web");
  command->callback([run, once, web, &action] {
    action = [run, once, web] {
      return !web->empty() ? top_in_browser(*run, web_port(*web)) : top(*run, *once);
    };
  });
}

}  // namespace assay::app
