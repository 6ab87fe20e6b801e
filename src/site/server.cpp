#include "site/server.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>

#include "core/address.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "serve/audit.h"
#include "serve/tls_identity.h"
#include "site/copied_folder.h"
#include "site/databases.h"
#include "site/dispatch.h"
#include "site/first_start.h"
#include "site/platform_side.h"
#include "site/pushed_runs.h"
#include "site/upkeep.h"
#include "tester/admin.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;
using serve::HttpRequest;
using serve::HttpServer;
using Say = std::function<void(const std::string&)>;

namespace {

constexpr std::chrono::seconds kMaxShutdown{10};

std::string url_of(const ServeOptions& options, std::uint16_t port) {
  const bool v6 = options.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options.tls() ? "https" : "http", v6 ? "[" : "",
                     options.address, v6 ? "]" : "", port);
}

// Signals are blocked before the first thread starts, so that all threads inherit this.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

bool asked_to_end() {
  sigset_t waiting;
  return ::sigpending(&waiting) == 0 &&
         (sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1);
}

tester::Prices prices_of(const ServeOptions& options) {
  if (!options.config.empty() && !fs::exists(options.config))
    throw Error(ErrorKind::config, "there is no such file", options.config.string());
  return tester::read_prices(options.config.empty() ? options.data / "tester.yaml"
                                                    : options.config);
}

// Opens what the tester keeps in the folder.
struct TesterStore {
  TesterStore(const fs::path& data, const Say& say)
      : records(tester::open_records(data)), uploads(data) {
    if (const auto faults = records.faults(); !faults.empty())
      throw Error(ErrorKind::environment, "the database is damaged: " + faults.front(),
                  (data / "tester.db").string(), tester::kRebuildAdvice);
    const std::size_t found = tester::take_in_folders(data, records, uploads);
    if (found == 0) return;
    say(fmt::format("note: found again in {}: {} that the database did not know",
                    (data / "tests").string(), counted(found, "test")));
  }
  tester::Records records;
  tester::Uploads uploads;
};

// The tester's part of the server.
struct TesterSide {
  TesterSide(const ServeOptions& options, const fs::path& data, const tester::Prices& prices,
             const Say& say, tester::CallAfter call_after)
      : store(data, say),
        keys(options.keys.empty() ? data / "keys" : options.keys),
        judgements(store.records, store.uploads, options.judge, keys),
        api(store.records, store.uploads, judgements, options.limits, {keys, prices},
            options.public_read, std::move(call_after)) {
    if (!options.engine && store.records.tokens().empty())
      say("note: there is no token yet: 'assay serve token add NAME --data " + data.string() +
          "' makes one");
    api.expire();
  }
  TesterStore store;
  fs::path keys;
  tester::Judgements judgements;
  tester::Api api;
};

serve::HttpOptions http_options(const ServeOptions& options,
                                std::shared_ptr<serve::TlsIdentity> tls) {
  serve::HttpOptions http;
  http.address = options.address;
  http.port = options.port;
  http.tls = std::move(tls);
  http.read_timeout = options.read_timeout;
  http.handling_timeout = options.limits.patience + std::chrono::seconds(60);
  http.connections = options.connections;
  if (options.engine) http.routes = rest::Rest::patterns();
  for (std::string& route : tester::Api::routes()) http.routes.push_back(std::move(route));
  // A body that is slightly too large still gets an answer that says so.
  http.max_body = 2 * options.limits.part_bytes;
  return http;
}

// Makes the platform of a checked folder, without looking at the jobs that it ran.
std::unique_ptr<PlatformSide> open_platform(const ServeOptions& options, const fs::path& data,
                                            const platform::FolderOrigin& origin, const Say& say) {
  require_databases(data, origin.used);
  auto jobs = std::make_unique<PlatformSide>(options, data);
  collect_code(*jobs, data, say);
  return jobs;
}

void start_platform(PlatformSide& jobs, const ServeOptions& options, const fs::path& data,
                    const platform::FolderOrigin& origin, const Say& say) {
  settle_folder(data, origin, options.resume_queue, jobs.platform, jobs.schedules, say);
  jobs.platform.start();
  jobs.schedules.start();
}

void say_where(PlatformSide& side, const std::string& url, const Say& say) {
  bool anybody = false;
  for (const accounts::Person& person : side.accounts.people())
    anybody = anybody || (person.role == jobs::Role::admin && person.has_password);
  if (anybody)
    say("sign in at " + url + "/");
  else
    say("sign in, once and within 15 minutes, at " +
        sign_in_address(side.accounts, url, some_admin(side.accounts), wall_now_ns()));
}

void work_until_signal(const sigset_t& signals, Upkeep& upkeep) {
  while (true) {
    const std::chrono::nanoseconds rest = upkeep.rest(mono_now_ns());
    const timespec pause{static_cast<std::time_t>(rest.count() / 1'000'000'000),
                         static_cast<long>(rest.count() % 1'000'000'000)};
    if (::sigtimedwait(&signals, nullptr, &pause) >= 0) return;
    if (errno == EAGAIN) upkeep.work(mono_now_ns());
  }
}

// Accepts no more connections, and answers the open requests as long as time remains.
void answer_what_was_asked(HttpServer& server, tester::Judgements& judgements) {
  server.close();
  server.end_streams();
  judgements.stop();
  const std::int64_t deadline = mono_now_ns() + Nanoseconds(kMaxShutdown).count();
  while (server.unanswered() > 0 && mono_now_ns() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  server.stop();
}

}  // namespace

void run_server(const ServeOptions& options, const Say& say) {
  // Every malloc arena keeps the most memory that its threads ever used, which is that of the
  // largest answer, once for each worker.
  ::mallopt(M_ARENA_MAX, 2);
  const sigset_t signals = block_signals();
  const tester::Prices prices = prices_of(options);
  std::shared_ptr<serve::TlsIdentity> tls;
  if (options.tls()) tls = std::make_shared<serve::TlsIdentity>(options.certificate, options.key);
  const fs::path data = tester::make_data_folder(options.data);
  const tester::OwnerOnly files;
  const UniqueFd lock = tester::lock_folder(data);
  serve::AuditLog audit(data / "audit.jsonl", options.audit_bytes);
  if (!is_loopback(options.address) && !options.tls())
    say("warning: listening beyond this machine without TLS: tokens and evidence can be read on "
        "the way; give --tls-certificate and --tls-key");

  std::unique_ptr<HttpServer> server;
  std::unique_ptr<Dispatch> dispatch;
  TesterSide testing(
      options, data, prices, say, [&](std::chrono::milliseconds delay, std::function<void()> task) {
        server->call_after(delay, [&dispatch, task = std::move(task)] { dispatch->call(task); });
      });
  platform::FolderOrigin origin;
  std::unique_ptr<PlatformSide> jobs;
  if (options.engine) {
    origin = platform::look_at_folder(data);
    jobs = open_platform(options, data, origin, say);
    jobs->context.pushed = pushed_runs_of(testing.store.records, testing.store.uploads);
  }
  const serve::HttpOptions http = http_options(options, tls);
  dispatch = std::make_unique<Dispatch>(
      Dispatch::Parts{.audit = audit,
                      .tester = testing.api,
                      .platform = jobs.get(),
                      .has_pages = !options.pages.empty(),
                      .connections = http.connections.total + http.connections.streams});
  server = std::make_unique<HttpServer>(
      http, [&](HttpRequest request, const HttpServer::Respond& respond) {
        dispatch->take(std::move(request), respond);
      });
  if (jobs) start_platform(*jobs, options, data, origin, say);
  server->start();
  const std::string url = url_of(options, server->port());
  if (jobs) write_server_file(data, url);
  if (jobs) say_where(*jobs, url, say);
  Upkeep upkeep({.tester = testing.api,
                 .platform = jobs.get(),
                 .tls = tls.get(),
                 .data = data,
                 .say = say,
                 .ending = asked_to_end},
                options.upkeep_every, mono_now_ns());
  upkeep.say_ahead();
  say("listening on " + url);
  work_until_signal(signals, upkeep);

  dispatch->end();
  if (jobs) remove_server_file(data);
  answer_what_was_asked(*server, testing.judgements);
  dispatch.reset();
  if (jobs) jobs->listening.reset();
  server.reset();
}

}  // namespace assay::site
