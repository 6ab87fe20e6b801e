#include "rest/open_judgements.h"

#include <algorithm>

#include "core/error.h"
#include "core/time.h"
#include "judge/judge.h"
#include "report/json_report.h"
#include "serve/refusal.h"
#include "store/run_dir.h"

namespace assay::rest {

namespace {

constexpr std::int64_t kFresh_ns = 10'000'000'000;
constexpr std::size_t kMostKnown = 16;

bool is_larger_than(const std::filesystem::path& folder, std::uintmax_t most) {
  std::uintmax_t bytes = 0;
  std::error_code ec;
  // Files come and go meanwhile.
  for (auto it = std::filesystem::recursive_directory_iterator(folder, ec);
       !ec && it != std::filesystem::recursive_directory_iterator() && bytes <= most;
       it.increment(ec)) {
    std::error_code gone;
    if (!it->is_regular_file(gone)) continue;
    if (const auto size = it->file_size(gone); !gone) bytes += size;
  }
  return bytes > most;
}

}  // namespace

OpenJudgements::Known OpenJudgements::known(const std::filesystem::path& run) {
  const std::scoped_lock hold(lock_);
  const auto found = std::ranges::find(known_, run, &Known::run);
  return found == known_.end() ? Known{} : *found;
}

std::shared_ptr<const std::string> OpenJudgements::of(const std::filesystem::path& run) {
  const Known before = known(run);
  if (before.text && mono_now_ns() < before.until_ns) return before.text;
  const std::unique_lock judge(judging_, std::try_to_lock);
  if (!judge.owns_lock()) {
    if (before.text) return before.text;
    throw serve::Refusal(503, "busy", "another run is being judged", "ask again in a moment");
  }
  if (is_larger_than(run, most_evidence_))
    throw serve::Refusal(413, "too_large", "the run has too much evidence to be judged meanwhile",
                         "it is judged when it has ended");
  const std::int64_t begin_ns = mono_now_ns();
  std::string text;
  try {
    text = report::render_json(judge::judge_run(store::RunDir::open(run)));
  } catch (const Error&) {
    throw serve::Refusal(404, "no_result", "there is nothing to judge yet",
                         "it is there when the first case has begun");
  }
  const std::int64_t end_ns = mono_now_ns();
  Known fresh{run, std::make_shared<const std::string>(std::move(text)),
              end_ns + std::max(kFresh_ns, 10 * (end_ns - begin_ns))};
  const std::scoped_lock hold(lock_);
  std::erase_if(known_, [&](const Known& one) { return one.run == run; });
  known_.push_front(fresh);
  if (known_.size() > kMostKnown) known_.pop_back();
  return fresh.text;
}

}  // namespace assay::rest
