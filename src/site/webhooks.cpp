#include "site/webhooks.h"

#include <memory>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/hex.h"
#include "core/json.h"
#include "http/client.h"
#include "http/url.h"
#include "serve/log.h"

namespace assay::site {

Webhooks::Webhooks(WebhookOptions options, Send send, VerdictOf verdict_of)
    : options_(std::move(options)), send_(std::move(send)), verdict_of_(std::move(verdict_of)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Webhooks::~Webhooks() {
  thread_.request_stop();
  changed_.notify_all();
}

void Webhooks::happened(const platform::JobEvent& event) {
  if (event.state != jobs::State::finished && event.state != jobs::State::failed &&
      event.state != jobs::State::error)
    return;
  const std::scoped_lock lock(lock_);
  waiting_.push_back(event);
  if (waiting_.size() > options_.max_waiting) waiting_.pop_front();
  changed_.notify_all();
}

void Webhooks::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(lock_);
    if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
    const platform::JobEvent event = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    deliver(event, stop);
  }
}

void Webhooks::deliver(const platform::JobEvent& event, const std::stop_token& stop) {
  const jobs::Verdict verdict = verdict_of_(event.id);
  std::string name = event.state == jobs::State::finished ? "finished" : "failed";
  if (event.state == jobs::State::finished && verdict == jobs::Verdict::invalid) name = "invalid";
  const Json body = {{"event", name},
                     {"job", event.id},
                     {"state", to_text(event.state)},
                     {"verdict", to_text(verdict)},
                     {"owner", event.owner},
                     {"team", event.team},
                     {"at", iso_utc(event.at_ns, true)},
                     {"words", event.words}};
  for (const std::string& url : options_.urls) {
    Delivery delivery{.url = url, .event = name, .body = dump_line(body)};
    delivery.signature = "sha256=" + to_hex(hmac(Hash::sha256, options_.secret, delivery.body));
    Nanoseconds pause = options_.pause;
    bool taken = send_(delivery);
    for (int attempt = 1; attempt < options_.attempts && !taken; ++attempt) {
      std::unique_lock lock(lock_);
      changed_.wait_for(lock, stop, pause, [] { return false; });
      lock.unlock();
      if (stop.stop_requested()) return;
      pause *= 2;
      taken = send_(delivery);
    }
    if (!taken)
      serve::log_error(fmt::format("webhook {}: job {} could not be told, {} attempts", url,
                                   event.id, options_.attempts));
  }
}

Webhooks::Send send_by_http() {
  http::ClientOptions options;
  options.retry.attempts = 1;
  options.stall_timeout = std::chrono::seconds(10);
  options.max_body = 64U << 10;
  auto client = std::make_shared<http::Client>(options);
  return [client](const Webhooks::Delivery& delivery) {
    try {
      const http::Url url = http::parse_url(delivery.url, "--webhook");
      http::Request request;
      request.method = "POST";
      request.origin = url.origin;
      request.path = url.path;
      request.query = url.query;
      request.body = delivery.body;
      request.set_header("Content-Type", "application/json");
      request.set_header("X-Assay-Event", delivery.event);
      request.set_header("X-Assay-Signature", delivery.signature);
      return client->send(request).ok();
    } catch (const Error&) {
      return false;
    }
  };
}

}  // namespace assay::site
