#include "site/server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>

#include "accounts/accounts.h"
#include "code/code_store.h"
#include "core/address.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "door/door.h"
#include "jobs/job_uploads.h"
#include "oidc/provider.h"
#include "platform/platform.h"
#include "rest/guard.h"
#include "rest/rest.h"
#include "serve/audit.h"
#include "serve/worker_pool.h"
#include "site/copied_folder.h"
#include "site/databases.h"
#include "site/first_start.h"
#include "site/webhooks.h"
#include "tester/admin.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;
using serve::HttpRequest;
using serve::HttpResponse;
using serve::HttpServer;

namespace {

constexpr std::chrono::seconds kMaxShutdown{10};
constexpr std::int64_t kNoticesAtOnce = 100;

std::string url_of(const ServeOptions& options, std::uint16_t port) {
  const bool v6 = options.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options.certificate.empty() ? "http" : "https",
                     v6 ? "[" : "", options.address, v6 ? "]" : "", port);
}

// Signals are blocked before any thread is made, so that all threads inherit it.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// On the loopback address only names of this machine are taken: any other name that leads here is
// somebody's trick on a browser. Elsewhere the operator may say which names there are.
std::vector<std::string> hosts_of(const ServeOptions& options) {
  std::vector<std::string> out;
  for (const std::string& name : options.names) out.push_back(to_lower(name));
  if (!is_loopback(options.address) && out.empty()) return {};
  for (const char* name : {"localhost", "127.0.0.1", "::1"}) out.emplace_back(name);
  out.push_back(to_lower(options.address));
  return out;
}

std::string endpoint_domain_of(const ServeOptions& options) {
  if (!options.endpoint_domain.empty()) return to_lower(options.endpoint_domain);
  return is_loopback(options.address) ? "localhost" : "";
}

// What a job's nodes, or somebody else's server, have to answer: it takes as long as it takes.
bool waits_for_others(const HttpRequest& request) {
  return request.route.find("/endpoints/") != std::string::npos ||
         request.route.ends_with("/enter") || request.route.ends_with("/terminal") ||
         request.route.find("/session/oidc") != std::string::npos;
}

// The tester's part of the server.
struct TesterSide {
  TesterSide(const ServeOptions& options, const fs::path& data, tester::Records& records,
             tester::Uploads& uploads, const tester::Prices& prices, tester::CallAfter call_after)
      : keys(options.keys.empty() ? data / "keys" : options.keys),
        judgements(records, uploads, options.judge, keys),
        api(records, uploads, judgements, options.limits, {keys, prices}, options.public_read,
            std::move(call_after)) {}
  fs::path keys;
  tester::Judgements judgements;
  tester::Api api;
};

// The platform's.
struct PlatformSide {
  PlatformSide(const ServeOptions& options, const fs::path& data)
      : accounts(accounts_file(data)),
        code(data / "code"),
        platform({.data = data,
                  .code = [this](const std::string& id) { return code.folder_of(id); },
                  .listeners = options.webhooks},
                 options.engine()),
        schedules(data / "schedules.json", [this](const jobs::NewJob& job) { return submit(job); }),
        provider(options.oidc ? std::make_unique<oidc::Provider>(*options.oidc) : nullptr),
        door(platform, accounts,
             {.domain = endpoint_domain_of(options), .tls = !options.certificate.empty()}),
        context{.accounts = accounts,
                .platform = platform,
                .events = events,
                .streams = streams,
                .follower = follower,
                .metrics = metrics,
                .code = code,
                .schedules = schedules,
                .tls = !options.certificate.empty(),
                .hosts = hosts_of(options),
                .pages = options.pages,
                .door = &door,
                .provider = provider.get()},
        rest(context) {
    const std::int64_t now_ns = wall_now_ns();
    make_first_admin(accounts, now_ns);
    keep_admin_token(data, accounts, now_ns);
    for (const std::string& url : options.webhooks)
      webhooks.push_back(std::make_unique<Webhook>(
          WebhookOptions{.url = url, .secret = options.webhook_secret}, send_by_http(),
          Webhook::Outbox{[this, url](std::int64_t after) {
                            return platform.notices(url, kNoticesAtOnce, after);
                          },
                          [this](std::int64_t number) { platform.told(number); }}));
    listening = platform.subscribe([this](const platform::JobEvent& event) {
      events.publish(event);
      metrics.happened(event);
      if (jobs::is_final(event.state))
        for (const auto& webhook : webhooks) webhook->wake();
    });
  }
  // Who has a schedule may have been disabled or have left the team since.
  std::vector<jobs::JobId> submit(const jobs::NewJob& job) {
    const auto owner = accounts.find(job.owner);
    if (!owner || owner->disabled ||
        !jobs::may(owner->role, jobs::Deed::submit_job, jobs::Whose::own))
      throw Error(ErrorKind::usage, "its owner may not submit jobs any more");
    if (!job.team.empty() && owner->role != jobs::Role::admin &&
        std::ranges::count(owner->teams, job.team) == 0)
      throw Error(ErrorKind::usage, "its owner has left the team '" + job.team + "'");
    if (!job.code.empty() && !code.has(job.owner, job.code))
      throw Error(ErrorKind::usage, "what it was made with is not here any more");
    return platform.submit(job);
  }

  accounts::Accounts accounts;
  rest::EventHub events;
  rest::ServerMetrics metrics;
  code::CodeStore code;
  platform::Platform platform;
  platform::Schedules schedules;  // submits to the platform
  rest::OpenStreams streams;      // asks accounts and platform
  rest::Follower follower;        // asks the platform
  std::unique_ptr<oidc::Provider> provider;
  door::Door door;
  rest::Context context;
  rest::Rest rest;
  std::vector<std::unique_ptr<Webhook>> webhooks;
  std::shared_ptr<void> listening;  // the first to go: it calls the others, and none afterwards
};

// What no job needs any more. A failure costs nothing but room.
void collect_code(PlatformSide& side, const fs::path& data,
                  const std::function<void(const std::string&)>& say) {
  try {
    std::set<std::string> needed = jobs::uploads_in(data / "jobs.db");
    for (const platform::Schedule& one : side.schedules.of({}))
      if (!one.code.empty()) needed.insert(one.code);
    (void)side.code.collect(needed, wall_now_ns());
  } catch (const std::exception& error) {
    say(std::string("warning: uploads are not collected: ") + error.what());
  }
}

// What the settings say that is kept no longer goes, an hour after that was said.
void remove_old(PlatformSide& side, bool only_say,
                const std::function<void(const std::string&)>& say) {
  try {
    const platform::Removal removal = side.platform.remove_old(wall_now_ns(), only_say);
    if (removal.logs + removal.jobs > 0)
      say(fmt::format("note: retention: {} and the logs of {} {}", counted(removal.jobs, "job"),
                      counted(removal.logs, "job"),
                      only_say ? "will be removed in an hour" : "were removed"));
  } catch (const std::exception& error) {
    say(std::string("warning: nothing old is removed: ") + error.what());
  }
}

// A person's token is none of the tester: who has one may what everybody may.
void ask_tester_without_token(tester::Api& api, HttpRequest& request, std::string& who,
                              const HttpServer::Respond& respond) {
  request.headers.erase("authorization");
  api.handle(request, who, [respond](HttpResponse response) {
    if (response.status == 401)
      response = serve::response_of(serve::Refusal(
          403, "wrong_kind_of_token", "this address wants a token of the tester, not a person's",
          "'assay serve token add NAME' makes one where the server runs"));
    respond(std::move(response));
  });
}

void say_where(PlatformSide& side, const std::string& url,
               const std::function<void(const std::string&)>& say) {
  bool anybody = false;
  for (const accounts::Person& person : side.accounts.people())
    anybody = anybody || (person.role == jobs::Role::admin && person.has_password);
  if (anybody)
    say("sign in at " + url + "/");
  else
    say("sign in, once and within 15 minutes, at " +
        sign_in_address(side.accounts, url, some_admin(side.accounts), wall_now_ns()));
}

}  // namespace

void run_server(const ServeOptions& options, const std::function<void(const std::string&)>& say) {
  // Each arena keeps what its threads once used: the most of any answer, for every worker.
  ::mallopt(M_ARENA_MAX, 2);
  const sigset_t signals = block_signals();
  if (!options.config.empty() && !fs::exists(options.config))
    throw Error(ErrorKind::config, "there is no such file", options.config.string());
  const tester::Prices prices =
      tester::read_prices(options.config.empty() ? options.data / "tester.yaml" : options.config);
  const fs::path data = tester::make_data_folder(options.data);
  const tester::OwnerOnly files;
  const UniqueFd lock = tester::lock_folder(data);
  tester::Records records = tester::open_records(data);
  tester::Uploads uploads(data);
  if (const auto faults = records.faults(); !faults.empty())
    throw Error(ErrorKind::environment, "the database is damaged: " + faults.front(),
                (data / "tester.db").string(), tester::kRebuildAdvice);
  if (const std::size_t found = tester::take_in_folders(data, records, uploads); found > 0)
    say(fmt::format("note: {} that the database did not know {} found again in {}",
                    counted(found, "test"), found == 1 ? "was" : "were",
                    (data / "tests").string()));
  serve::AuditLog audit(data / "audit.jsonl", options.audit_bytes);
  if (!is_loopback(options.address) && options.certificate.empty())
    say("warning: listening beyond this machine without TLS: tokens and evidence can be read on "
        "the way; give --tls-certificate and --tls-key");
  if (!options.engine && records.tokens().empty())
    say("note: there is no token yet: 'assay serve token add NAME --data " + data.string() +
        "' makes one");

  std::unique_ptr<HttpServer> server;
  std::atomic<bool> ending = false;
  TesterSide testing(options, data, records, uploads, prices,
                     [&](std::chrono::milliseconds delay, std::function<void()> task) {
                       server->call_after(delay, std::move(task));
                     });
  testing.api.expire();
  platform::FolderOrigin origin;
  if (options.engine) {
    origin = platform::look_at_folder(data);
    require_databases(data, origin.used);
  }
  std::unique_ptr<PlatformSide> jobs;
  if (options.engine) jobs = std::make_unique<PlatformSide>(options, data);
  if (jobs) collect_code(*jobs, data, say);
  auto workers = std::make_unique<serve::WorkerPool>(4, 1000);
  auto doormen = std::make_unique<serve::WorkerPool>(jobs ? 16 : 1, 500);

  serve::HttpOptions http;
  http.address = options.address;
  http.port = options.port;
  http.certificate = options.certificate;
  http.key = options.key;
  http.read_timeout = options.read_timeout;
  http.handling_timeout = options.limits.patience + std::chrono::seconds(60);
  http.connections = options.connections;
  if (jobs) http.routes = rest::Rest::patterns();
  for (std::string& route : tester::Api::routes()) http.routes.push_back(std::move(route));
  // A body that is a little too large gets an answer that explains it.
  http.max_body = 2 * options.limits.part_bytes;
  server =
      std::make_unique<HttpServer>(http, [&](HttpRequest request, HttpServer::Respond respond) {
        const auto shared = std::make_shared<HttpRequest>(std::move(request));
        const auto who = std::make_shared<std::string>();
        const auto answer = [shared, who, respond, &audit](HttpResponse response) {
          audit.write(*shared, *who, response.status, shared->body.size(), response.body.size());
          respond(std::move(response));
        };
        if (const serve::HeadFault& fault = shared->fault; fault.status != 0) {
          answer(serve::response_of(
              serve::Refusal(fault.status, std::string(serve::code_of(fault)), fault.text)));
          return;
        }
        const bool at_endpoint = jobs && jobs->door.takes(*shared);
        const auto busy = [&](const char* why) {
          serve::Refusal refusal(503, "busy", why, "try again in a moment");
          refusal.retry_after_s = 1;
          answer(serve::response_of(refusal));
        };
        if (at_endpoint) {
          const auto handle = [side = jobs.get(), shared, who, answer] {
            side->door.handle(*shared, *who, answer);
          };
          if (ending)
            busy("the server is being stopped");
          else if (!doormen->post(shared->address, handle))
            busy("too many requests wait");
          return;
        }
        if (auto refusal = jobs ? rest::wrong_host(*shared, jobs->context.hosts) : std::nullopt) {
          answer(std::move(*refusal));
          return;
        }
        if (auto refusal = testing.api.turned_away(*shared)) {
          answer(std::move(*refusal));
          return;
        }
        // Where the platform has no pages, the first one is the tester's.
        const bool of_platform =
            jobs && rest::Rest::takes(*shared) && (shared->path != "/" || !options.pages.empty());
        const auto handle = [&testing, side = jobs.get(), of_platform, shared, who, answer] {
          if (of_platform)
            side->rest.handle(*shared, *who, answer);
          else if (side != nullptr && side->rest.knows_token(*shared))
            ask_tester_without_token(testing.api, *shared, *who, answer);
          else  // The pages of tests are everybody's who is signed in; the API has its own tokens.
            testing.api.handle(*shared, *who, answer,
                               side != nullptr && !shared->path.starts_with("/api/")
                                   ? side->rest.signed_in(*shared)
                                   : "");
        };
        if (ending)
          busy("the server is being stopped");
        else if (!(waits_for_others(*shared) ? *doormen : *workers).post(shared->address, handle))
          busy("too many requests wait");
      });
  if (jobs) {
    settle_folder(data, origin, options.resume_queue, jobs->platform, jobs->schedules, say);
    jobs->platform.start();
    jobs->schedules.start();
  }
  server->start();
  const std::string url = url_of(options, server->port());
  if (jobs) {
    write_server_file(data, url);
    say_where(*jobs, url, say);
  }
  say("listening on " + url);
  if (jobs) remove_old(*jobs, true, say);

  const timespec hour{3600, 0};
  while (::sigtimedwait(&signals, nullptr, &hour) < 0)
    if (errno == EAGAIN) {
      testing.api.expire();
      if (!jobs) continue;
      collect_code(*jobs, data, say);
      remove_old(*jobs, false, say);
    }

  ending = true;
  if (jobs) remove_server_file(data);
  server->close();
  server->end_streams();
  testing.judgements.stop();
  const std::int64_t deadline = mono_now_ns() + Nanoseconds(kMaxShutdown).count();
  while (server->unanswered() > 0 && mono_now_ns() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  server->stop();
  workers.reset();
  doormen.reset();
  if (jobs) jobs->listening.reset();
  server.reset();
}

}  // namespace assay::site
