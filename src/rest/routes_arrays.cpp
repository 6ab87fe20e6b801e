#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/time.h"
#include "jobs/job_array.h"
#include "rest/call.h"

namespace assay::rest {

using jobs::Deed;
using jobs::EventKind;

namespace {

// Every change of a job is on the disk before the next one: thousands of them take a while, for
// which nobody waits in one request.
constexpr Nanoseconds kAtOnce = std::chrono::seconds(1);

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

template <EventKind kind>
serve::HttpResponse ask_array(Call& call) {
  const std::vector<jobs::ArrayElement> elements = asked_elements(call, kind);
  const jobs::JobId from = call.asked_number("from", 0, 0, std::int64_t{1} << 53);
  auto at = elements.begin();
  if (from != 0)
    at = std::ranges::find_if(elements, [&](const jobs::ArrayElement& one) {
      return kind == EventKind::resume_asked ? one.id >= from : one.id <= from;
    });
  std::int64_t changed = 0;
  std::int64_t refused = 0;
  std::string words;
  const std::int64_t until_ns = mono_now_ns() + kAtOnce.count();
  for (; at != elements.end() && (changed + refused == 0 || mono_now_ns() < until_ns); ++at) {
    try {
      (void)call.context.platform.ask(at->id, kind, call.caller().name);
      ++changed;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      if (++refused == 1) words = error.message();
    }
  }
  return json_answer({{"changed", changed},
                      {"refused", refused},
                      {"words", words},
                      {"next", at == elements.end() ? Json() : Json(at->id)}});
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
      about_array("/api/v1/jobs/{id}/array/pause", ask_array<EventKind::pause_asked>,
                  "Pause the array that a job is an element of, or some of its elements"),
      about_array("/api/v1/jobs/{id}/array/resume", ask_array<EventKind::resume_asked>,
                  "Resume paused elements of the array that a job is an element of"),
      about_array("/api/v1/jobs/{id}/array/kill", ask_array<EventKind::kill_asked>,
                  "Stop the array that a job is an element of, or some of its elements, for good"),
  };
}

}  // namespace assay::rest
