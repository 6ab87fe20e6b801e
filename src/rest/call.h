#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounts/accounts.h"
#include "code/code_store.h"
#include "door/door.h"
#include "http/url.h"
#include "live/live_run.h"
#include "oidc/provider.h"
#include "page/asset.h"
#include "platform/platform.h"
#include "platform/schedules.h"
#include "rest/cluster_readings.h"
#include "rest/event_hub.h"
#include "rest/follower.h"
#include "rest/open_judgements.h"
#include "rest/open_streams.h"
#include "rest/route.h"
#include "rest/server_metrics.h"
#include "rest/sign_in_limits.h"
#include "serve/rate_limit.h"
#include "serve/refusal.h"

namespace assay::rest {

/// Who asks.
struct Caller {
  std::string name{};
  jobs::Role role = jobs::Role::viewer;
  std::vector<std::string> teams{};
  std::string session{};  ///< its secret; empty: a token
  accounts::Credential by{};
  std::string csrf{};
  jobs::WallTime expires_ns = 0;  ///< of the session or token; 0: never

  [[nodiscard]] bool is_in(const std::string& team) const;
  [[nodiscard]] bool may(jobs::Deed deed, jobs::Whose whose) const {
    return jobs::may(role, deed, whose);
  }
};

/// Runs that were pushed to the tester beside, and accepted. Everybody who is signed in sees them,
/// as on the tester's pages.
struct PushedRuns {
  /// The newest first: id, name, suite, verdict, finished, machine.
  std::function<Json(std::int64_t most)> list{};
  /// The result.json that the tester has computed; nothing: there is no such test, or it was not
  /// accepted.
  std::function<std::optional<std::string>(const std::string& id)> result{};
};

/// What handlers work with. Thread-safe, all of it.
struct Context {
  accounts::Accounts& accounts;
  platform::Platform& platform;
  EventHub& events;
  OpenStreams& streams;  ///< all of them, and what each was let in by
  Follower& follower;    ///< for streams of logs and metrics
  ServerMetrics& metrics;
  code::CodeStore& code;  ///< folders that people have sent
  platform::Schedules& schedules;
  bool tls = false;
  /// Host names under which the server is asked, without port; empty: any.
  std::vector<std::string> hosts{};
  std::vector<page::Asset> pages{};    ///< index.html and what it needs
  door::Door* door = nullptr;          ///< into jobs that run; none: nobody can enter
  oidc::Provider* provider = nullptr;  ///< of sign-ins; none: by name and password alone
  PushedRuns pushed{};                 ///< what the tester has accepted; none: there is no tester
  live::LiveRuns runs{};               ///< whose consoles and metrics are looked at
  OpenJudgements judgements{};         ///< of runs that go on
  ClusterReadings readings{};          ///< of the devices of jobs that run
  std::mutex settings{};               ///< over reading and changing the platform's settings
  SignInLimits sign_ins{};
  serve::RateLimiter by_user{500, 1000};
};

/// A request on its way through a handler. Handlers throw serve::Refusal, or Error: of kind usage
/// and config it becomes 400, platform::Refused 422.
struct Call {
  Context& context;
  const serve::HttpRequest& request;
  const Route& route;
  std::optional<Caller> who{};  ///< there, unless the route is for anyone
  http::Query query{};
  std::optional<platform::JobView> job{};  ///< of a route about a job
  Json body{};                             ///< of a route with a JSON body
  jobs::WallTime now_ns = 0;
  std::string did{};    ///< for the audit log: what else is to be said of what was done, "job 7"
  std::string noted{};  ///< for the audit log, where there is no caller: who it says it is

  [[nodiscard]] const Caller& caller() const { return *who; }
  [[nodiscard]] const std::string& parameter(std::size_t i) const {
    return request.parameters.at(i);
  }
  /// Of the query; empty where it is missing.
  [[nodiscard]] std::string asked(std::string_view name) const;
  /// Throws Refusal 400 for what is no number within the range.
  [[nodiscard]] std::int64_t asked_number(std::string_view name, std::int64_t otherwise,
                                          std::int64_t least, std::int64_t most) const;
  /// "2026-11-16T16:10:00Z"; throws Refusal 400.
  [[nodiscard]] jobs::WallTime asked_time(std::string_view name, jobs::WallTime otherwise) const;
  [[nodiscard]] jobs::JobId job_id() const { return job->job.id; }
};

[[nodiscard]] serve::HttpResponse json_answer(const Json& json, int status = 200);
/// Null for 0.
[[nodiscard]] Json time_json(jobs::WallTime at_ns);
[[nodiscard]] std::optional<jobs::WallTime> parse_time(const std::string& text);

[[nodiscard]] serve::Refusal not_found(std::string words);
[[nodiscard]] serve::Refusal forbidden(const std::string& what);

/// What a PUT is about is named by its address. A body that names another thing means something
/// else than what would be done: throws Refusal 400.
void check_same_name(const Call& call);

/// Whose something is, seen from the caller.
[[nodiscard]] jobs::Whose whose(const Caller& caller, const std::string& owner,
                                const std::string& team);
/// The same of a job: whom it is shared with counts as one of the team.
[[nodiscard]] jobs::Whose whose(accounts::Accounts& accounts, const Caller& caller,
                                const jobs::Job& job);
[[nodiscard]] jobs::Whose whose(const Call& call, const jobs::Job& job);

/// The job, when the caller may read it; else throws Refusal 404.
[[nodiscard]] platform::JobView readable_job(Call& call, const std::string& id);

/// Answers with a stream of server-sent events. It goes on as long as what let the caller in is
/// good, they are who they were (role, teams), and may still do with the job, where it is about
/// one, what the route is for. Throws Refusal 429 where the caller has too many.
[[nodiscard]] serve::HttpResponse event_stream(
    Call& call, std::function<void(const std::shared_ptr<serve::HttpStream>&)> begin);
/// "event: NAME\ndata: …\n\n" of JSON in one line.
[[nodiscard]] std::string server_sent_text(std::string_view event, std::string_view json,
                                           std::string_view id = {});
/// "event: NAME\nid: N\ndata: …\n\n".
[[nodiscard]] std::string server_sent(std::string_view event, const Json& data,
                                      std::string_view id = {});

}  // namespace assay::rest
