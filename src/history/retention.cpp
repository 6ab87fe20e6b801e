#include "history/retention.h"

#include <algorithm>

namespace assay::history {

std::vector<FoundRun> runs_to_remove(const std::vector<FoundRun>& runs,
                                     const Retention& retention) {
  if (!retention.given()) return {};
  std::vector<FoundRun> sorted = runs;
  std::ranges::stable_sort(sorted, {}, &FoundRun::started_ms);
  const std::size_t newest = std::min(retention.keep_last.value_or(0), sorted.size());
  sorted.resize(sorted.size() - newest);
  std::erase_if(sorted, [&](const FoundRun& run) {
    const bool tag_kept = std::ranges::any_of(retention.keep_tags, [&](const std::string& tag) {
      return std::ranges::find(run.tags, tag) != run.tags.end();
    });
    const bool too_new = retention.older_than_ms &&
                         (run.started_ms == 0 || run.started_ms >= *retention.older_than_ms);
    return run.state == RunState::running || tag_kept || too_new ||
           (retention.keep_tagged && !run.tags.empty());
  });
  return sorted;
}

}  // namespace assay::history
