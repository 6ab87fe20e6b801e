#include <algorithm>

#include <fmt/format.h>

#include "compare/render.h"
#include "compare/side.h"
#include "core/error.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "lang/language.h"
#include "page/bilingual.h"
#include "report/read_result.h"
#include "rest/call.h"

namespace assay::rest {

using jobs::Deed;

namespace {

constexpr std::uintmax_t kMaxResult = std::uintmax_t{64} << 20;
constexpr std::size_t kMaxSides = 8;

int asked_attempt(const Call& call) {
  return static_cast<int>(call.asked_number("attempt", 0, 0, 1'000'000));
}

serve::Refusal no_result(const jobs::Job& job, std::string_view name) {
  if (!jobs::is_final(job.life.state))
    return {404, "no_result", fmt::format("job {} has no {} yet", job.id, name),
            "it is there when the run has been judged"};
  return {404, "no_result",
          fmt::format("job {} has no {}: it is {}", job.id, name, to_text(job.life.state)),
          "it ended before its run could be judged; its events say why"};
}

std::string file_of_run(Call& call, const jobs::Job& job, int attempt, std::string_view name) {
  const std::filesystem::path run = call.context.platform.run_of(job.id, attempt);
  std::error_code ec;
  if (!run.empty() && std::filesystem::file_size(run / name, ec) > kMaxResult && !ec)
    throw serve::Refusal(413, "too_large", fmt::format("{} is too large to be shown", name));
  std::string text = run.empty() ? std::string() : read_regular_file_or_empty(run / name);
  if (text.empty()) throw no_result(job, name);
  return text;
}

serve::HttpResponse result(Call& call) {
  serve::HttpResponse response;
  response.body = file_of_run(call, call.job->job, asked_attempt(call), layout::kResult);
  return response;
}

// Of a run that goes on it is what the evidence that is there says.
serve::HttpResponse judgement(Call& call) {
  const std::filesystem::path run =
      call.context.platform.run_of(call.job_id(), asked_attempt(call));
  std::error_code ec;
  if (run.empty() || jobs::is_final(call.job->job.life.state) ||
      std::filesystem::exists(run / layout::kResult, ec))
    return result(call);
  serve::HttpResponse response;
  response.body = *call.context.judgements.of(run);
  return response;
}

// The report is what a run made: it may script itself, but is no page of this server.
serve::HttpResponse report(Call& call) {
  serve::HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.body = file_of_run(call, call.job->job, asked_attempt(call), layout::kReportHtml);
  response.headers.emplace_back(
      "Content-Security-Policy",
      "sandbox allow-scripts allow-popups; default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'");
  return response;
}

struct Compared {
  compare::Side base{};
  std::vector<compare::Side> others{};
  compare::Comparisons found{};
};

std::string pushed_result(Call& call, const std::string& id) {
  auto text = call.context.pushed.result ? call.context.pushed.result(id) : std::nullopt;
  if (!text) throw not_found(fmt::format("there is no accepted test '{}'", ellipsize(id, 64)));
  return std::move(*text);
}

compare::Side side_of(const std::string& text, const std::string& where, const std::string& name) {
  compare::Side side;
  side.name = name;
  side.runs.push_back(report::read_result(parse_json(text, where), where));
  return side;
}

// "12" and "job:12" are a job, "test:20261115-ab3dE9" is a run that was pushed.
compare::Side asked_side(Call& call, std::string_view word) {
  constexpr std::string_view kJob = "job:";
  constexpr std::string_view kTest = "test:";
  if (word.starts_with(kTest)) {
    const std::string id(word.substr(kTest.size()));
    const std::string text = pushed_result(call, id);
    const std::string where = fmt::format("test {}", id);
    return side_of(text, where, where);
  }
  if (word.starts_with(kJob)) word.remove_prefix(kJob.size());
  const platform::JobView view = readable_job(call, std::string(word));
  const std::string where = fmt::format("job {}", view.job.id);
  return side_of(file_of_run(call, view.job, 0, layout::kResult), where,
                 fmt::format("{} ({})", where, view.job.submission.name));
}

Compared compared(Call& call) {
  const std::string asked = call.asked("ids");
  const std::vector<std::string_view> ids = split(asked, ',');
  if (ids.size() < 2 || ids.size() > kMaxSides)
    throw serve::Refusal(400, "bad_parameter",
                         fmt::format("'ids' must name 2 to {} jobs or tests", kMaxSides),
                         "such as ids=1,2 or ids=1,test:20261115-ab3dE9");
  std::vector<compare::Side> sides;
  for (const std::string_view id : ids) sides.push_back(asked_side(call, trim(id)));
  // Of several large results at a time there is one set in memory.
  static std::mutex comparing;
  const std::scoped_lock lock(comparing);
  Compared out{.base = std::move(sides.front())};
  out.others.assign(std::make_move_iterator(sides.begin() + 1),
                    std::make_move_iterator(sides.end()));
  out.found = compare::compare_sides(out.base, out.others, {});
  return out;
}

serve::HttpResponse pushed_runs(Call& call) {
  const auto most = call.asked_number("limit", 100, 1, 1000);
  return json_answer(
      {{"tests", call.context.pushed.list ? call.context.pushed.list(most) : Json::array()}});
}

serve::HttpResponse result_of_pushed(Call& call) {
  serve::HttpResponse response;
  response.body = pushed_result(call, call.parameter(0));
  return response;
}

serve::HttpResponse compare_jobs(Call& call) {
  return json_answer(compare::to_json(compared(call).found));
}

serve::HttpResponse compare_page(Call& call) {
  const Compared both = compared(call);
  serve::HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.body = page::bilingual(compare::render_html(both.found, both.base, both.others),
                                  lang::Language::english);
  response.headers.emplace_back(
      "Content-Security-Policy",
      "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'; img-src data:; frame-ancestors 'self'");
  return response;
}

Route of_run(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary,
             const char* answer) {
  return {.method = "GET",
          .path = path,
          .handler = handler,
          .deed = Deed::read_job,
          .of = Of::job,
          .summary = summary,
          .answer = answer,
          .query = {{"attempt", "integer", "the last one by default"}}};
}

Route of_jobs(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary,
              const char* answer) {
  return {.method = "GET",
          .path = path,
          .handler = handler,
          .deed = Deed::read_job,
          .of = Of::self,
          .summary = summary,
          .answer = answer,
          .query = {
              {"ids", "string",
               "two to eight jobs and pushed runs (12, job:12, test:ID), the first is the base"}}};
}

}  // namespace

std::vector<Route> result_routes() {
  return {of_jobs("/api/v1/jobs/compare", compare_jobs, "Jobs and pushed runs side by side", "Any"),
          of_jobs("/api/v1/jobs/compare.html", compare_page,
                  "Jobs and pushed runs side by side, as a page", "text/html"),
          {.method = "GET",
           .path = "/api/v1/pushed",
           .handler = pushed_runs,
           .deed = Deed::list_jobs,
           .summary = "Runs that were pushed to the tester and accepted, the newest first",
           .answer = "PushedRuns",
           .query = {{"limit", "integer", "100 by default, 1000 at most"}}},
          {.method = "GET",
           .path = "/api/v1/pushed/{id}/result",
           .handler = result_of_pushed,
           .deed = Deed::list_jobs,
           .summary = "The result that the tester has computed of a pushed run",
           .answer = "Any"},
          of_run("/api/v1/jobs/{id}/judgement", judgement, "What the judge says so far", "Any"),
          of_run("/api/v1/jobs/{id}/result", result, "The result of the run", "Any"),
          of_run("/api/v1/jobs/{id}/report", report, "The report of the run", "text/html")};
}

}  // namespace assay::rest
