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
// The pause after a failure to read the outbox, because the database is locked or the disk full.
constexpr Nanoseconds kAfterFailedLook = std::chrono::seconds(10);
constexpr std::size_t kAtOnce = 100;

// Empty: no notice.
std::string event_of(const jobs::Notice& notice) {
  using enum jobs::State;
  if (notice.state == failed || notice.state == error) return "failed";
  // The person who stopped the job knows about it.
  const bool by_person =
      notice.cause == jobs::Cause::person || notice.cause == jobs::Cause::rejected;
  if (notice.state == killed && notice.cause != jobs::Cause::none && !by_person) return "stopped";
  if (notice.state != finished) return {};
  return notice.verdict == jobs::Verdict::invalid ? "invalid" : "finished";
}

std::string body_of(const jobs::Notice& notice, const std::string& event, const std::string& at) {
  return dump_line({{"event", event},
                    {"delivery", notice.number},
                    {"job", notice.job},
                    {"name", notice.name},
                    {"page", fmt::format("{}/#/jobs/{}/brief", at, notice.job)},
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
    Nanoseconds pause{0};
    try {
      pause = turn(stop);
    } catch (const std::exception& error) {
      serve::log_error(fmt::format("webhook {}: {}", options_.url, error.what()));
      wait(std::min(options_.max_pause, kAfterFailedLook), stop, false);
      continue;
    }
    // While nothing answers, new notices change nothing.
    if (pause.count() > 0) wait(pause, stop, silence_.count() == 0);
  }
}

std::vector<jobs::Notice> Webhook::due(std::int64_t& next_ns) {
  const std::int64_t now_ns = mono_now_ns();
  std::vector<jobs::Notice> out;
  std::int64_t after = 0;
  // Skips the notices that are not due: however many they are, they delay no other.
  while (out.size() < kAtOnce) {
    const std::vector<jobs::Notice> page = outbox_.untold(after);
    if (page.empty()) break;
    after = page.back().number;
    for (const jobs::Notice& notice : page) {
      const auto tried = tried_.find(notice.number);
      if (tried == tried_.end() || tried->second.due_ns <= now_ns)
        out.push_back(notice);
      else
        next_ns = std::min(next_ns, tried->second.due_ns);
    }
  }
  const auto attempts = [&](const jobs::Notice& notice) {
    const auto tried = tried_.find(notice.number);
    return tried == tried_.end() ? 0 : tried->second.attempts;
  };
  std::ranges::stable_sort(out, {}, attempts);
  return out;
}

Nanoseconds Webhook::turn(const std::stop_token& stop) {
  std::int64_t next_ns = mono_now_ns() + kMaxSleep.count();
  const std::vector<jobs::Notice> notices = due(next_ns);
  for (const jobs::Notice& notice : notices) {
    if (stop.stop_requested()) return Nanoseconds(0);
    if (!deliver(notice)) return silence_;
  }
  if (!notices.empty()) return Nanoseconds(0);
  return Nanoseconds(std::max<std::int64_t>(1, next_ns - mono_now_ns()));
}

bool Webhook::deliver(const jobs::Notice& notice) {
  Delivery delivery{.url = options_.url, .event = event_of(notice)};
  Outcome outcome;
  if (!delivery.event.empty()) {
    delivery.number = std::to_string(notice.number);
    delivery.body = body_of(notice, delivery.event, options_.server);
    delivery.signature = "sha256=" + to_hex(hmac(Hash::sha256, options_.secret, delivery.body));
    outcome = send_(delivery);
  }
  const bool silent = outcome.answer == Answer::silent;
  if (outcome.answer == Answer::taken || gives_up(notice, outcome)) {
    outbox_.told(notice.number);
    tried_.erase(notice.number);
  }
  if (!silent && !delivery.event.empty()) {
    log_silence({});
    silence_ = Nanoseconds(0);
  }
  if (!silent) return true;
  log_silence(outcome.words);
  silence_ = std::clamp(2 * silence_, options_.pause, options_.max_pause);
  return false;
}

bool Webhook::gives_up(const jobs::Notice& notice, const Outcome& outcome) {
  Tried& tried = tried_[notice.number];
  ++tried.attempts;
  tried.pause = std::clamp(2 * tried.pause, options_.pause, options_.max_pause);
  tried.due_ns = mono_now_ns() + tried.pause.count();
  if (outcome.answer != Answer::silent && tried.words != outcome.words) {
    tried.words = outcome.words;
    serve::log_error(fmt::format("webhook {}: job {} is not taken: {}; it is tried again",
                                 options_.url, notice.job, outcome.words));
  }
  const bool late = wall_now_ns() - notice.at_ns > options_.give_up.count();
  if (tried.attempts < options_.attempts || !(late || outcome.answer == Answer::refused))
    return false;
  serve::log_error(fmt::format("webhook {}: job {} could not be told, {} attempts: {}",
                               options_.url, notice.job, tried.attempts, outcome.words));
  return true;
}

void Webhook::log_silence(const std::string& words) {
  if (words == silent_words_) return;
  silent_words_ = words;
  serve::log_error(fmt::format("webhook {}: {}", options_.url,
                               words.empty() ? "it answers again" : words + "; it is tried again"));
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
      if (response.ok()) return Webhook::Outcome{};
      const bool later = response.status == 408 || http::turned_away(response.status);
      const bool refused = response.status >= 400 && response.status < 500 && !later;
      return Webhook::Outcome{refused ? Webhook::Answer::refused : Webhook::Answer::failed,
                              fmt::format("status {}", response.status)};
    } catch (const Error& error) {
      return Webhook::Outcome{Webhook::Answer::silent, error.message()};
    } catch (const std::exception& error) {
      return Webhook::Outcome{Webhook::Answer::silent, error.what()};
    }
  };
}

}  // namespace assay::site
