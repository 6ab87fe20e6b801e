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
#include "commands/base/commands.h"
#include "commands/base/extras.h"
#include "commands/base/key_input.h"
#include "commands/base/terminal.h"
#include "commands/runs/detach.h"
#include "commands/runs/web_port.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "lang/language.h"
#include "launch/agents/slurm/slurm_batch.h"
#include "launch/time_left.h"
#include "page/table.h"
#include "page/text_width.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

constexpr std::size_t kNodesShown = 40;
constexpr std::size_t kTrialsShown = 20;

std::string percent_of(const Json& beat, const char* key) {
  return beat.contains(key) && beat[key].is_number()
             ? fmt::format("{:.0f} %", 100 * beat[key].get<double>())
             : "–";
}

std::string number(const Json& beat, const char* key) {
  return beat.contains(key) && beat[key].is_number() ? format_number(beat[key].get<double>()) : "–";
}

// Numbers change every second, so sufficient widths keep the columns in place. If there is no room,
// columns with the largest `leave_out` are dropped first.
page::Column number_column(std::string title, std::size_t width, int leave_out = 0) {
  return {.title = std::move(title),
          .align = page::Align::right,
          .min_width = width,
          .leave_out = leave_out};
}

page::Column host_column() {
  return {.title = "HOST", .min_width = 8, .cut = page::Cut::end, .soft_min = 8, .hard_min = 4};
}

page::Column remark_column() {
  return {.cut = page::Cut::end, .soft_min = 12, .hard_min = 4, .leave_out = 4};
}

std::string text_of(const page::Table& table, std::size_t width) {
  return join(page::text_lines(table, {.width = width, .indent = 2}), "\n") + "\n";
}

constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

/// The available room, and the first node to show.
struct View {
  std::size_t width = kUnbounded;
  std::size_t height = kUnbounded;
  std::size_t from = 0;  ///< reduced if there are not as many nodes
};

std::vector<std::string_view> lines_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

/// Lines that a terminal of this width does not wrap itself, then an empty one.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  for (const std::string_view line : lines_of(text))
    out += (width == kUnbounded ? std::string(line) : join(page::wrap(line, width), "\n")) + "\n";
  return out + "\n";
}

page::Row node_row(const Json& beat) {
  std::string remark;
  if (beat.contains("suspect"))
    remark = fmt::format("rank {} silent {:.0f} s", beat["suspect"].value("rank", 0),
                         beat["suspect"].value("idle_s", 0.0));
  const std::string host = text_at(beat, "host");
  return {
      {std::to_string(beat.value("node", 0)),
       page::name(host.empty() ? "–" : printable(ellipsize(host, 24))),
       fmt::format("{:>4}/{:<4}", beat.value("running", 0), beat.value("ranks", 0)),
       number(beat, "step_max"), number(beat, "rate"), number(beat, "loss"),
       percent_of(beat, "cpu_util"), percent_of(beat, "device_util"),
       beat.contains("mem_used_bytes") ? format_bytes(beat["mem_used_bytes"].get<double>()) : "–",
       number(beat, "power_w"), remark}};
}

std::string percent_of(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.2f} %", 100 * *ratio) : "–";
}

// The running trials and the last ones that ended, from the experiment's own journal.
std::string render_trials(const store::RunDir& run, const Json& live, std::size_t width) {
  const Json& now = live["automl"];
  const automl::ExperimentRecord record = automl::record_of(automl::ExperimentJournal::read(
      run.round_dir(live.value("case", ""), live.value("round", 1)) / layout::kExperimentJournal));
  std::string text = fmt::format(
      "  experiment {} of {}: {} done, {} failed, {} running; {}, {} idle\n"
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
  page::Table table{
      {number_column("TRIAL", 6), number_column("PARENT", 6, 5), number_column("STATE", 8, 1),
       number_column("EPOCHS", 6, 4), number_column("ACCURACY", 9),
       number_column("PARAMETERS", 10, 6), number_column("TIME", 8, 2),
       page::Column{.title = "WORKER", .cut = page::Cut::end, .soft_min = 8, .leave_out = 3}}};
  for (const automl::TrialRecord* trial : shown)
    table.rows.push_back(
        {{std::to_string(trial->id), trial->parent < 0 ? "–" : std::to_string(trial->parent),
          std::string(to_text(trial->status)), std::to_string(trial->epochs),
          percent_of(trial->accuracy), std::to_string(trial->parameters),
          format_duration(from_seconds(trial->ended_s.value_or(record.elapsed_s) -
                                       trial->started_s.value_or(0))),
          fmt::format("{} on {}", trial->worker, trial->host)}});
  return "\n" + wrapped(text, width) + text_of(table, width);
}

/// The round's remaining time, or, if no round has ended yet, its limit.
std::string time_left(const Json& live, double elapsed_s) {
  if (const auto left = number_at(live, "left_s")) return ", " + launch::about_left(*left);
  const auto experiment = number_at(object_at(live, "automl"), "max_duration_s");
  const auto done = number_at(object_at(live, "automl"), "elapsed_s");
  if (experiment && done && *experiment > *done)
    return ", " + launch::about_left(*experiment - *done);
  const auto limit = number_at(live, "limit_s");
  if (!limit || *limit <= elapsed_s) return "";
  return fmt::format(", at most {} longer (limits.time)",
                     format_duration(from_seconds(std::floor(*limit - elapsed_s))));
}

std::string render(const Json& live, View& view) {
  const double age =
      static_cast<double>(wall_now_ns() - live.value("wall_ns", std::int64_t{0})) * 1e-9;
  std::string text = fmt::format(
      "{}  {}  round {}/{}  ({} of {} rounds done)  {} of {} ranks ended  {:.0f} s ago\n",
      live.value("run", ""), lang::name(live.value("case", "")), live.value("round", 0),
      live.value("repeats", 0), live.value("rounds_done", 0), live.value("rounds_total", 0),
      live.value("ended", 0), live.value("ranks", 0), std::max(age, 0.0));
  if (const auto elapsed = number_at(live, "elapsed_s")) {
    const double now = std::floor(*elapsed + std::max(age, 0.0));
    text += "running for " + format_duration(from_seconds(now));
    text += time_left(live, now);
  }
  // A job of a service; its own words are not Assay's.
  if (const std::string state = text_at(live, "state"); !state.empty())
    text += "\n" + lang::name(printable(ellipsize(state, 200)));
  text += "\n\n";
  text = wrapped(lang::tr_lines(text), view.width);
  page::Table table{{number_column("NODE", 5, 3), host_column(), number_column("RANKS", 9, 2),
                     number_column("STEP", 9, 5), number_column("STEPS/S", 8, 1),
                     number_column("LOSS", 9, 6), number_column("CPU", 6, 8),
                     number_column("DEV", 6, 7), number_column("MEMORY", 10, 9),
                     number_column("POWER W", 8, 10), remark_column()}};
  const Json nodes = live.value("nodes", Json::array());
  // In addition to the above, the headings and the line that mentions more.
  const auto above = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 2;
  const std::size_t room = view.height > above ? view.height - above : 1;
  const std::size_t shown = std::min({nodes.size(), kNodesShown, room});
  view.from = std::min(view.from, nodes.size() - shown);
  for (std::size_t i = view.from; i < view.from + shown; ++i)
    table.rows.push_back(node_row(nodes[i]));
  text += text_of(table, view.width);
  if (const std::size_t more = nodes.size() - view.from - shown; more > 0)
    text += page::cut_to(fmt::format("  … {} more nodes", more), view.width) + "\n";
  return text;
}

// The reason why a detached run's job has not begun.
std::string waiting_for(const store::RunDir& run) {
  const std::string job = batch_job_of(run);
  return job.empty() ? "" : launch::batch_waits_for(job);
}

/// The current content of top; empty if the run is not running.
std::string frame_of(const store::RunDir& run, View& view) {
  const bool running = store::RunLock::held(run.path());
  const Json live = parse_json_or_null(read_regular_file_or_empty(run.live_file()));
  if (!running) {
    const std::string why = waiting_for(run);
    return why.empty() ? "" : why + "\n";
  }
  if (!live.is_object()) return lang::tr_lines(fmt::format("{} is starting\n", run.plan().run_id));
  std::string text = render(live, view);
  if (live.contains("automl")) text += render_trials(run, live, view.width);
  return text;
}

/// Draws over the previous content without flicker, as far as the screen goes. The last line is
/// `foot`.
void draw(const std::string& frame, const std::string& foot, const View& view) {
  std::vector<std::string_view> lines = lines_of(frame);
  if (lines.size() > view.height) lines.resize(view.height);
  std::string out = "\x1b[H";
  for (const std::string_view line : lines) out += page::cut_to(line, view.width) + "\x1b[K\n";
  say(out + "\x1b[J" + page::cut_to(foot, view.width));
}

int top_once(const store::RunDir& run) {
  View view;
  const std::string text = frame_of(run, view);
  if (text.empty())
    tell(fmt::format("{} is not running\n", run.plan().run_id));
  else
    say(text);
  return 0;
}

// Prints consecutive lines if stdout is not a terminal.
int top_as_text(const store::RunDir& run) {
  View view;
  for (bool first = true;; first = false) {
    const std::string text = frame_of(run, view);
    if (text.empty()) {
      if (first) tell(fmt::format("{} is not running\n", run.plan().run_id));
      return 0;
    }
    say(text);
    ::poll(nullptr, 0, 1000);
  }
}

int top_on_screen(const store::RunDir& run) {
  const KeyInput keys;
  bool help = false;
  View view;
  say("\x1b[2J");
  while (true) {
    view.width = terminal_width(100);
    view.height = std::max<std::size_t>(2, terminal_height(24)) - 1;
    const std::string text = frame_of(run, view);
    if (text.empty()) {
      tell(fmt::format("\n{} is not running\n", run.plan().run_id));
      return 0;
    }
    draw(text,
         !keys.on() ? ""
                    : lang::tr(help ? "q quit, j k or arrows: nodes, g: from the first, "
                                      "space or r: now, h: less"
                                    : "q quit, h help"),
         view);
    switch (keys.next(std::chrono::seconds(1))) {
      case Key::quit:
      case Key::closed:
        say("\n");
        return 0;
      case Key::up:
        view.from -= std::min<std::size_t>(view.from, 1);
        break;
      case Key::down:
        ++view.from;
        break;
      case Key::page_up:
        view.from -= std::min(view.from, kNodesShown);
        break;
      case Key::page_down:
        view.from += kNodesShown;
        break;
      case Key::home:
        view.from = 0;
        break;
      case Key::help:
        help = !help;
        break;
      case Key::refresh:
      case Key::resized:
      case Key::none:
        break;
    }
  }
}

int top(const std::string& path, bool once) {
  const store::RunDir run = store::RunDir::open(path);
  if (once) return top_once(run);
  return terminal().interactive ? top_on_screen(run) : top_as_text(run);
}

// Runs until somebody ends it: a finished run's pages stay too.
int top_in_browser(const std::string& path, const std::string& port) {
  const Extras& extras = extras_for("--web");
  const store::RunDir run = store::RunDir::open(path);
  const auto web = extras.show_run(run.path(), web_port(port));
  fmt::print("{}\n", web->address());
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
      return !web->empty() ? top_in_browser(*run, *web) : top(*run, *once);
    };
  });
}

}  // namespace assay::commands
