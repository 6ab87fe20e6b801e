#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "jobs/job_store.h"

namespace assay::site {

struct WebhookOptions {
  std::string url{};
  std::string secret{};  ///< what bodies are signed with
  int attempts = 5;      ///< at least; after as many that were refused a notice is dropped
  Nanoseconds pause = std::chrono::seconds(2);  ///< after a failure; then twice as long each time
  Nanoseconds max_pause = std::chrono::minutes(10);
  Nanoseconds give_up = std::chrono::hours(24);  ///< after the job's end, if nobody answers
};

/// Tells another program that jobs have finished, failed, or were judged INVALID, in the order in
/// which they ended, from a thread of its own. A notice leaves the outbox only when it was taken or
/// given up, so that what a stop of the server interrupts is sent by the next one: a receiver may
/// get a notice twice, and knows it by its delivery number.
class Webhook {
 public:
  struct Delivery {
    std::string url{};
    std::string event{};   ///< "finished", "failed", "invalid"
    std::string number{};  ///< the same for every attempt
    std::string body{};
    std::string signature{};  ///< "sha256=…": HMAC-SHA256 of the body
  };
  enum class Answer {
    taken,
    refused,  ///< the receiver does not want it
    failed,   ///< it may be taken later
  };
  using Send = std::function<Answer(const Delivery&)>;
  /// What there is to tell. Both may throw Error: it is asked again later.
  struct Outbox {
    std::function<std::vector<jobs::Notice>()> untold{};  ///< the oldest first
    std::function<void(std::int64_t number)> told{};
  };

  Webhook(WebhookOptions options, Send send, Outbox outbox);
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;
  ~Webhook();

  /// The outbox may have something new. Never waits.
  void wake();

 private:
  void work(const std::stop_token& stop);
  /// False: stopped before it was decided.
  bool deliver(const jobs::Notice& notice, const std::stop_token& stop);
  /// Until then, a stop, or with `news` until there is something new.
  void wait(Nanoseconds time, const std::stop_token& stop, bool news);

  WebhookOptions options_;
  Send send_;
  Outbox outbox_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  bool news_ = true;
  std::jthread thread_;
};

/// Sends by HTTP: a POST with X-Assay-Event, X-Assay-Delivery and X-Assay-Signature; redirects are
/// not followed.
[[nodiscard]] Webhook::Send send_by_http();

}  // namespace assay::site
