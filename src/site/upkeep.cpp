#include "site/upkeep.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "jobs/job_uploads.h"

namespace assay::site {

namespace {

// A renewed certificate is used after twice this time, when its files have settled.
constexpr Nanoseconds kLookAtCertificate = std::chrono::seconds(20);

}  // namespace

void collect_code(PlatformSide& side, const std::filesystem::path& data,
                  const std::function<void(const std::string&)>& say) {
  try {
    std::set<std::string> needed = jobs::uploads_in(data / "jobs.db");
    for (const platform::Schedule& one : side.schedules.of({}))
      if (!one.code.empty()) needed.insert(one.code);
    (void)side.code.collect(needed, wall_now_ns());
  } catch (const std::exception& error) {
    say(fmt::format("warning: uploads are not collected: {}", error.what()));
  }
}

Upkeep::Upkeep(Parts parts, std::chrono::milliseconds every, std::int64_t mono_ns)
    : parts_(std::move(parts)),
      every_ns_(Nanoseconds(every).count()),
      look_ns_(std::min(every_ns_, kLookAtCertificate.count())),
      next_clean_ns_(mono_ns + every_ns_),
      next_look_ns_(mono_ns + look_ns_) {
  if (parts_.platform != nullptr)
    rounds_.emplace(platform::RetentionRounds::Parts{.platform = parts_.platform->platform,
                                                     .every = every,
                                                     .say = parts_.say,
                                                     .ending = parts_.ending});
}

void Upkeep::say_ahead() {
  if (rounds_) rounds_->say_ahead();
  look_at_certificate();
}

std::chrono::nanoseconds Upkeep::rest(std::int64_t mono_ns) const {
  const std::int64_t next =
      parts_.tls != nullptr ? std::min(next_clean_ns_, next_look_ns_) : next_clean_ns_;
  return std::chrono::nanoseconds(std::max<std::int64_t>(next - mono_ns, 0));
}

void Upkeep::work(std::int64_t mono_ns) {
  if (mono_ns >= next_look_ns_) {
    next_look_ns_ = mono_ns + look_ns_;
    look_at_certificate();
  }
  if (mono_ns < next_clean_ns_) return;
  next_clean_ns_ = mono_ns + every_ns_;
  if (rounds_ && !rounds_->remove()) return;  // what else is old is judged by the same clock
  parts_.tester.expire();
  if (parts_.platform != nullptr) collect_code(*parts_.platform, parts_.data, parts_.say);
}

void Upkeep::look_at_certificate() {
  if (parts_.tls == nullptr) return;
  try {
    if (parts_.tls->renew()) parts_.say("note: the renewed certificate is used from now on");
  } catch (const std::exception& error) {
    parts_.say(fmt::format("warning: the certificate is used as it was: {}", error.what()));
  }
  const std::vector<std::string> now = parts_.tls->warnings(wall_now_ns());
  for (const std::string& one : now)
    if (std::ranges::count(said_, one) == 0) parts_.say("warning: " + one);
  said_ = now;
}

}  // namespace assay::site
