#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"
#include "jobs/job_array.h"
#include "rest/call.h"

namespace assay::rest {

using jobs::Deed;
using jobs::EventKind;
using jobs::Whose;

namespace {

// Every change of a job is on the disk before the next one: thousands of them take a while, for
// which nobody waits in one request.
constexpr Nanoseconds kAtOnce = std::chrono::seconds(1);
constexpr std::size_t kMaxNamed = 1U << 20;  // bytes of numbers

std::vector<int> asked_indices(const Call& call) {
  const std::string text = call.asked("indices");
  if (text.empty()) return {};
  const auto range = jobs::parse_array(text);
  if (!range || range->limit != 0)
    throw serve::Refusal(400, "bad_parameter", "'indices' does not name elements of an array",
                         "such as 0-4,7");
  return range->indices;
}

// What waits is stopped before what runs, so that nothing begins in place of what has ended.
std::vector<jobs::ArrayElement> asked_elements(Call& call, EventKind kind) {
  const jobs::JobId array = call.job->job.array;
  if (array == 0)
    throw serve::Refusal(409, "no_array", fmt::format("job {} is not of an array", call.job_id()));
  const std::vector<int> indices = asked_indices(call);
  std::vector<jobs::ArrayElement> elements = call.context.platform.elements(array);
  if (!indices.empty()) {
    std::erase_if(elements, [&](const jobs::ArrayElement& one) {
      return !std::ranges::binary_search(indices, one.index);
    });
    if (elements.empty())
      throw serve::Refusal(409, "does_not_fit", "the array has no such elements");
  }
  if (kind != EventKind::resume_asked) std::ranges::reverse(elements);
  return elements;
}

// What has become of those that were asked; `next`: the first that was not (0: none).
Json outcome_of(const std::vector<platform::Platform::Asked::One>& all, jobs::JobId next) {
  constexpr std::size_t kFailures = 1000;
  Json changed = Json::array();
  Json failed = Json::array();
  std::int64_t refused = 0;
  for (const auto& one : all) {
    if (one.taken) {
      changed.push_back({{"id", one.id}, {"state", to_text(one.state)}});
    } else if (++refused; failed.size() < kFailures) {
      failed.push_back({{"id", one.id}, {"words", one.words}});
    }
  }
  return {{"changed", changed.size()},
          {"refused", refused},
          {"words", failed.empty() ? Json("") : failed.front()["words"]},
          {"next", next == 0 ? Json() : Json(next)},
          {"jobs", std::move(changed)},
          {"failed", std::move(failed)}};
}

// From where the answer before has ended.
template <EventKind kind>
void skip_done(Call& call, std::vector<jobs::JobId>& ids) {
  const jobs::JobId from = call.asked_number("from", 0, 0, std::int64_t{1} << 53);
  if (from == 0) return;
  ids.erase(ids.begin(), std::ranges::find_if(ids, [&](jobs::JobId id) {
              return kind == EventKind::resume_asked ? id >= from : id <= from;
            }));
}

template <EventKind kind>
serve::HttpResponse ask_array(Call& call) {
  std::vector<jobs::JobId> ids;
  for (const jobs::ArrayElement& element : asked_elements(call, kind)) ids.push_back(element.id);
  skip_done<kind>(call, ids);
  const auto asked = call.context.platform.ask_all(ids, kind, call.caller().name, kAtOnce);
  const std::size_t done = asked.all.size();
  Json out = outcome_of(asked.all, done < ids.size() ? ids[done] : 0);
  for (const char* of_many : {"jobs", "failed"}) out.erase(of_many);
  return json_answer(out);
}

// Why the caller may not; empty: they may.
std::string obstacle(Call& call, jobs::JobId id,
                     const std::map<jobs::JobId, jobs::JobOwner>& owners) {
  const auto found = owners.find(id);
  const std::string none = fmt::format("there is no job {}", id);
  if (found == owners.end()) return none;
  const Whose of = whose(call.caller(), found->second.owner, found->second.team);
  if (call.caller().may(Deed::stop_job, of)) return {};
  return call.caller().may(Deed::read_job, of) ? fmt::format("you may not stop job {}", id) : none;
}

// As with arrays: what waits is stopped before what runs, the latest first.
template <EventKind kind>
serve::HttpResponse ask_many(Call& call) {
  constexpr std::size_t kSome = 1000;
  const std::string named = serve::text_field(call.body, "jobs", kMaxNamed);
  auto ids = jobs::parse_job_numbers(named);
  if (!ids)
    throw serve::Refusal(
        400, "bad_field",
        fmt::format("'jobs' must name at most {} jobs by their numbers", jobs::kMaxNumbers),
        "such as 17 or 3,17-26");
  if (kind != EventKind::resume_asked) std::ranges::reverse(*ids);
  skip_done<kind>(call, *ids);
  const std::int64_t until_ns = mono_now_ns() + kAtOnce.count();
  std::vector<platform::Platform::Asked::One> all;
  std::size_t at = 0;
  while (at < ids->size() && (at == 0 || mono_now_ns() < until_ns)) {
    const std::size_t end = std::min(at + kSome, ids->size());
    const std::vector<jobs::JobId> some(ids->begin() + static_cast<std::ptrdiff_t>(at),
                                        ids->begin() + static_cast<std::ptrdiff_t>(end));
    const auto owners = call.context.platform.owners(some);
    std::vector<jobs::JobId> allowed;
    for (const jobs::JobId id : some) {
      if (std::string why = obstacle(call, id, owners); why.empty())
        allowed.push_back(id);
      else
        all.push_back({.id = id, .words = std::move(why)});
    }
    const auto asked = call.context.platform.ask_all(allowed, kind, call.caller().name, kAtOnce);
    std::ranges::copy(asked.all, std::back_inserter(all));
    if (asked.all.size() < allowed.size()) {
      // Those behind it that the caller may not touch are said again by the next answer.
      const jobs::JobId next = allowed[asked.all.size()];
      std::erase_if(all, [&](const auto& one) {
        return !one.taken && (kind == EventKind::resume_asked ? one.id >= next : one.id <= next);
      });
      at = static_cast<std::size_t>(std::ranges::find(*ids, next) - ids->begin());
      break;
    }
    at = end;
  }
  call.did = "jobs " + ellipsize(printable(named), 200);
  return json_answer(outcome_of(all, at < ids->size() ? (*ids)[at] : 0));
}

Route about_many(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary) {
  return {.method = "POST",
          .path = path,
          .handler = handler,
          .deed = Deed::stop_job,
          .of = Of::self,
          .summary = summary,
          .answer = "ManyChange",
          .request = "JobNumbers",
          .body = Body::json,
          .max_body = 2 * kMaxNamed,
          .query = {{"from", "integer", "where to go on: 'next' of the answer before"}}};
}

Route about_array(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary) {
  return {.method = "POST",
          .path = path,
          .handler = handler,
          .deed = Deed::stop_job,
          .of = Of::job,
          .summary = summary,
          .answer = "ArrayChange",
          .query = {{"indices", "string", "elements, such as 0-4,7; all by default"},
                    {"from", "integer", "where to go on: 'next' of the answer before"}}};
}

}  // namespace

std::vector<Route> array_routes() {
  return {
      about_many("/api/v1/jobs/pause", ask_many<EventKind::pause_asked>, "Pause jobs"),
      about_many("/api/v1/jobs/resume", ask_many<EventKind::resume_asked>, "Resume paused jobs"),
      about_many("/api/v1/jobs/kill", ask_many<EventKind::kill_asked>, "Stop jobs for good"),
      about_array("/api/v1/jobs/{id}/array/pause", ask_array<EventKind::pause_asked>,
                  "Pause the array that a job is an element of, or some of its elements"),
      about_array("/api/v1/jobs/{id}/array/resume", ask_array<EventKind::resume_asked>,
                  "Resume paused elements of the array that a job is an element of"),
      about_array("/api/v1/jobs/{id}/array/kill", ask_array<EventKind::kill_asked>,
                  "Stop the array that a job is an element of, or some of its elements, for good"),
  };
}

}  // namespace assay::rest
