#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "jobs/job_store.h"

namespace assay::site {

struct WebhookOptions {
  std::string url{};
  std::string secret{};  ///< signs the bodies
  std::string server{};  ///< the address of the pages; empty if unknown: sends only paths
  int attempts = 5;      ///< after which a refused notice is dropped
  Nanoseconds pause = std::chrono::seconds(2);  ///< after a failure; doubles each time
  Nanoseconds max_pause = std::chrono::minutes(10);
  Nanoseconds give_up = std::chrono::hours(24);  ///< after the job's end, if nothing answers
};

/// Notifies another program, from a thread of its own, about jobs that have finished, failed, been
/// stopped by the platform or been judged INVALID. A notice leaves the outbox only when the
/// receiver has taken it or it is given up, so that the next server sends what a stop has
/// interrupted. A receiver may therefore get a notice twice, which it recognizes by the delivery
/// number.
///
/// Every notice has its own pauses. One that the receiver does not take does not delay others, so
/// that their order is not guaranteed. If nothing answers at all, the address itself gets a pause,
/// after which the notices with the fewest attempts come first. Logs the first failure and every
/// change of it.
class Webhook {
 public:
  struct Delivery {
    std::string url{};
    std::string event{};   ///< "finished", "failed", "stopped", "invalid"
    std::string number{};  ///< equal for all attempts
    std::string body{};
    std::string signature{};  ///< "sha256=…": HMAC-SHA256 of the body
  };
  enum class Answer {
    taken,
    refused,  ///< the receiver rejects it
    failed,   ///< the receiver may take it later
    silent,   ///< nothing answers at this address
  };
  struct Outcome {
    Answer answer = Answer::taken;
    std::string words{};  ///< the problem, for the log
  };
  using Send = std::function<Outcome(const Delivery&)>;
  /// The notices. Both functions may throw Error, and are then called again later.
  struct Outbox {
    /// Some of the notices with greater numbers, the oldest first; empty if there are no more.
    std::function<std::vector<jobs::Notice>(std::int64_t after)> untold{};
    std::function<void(std::int64_t number)> told{};
  };

  Webhook(WebhookOptions options, Send send, Outbox outbox);
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;
  ~Webhook();

  /// Says that the outbox may have new notices. Never waits.
  void wake();

 private:
  /// A notice that the receiver has not taken.
  struct Tried {
    int attempts = 0;
    Nanoseconds pause{0};
    std::int64_t due_ns = 0;  ///< the next attempt
    std::string words{};      ///< that were logged
  };

  void work(const std::stop_token& stop);
  /// Looks at the outbox once; returns how long there is nothing to do without news.
  Nanoseconds turn(const std::stop_token& stop);
  /// The notices that are due, those with the fewest attempts first. Sets the next moment.
  [[nodiscard]] std::vector<jobs::Notice> due(std::int64_t& next_ns);
  /// Returns false if nothing answers.
  bool deliver(const jobs::Notice& notice);
  /// Logs what has changed; returns whether the notice is given up.
  bool gives_up(const jobs::Notice& notice, const Outcome& outcome);
  void log_silence(const std::string& words);
  /// Waits until then, for a stop, or with `news` for new notices.
  void wait(Nanoseconds time, const std::stop_token& stop, bool news);

  WebhookOptions options_;
  Send send_;
  Outbox outbox_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  bool news_ = true;
  // Used by the thread alone:
  std::map<std::int64_t, Tried> tried_;  ///< by number
  Nanoseconds silence_{0};               ///< the address's pause; 0 while it answers
  std::string silent_words_{};           ///< that were logged
  std::jthread thread_;
};

/// Sends notices over HTTP, as a POST with X-Assay-Event, X-Assay-Delivery and X-Assay-Signature.
/// Does not follow redirects.
[[nodiscard]] Webhook::Send send_by_http();

}  // namespace assay::site
