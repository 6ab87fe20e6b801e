#include "tester/server.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/address.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "serve/audit.h"
#include "serve/worker_pool.h"
#include "tester/admin.h"
#include "tester/data_folder.h"

namespace assay::tester {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kMaxShutdown{10};
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

}  // namespace

void run_server(const ServeOptions& options, const std::function<void(const std::string&)>& say) {
  const sigset_t signals = block_signals();
  if (!options.config.empty() && !fs::exists(options.config))
    throw Error(ErrorKind::config, "there is no such file", options.config.string());
  const Prices prices =
      read_prices(options.config.empty() ? options.data / "tester.yaml" : options.config);
  const fs::path data = make_data_folder(options.data);
  const OwnerOnly files;
  const UniqueFd lock = lock_folder(data);
  Records records = open_records(data);
  Uploads uploads(data);
  if (const auto faults = records.faults(); !faults.empty())
    throw Error(ErrorKind::environment, "the database is damaged: " + faults.front(),
                (data / "tester.db").string(), kRebuildAdvice);
  if (const std::size_t found = take_in_folders(data, records, uploads); found > 0)
    say(fmt::format("note: {} that the database did not know {} found again in {}",
                    counted(found, "test"), found == 1 ? "was" : "were",
                    (data / "tests").string()));
  serve::AuditLog audit(data / "audit.jsonl", options.audit_bytes);
  if (!is_loopback(options.address) && options.certificate.empty())
    say("warning: listening beyond this machine without TLS: tokens and evidence can be read on "
        "the way; give --tls-certificate and --tls-key");
  if (records.tokens().empty())
    say("note: there is no token yet: 'assay serve token add NAME --data " + data.string() +
        "' makes one");

  const fs::path keys = options.keys.empty() ? data / "keys" : options.keys;
  Judgements judgements(records, uploads, options.judge, keys);
  std::unique_ptr<serve::HttpServer> server;
  std::atomic<bool> ending = false;
  Api api(records, uploads, judgements, options.limits, {keys, prices}, options.public_read,
          [&](std::chrono::milliseconds delay, std::function<void()> task) {
            server->call_after(delay, std::move(task));
          });
  api.expire();
  auto workers = std::make_unique<serve::WorkerPool>(4, 1000);

  serve::HttpOptions http;
  http.address = options.address;
  http.port = options.port;
  http.certificate = options.certificate;
  http.key = options.key;
  http.read_timeout = options.read_timeout;
  http.handling_timeout = options.limits.patience + std::chrono::seconds(60);
  http.connections = options.connections;
  http.routes = Api::routes();
  // A body that is a little too large gets an answer that explains it.
  http.max_body = 2 * options.limits.part_bytes;
  server = std::make_unique<serve::HttpServer>(
      http, [&](serve::HttpRequest request, serve::HttpServer::Respond respond) {
        const auto shared = std::make_shared<serve::HttpRequest>(std::move(request));
        const auto token = std::make_shared<std::string>();
        const auto answer = [shared, token, respond, &audit](serve::HttpResponse response) {
          audit.write(*shared, *token, response.status, shared->body.size(), response.body.size());
          respond(std::move(response));
        };
        if (const serve::HeadFault& fault = shared->fault; fault.status != 0) {
          answer(serve::response_of(serve::Refusal(
              fault.status, fault.status == 505 ? "bad_version" : "bad_request", fault.text)));
          return;
        }
        if (auto refusal = api.turned_away(*shared)) {
          answer(std::move(*refusal));
          return;
        }
        const auto busy = [&](const char* why) {
          serve::Refusal refusal(503, "busy", why, "try again in a moment");
          refusal.retry_after_s = 1;
          answer(serve::response_of(refusal));
        };
        if (ending)
          busy("the tester is being stopped");
        else if (!workers->post(shared->address, [&api, shared, token, answer] {
                   api.handle(*shared, *token, answer);
                 }))
          busy("too many requests wait");
      });
  server->start();
  say("listening on " + url_of(options, server->port()));

  const timespec hour{3600, 0};
  while (::sigtimedwait(&signals, nullptr, &hour) < 0)
    if (errno == EAGAIN) api.expire();

  ending = true;
  server->close();
  server->end_streams();
  judgements.stop();
  const std::int64_t deadline = mono_now_ns() + Nanoseconds(kMaxShutdown).count();
  while (server->unanswered() > 0 && mono_now_ns() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  server->stop();
  workers.reset();
  server.reset();
}

}  // namespace assay::tester
