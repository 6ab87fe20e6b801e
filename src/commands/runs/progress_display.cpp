#include "commands/runs/progress_display.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "lang/language.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

constexpr std::int64_t kRedrawEvery = 200'000'000;
constexpr std::int64_t kLineEvery = 10'000'000'000;
constexpr int kBarWidth = 20;

std::string describe(const launch::RoundProgress& progress) {
  std::string text;
  if (progress.started < progress.ranks)
    text = fmt::format("{}/{} ranks started", progress.started, progress.ranks);
  else
    text = counted(progress.ranks, "rank");
  if (progress.ended > 0) text += fmt::format(", {} ended", progress.ended);
  if (progress.automl.is_object()) {
    const Json& a = progress.automl;
    text += fmt::format(", {} done, {} running, best {:.1f} %, {} of {}",
                        counted(a.value("ok", 0), "trial"), a.value("running", 0),
                        100 * a.value("best", 0.0),
                        format_duration(from_seconds(a.value("elapsed_s", 0.0))),
                        format_duration(from_seconds(a.value("max_duration_s", 0.0))));
    return text;
  }
  std::int64_t step = -1;
  double cpu = 0;
  double power = 0;
  int cpu_nodes = 0;
  std::optional<double> loss;
  for (const auto& [node, beat] : progress.heartbeats) {
    step = std::max(step, beat.step_max.value_or(-1));
    if (!loss) loss = beat.loss;
    if (beat.cpu_util) ++cpu_nodes;
    cpu += beat.cpu_util.value_or(0);
    power += beat.power_w.value_or(0);
  }
  if (step >= 0) text += fmt::format(", step {}", step);
  if (loss) text += fmt::format(", loss {}", format_number(*loss));
  if (cpu_nodes > 0) text += fmt::format(", cpu {:.0f} %", 100 * cpu / cpu_nodes);
  if (power > 0) text += fmt::format(", {:.0f} W", power);
  return text;
}

}  // namespace

Progress::Progress(Terminal terminal) : terminal_(terminal) {}

Progress::~Progress() {
  say(erase());
}

std::string Progress::bar() const {
  const int filled = total_ == 0 ? 0 : kBarWidth * done_ / total_;
  std::string text = "[";
  for (int i = 0; i < kBarWidth; ++i)
    text += i < filled ? (terminal_.unicode ? "█" : "#") : (terminal_.unicode ? "·" : ".");
  return text + fmt::format("] {}/{}", done_, total_);
}

std::string Progress::left() const {
  const auto left =
      time_left_.seconds(static_cast<double>(mono_now_ns() - round_started_ns_) / 1e9);
  return left ? "  " + launch::about_left(*left) : std::string();
}

std::string Progress::erase() {
  terminal_.width = std::max<std::size_t>(terminal_width(terminal_.width), 2);
  if (drawn_columns_ == 0) return {};
  // A narrowed window shows the line on several rows.
  const std::size_t rows_above = (drawn_columns_ - 1) / terminal_.width;
  drawn_columns_ = 0;
  return rows_above == 0 ? "\r\x1b[K" : fmt::format("\r\x1b[{}A\x1b[J", rows_above);
}

void Progress::line(const std::string& text) {
  say(erase() + lang::tr_lines(text) + "\n");
}

void Progress::redraw(const std::string& text) {
  const std::string before = erase();
  const std::string shown = page::cut_to(lang::tr_lines(text), terminal_.width - 1);
  say((before.empty() ? "\r\x1b[K" : before) + shown);
  drawn_columns_ = std::max<std::size_t>(page::columns_of(shown), 1);
}

void Progress::waiting(const std::string& what_for) {
  if (terminal_.interactive)
    redraw("waiting: " + what_for);
  else if (what_for != waiting_for_)
    line("waiting: " + what_for);
  waiting_for_ = what_for;
}

void Progress::round_started(const plan::CasePlan& plan_case, int round, int done, int total) {
  done_ = done;
  total_ = total;
  round_started_ns_ = mono_now_ns();
  shown_ns_ = round_started_ns_;
  time_left_.round_started(plan_case.name, round, plan_case.rounds(), done, total);
  const std::string text =
      fmt::format("{}  {}", lang::name(plan_case.name), plan_case.round_text(round));
  if (terminal_.interactive)
    redraw(fmt::format("{}{}  {}  starting", bar(), left(), text));
  else
    line(fmt::format("[{}/{}] {}  starting {}", done + 1, total, text,
                     counted(plan_case.world_size(), "rank")));
}

void Progress::round_progress(const plan::CasePlan& plan_case, int round,
                              const launch::RoundProgress& progress) {
  const std::int64_t now_ns = mono_now_ns();
  if (now_ns - shown_ns_ < (terminal_.interactive ? kRedrawEvery : kLineEvery)) return;
  shown_ns_ = now_ns;
  const std::string text =
      fmt::format("{}  {}  {}  {}", lang::name(plan_case.name), plan_case.round_text(round),
                  format_duration(Nanoseconds(now_ns - round_started_ns_)), describe(progress));
  if (terminal_.interactive)
    redraw(fmt::format("{}{}  {}", bar(), left(), text));
  else
    line(fmt::format("[{}/{}] {}{}", done_ + 1, total_, text, left()));
}

void Progress::round_ended(const plan::CasePlan& plan_case, int round,
                           const launch::RoundOutcome& outcome) {
  ++done_;
  const Nanoseconds took(mono_now_ns() - round_started_ns_);
  time_left_.round_ended(seconds(took));
  line(fmt::format("[{}/{}] {}  {}  {} in {}{}{}", done_, total_, lang::name(plan_case.name),
                   plan_case.round_text(round), to_text(outcome.status), format_duration(took),
                   outcome.reason.empty() ? "" : ": " + printable(outcome.reason), left()));
}

void Progress::warning(const std::string& text) {
  line("warning: " + printable(text));
}

void Progress::remark(const std::string& text) {
  line(printable(text));
}

void Progress::stopping(int signals) {
  line(signals == 1 ? "stopping: the ranks get SIGTERM and their grace; press Ctrl-C again to kill "
                      "them at once"
                    : "killing the ranks");
}

}  // namespace assay::commands
