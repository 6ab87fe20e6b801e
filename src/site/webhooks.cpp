#include "site/webhooks.h"

#include <algorithm>
#include <exception>
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

namespace {

constexpr Nanoseconds kMaxSleep = std::chrono::minutes(1);

// Empty: nobody is told.
std::string event_of(const jobs::Notice& notice) {
  using enum jobs::State;
  if (notice.state == failed || notice.state == error) return "failed";
  if (notice.state != finished) return {};
  return notice.verdict == jobs::Verdict::invalid ? "invalid" : "finished";
}

std::string body_of(const jobs::Notice& notice, const std::string& event) {
  return dump_line({{"event", event},
                    {"delivery", notice.number},
                    {"job", notice.job},
                    {"state", to_text(notice.state)},
                    {"verdict", to_text(notice.verdict)},
                    {"owner", notice.owner},
                    {"team", notice.team},
                    {"at", iso_utc(notice.at_ns, true)},
                    {"words", notice.words}});
}

}  // namespace

Webhook::Webhook(WebhookOptions options, Send send, Outbox outbox)
    : options_(std::move(options)), send_(std::move(send)), outbox_(std::move(outbox)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Webhook::~Webhook() {
  thread_.request_stop();
  changed_.notify_all();
}

void Webhook::wake() {
  const std::scoped_lock lock(lock_);
  news_ = true;
  changed_.notify_all();
}

void Webhook::wait(Nanoseconds time, const std::stop_token& stop, bool news) {
  std::unique_lock lock(lock_);
  changed_.wait_for(lock, stop, time, [&] { return news && news_; });
  if (news) news_ = false;
}

void Webhook::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      const std::vector<jobs::Notice> notices = outbox_.untold();
      if (notices.empty()) wait(kMaxSleep, stop, true);
      for (const jobs::Notice& notice : notices) {
        if (!deliver(notice, stop)) return;
        outbox_.told(notice.number);
      }
    } catch (const std::exception& error) {
      serve::log_error(fmt::format("webhook {}: {}", options_.url, error.what()));
      wait(options_.max_pause, stop, false);
    }
  }
}

bool Webhook::deliver(const jobs::Notice& notice, const std::stop_token& stop) {
  Delivery delivery{.url = options_.url, .event = event_of(notice)};
  if (delivery.event.empty()) return true;
  delivery.number = std::to_string(notice.number);
  delivery.body = body_of(notice, delivery.event);
  delivery.signature = "sha256=" + to_hex(hmac(Hash::sha256, options_.secret, delivery.body));
  Nanoseconds pause = options_.pause;
  for (int attempt = 1;; ++attempt) {
    if (stop.stop_requested()) return false;
    const Answer answer = send_(delivery);
    if (answer == Answer::taken) return true;
    const bool late = wall_now_ns() - notice.at_ns > options_.give_up.count();
    if (attempt >= options_.attempts && (late || answer == Answer::refused)) {
      serve::log_error(fmt::format("webhook {}: job {} could not be told, {} attempts",
                                   options_.url, notice.job, attempt));
      return true;
    }
    wait(pause, stop, false);
    pause = std::min(2 * pause, options_.max_pause);
  }
}

Webhook::Send send_by_http() {
  http::ClientOptions options;
  options.retry.attempts = 1;
  options.stall_timeout = std::chrono::seconds(10);
  options.max_body = 64U << 10;
  auto client = std::make_shared<http::Client>(options);
  return [client](const Webhook::Delivery& delivery) {
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
      request.set_header("X-Assay-Delivery", delivery.number);
      request.set_header("X-Assay-Signature", delivery.signature);
      const http::Response response = client->send(request);
      if (response.ok()) return Webhook::Answer::taken;
      const bool later = response.status == 408 || response.status == 425 || response.status == 429;
      return response.status >= 400 && response.status < 500 && !later ? Webhook::Answer::refused
                                                                       : Webhook::Answer::failed;
    } catch (const std::exception&) {
      return Webhook::Answer::failed;
    }
  };
}

}  // namespace assay::site
