#include "judge/contradiction.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace assay::judge {

Lifetime lifetime(double seconds, double slack_s, std::string words) {
  return {seconds, seconds * (1 + kSpanSlackShare) + slack_s, std::move(words)};
}

std::string rank_and_line(const RankEvidence& rank, const LoggedEvent& event) {
  const std::string host = rank.host.empty() ? "" : " on " + rank.host;
  return fmt::format("rank {}{}: {} in line {} of {}", rank.rank, host,
                     event.name.empty() ? "an event" : printable(event.name), event.line,
                     rank.log_path);
}

Contradiction check_said_times(const RankEvidence& rank, const Lifetime& life) {
  Contradiction worst;
  const SaidValue& longest = rank.log.audit.longest_said;
  if (longest.number > life.allowed)
    worst.offer(longest.number - life.seconds,
                fmt::format("{} says {} {} s, but {}", rank_and_line(rank, longest.event),
                            longest.key, longest.shown, life.words));
  if (!rank.log.finished) return worst;
  const perflog::FinishedSummary& finished = *rank.log.finished;
  const std::pair<const char*, std::optional<double>> times[] = {
      {"e2e_time", finished.e2e_time_s},
      {"init_time", finished.init_time_s},
      {"train_time", finished.train_time_s},
      {"train_no_eval_time", finished.train_no_eval_time_s},
      {"pure_compute_time", finished.pure_compute_time_s}};
  for (const auto& [name, seconds] : times)
    if (seconds && (*seconds > life.allowed || *seconds < 0))
      worst.offer(*seconds < 0 ? -*seconds : *seconds - life.seconds,
                  fmt::format("FINISHED in {} says {} {} s, but {}", rank.log_path, name,
                              format_number(*seconds), life.words));
  return worst;
}

std::string and_more(std::string detail, std::size_t others) {
  if (others > 0)
    detail += fmt::format("; {} more {} the same", others, others == 1 ? "rank does" : "ranks do");
  return detail;
}

}  // namespace assay::judge
