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
  std::string secret{};  ///< what bodies are signed with
  std::string server{};  ///< where jobs have their pages; empty: not known, only the path is sent
  int attempts = 5;      ///< at least; after as many that were refused a notice is dropped
  Nanoseconds pause = std::chrono::seconds(2);  ///< after a failure; then twice as long each time
  Nanoseconds max_pause = std::chrono::minutes(10);
  Nanoseconds give_up = std::chrono::hours(24);  ///< after the job's end, if nobody answers
};

/// Tells another program that jobs have finished, failed, were stopped by the platform, or were
/// judged INVALID, from a thread of
/// its own. A notice leaves the outbox only when it was taken or given up, so that what a stop of
/// the server interrupts is sent by the next one: a receiver may get a notice twice, and knows it
/// by its delivery number.
///
/// Each notice has pauses of its own: one that a receiver does not take keeps no other waiting, so
/// that their order is not promised. Where nobody answers at all, the address has a pause, and what
/// was tried least is tried first after it. The first failure and every change is logged.
class Webhook {
 public:
  struct Delivery {
    std::string url{};
    std::string event{};   ///< "finished", "failed", "stopped", "invalid"
    std::string number{};  ///< the same for every attempt
    std::string body{};
    std::string signature{};  ///< "sha256=…": HMAC-SHA256 of the body
  };
  enum class Answer {
    taken,
    refused,  ///< the receiver does not want it
    failed,   ///< it may be taken later
    silent,   ///< nobody answers at this address
  };
  struct Outcome {
    Answer answer = Answer::taken;
    std::string words{};  ///< what was wrong, for the log
  };
  using Send = std::function<Outcome(const Delivery&)>;
  /// What there is to tell. Both may throw Error: it is asked again later.
  struct Outbox {
    /// Some of those with numbers above this one, the oldest first; none: there are no more.
    std::function<std::vector<jobs::Notice>(std::int64_t after)> untold{};
    std::function<void(std::int64_t number)> told{};
  };

  Webhook(WebhookOptions options, Send send, Outbox outbox);
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;
  ~Webhook();

  /// The outbox may have something new. Never waits.
  void wake();

 private:
  /// A notice that was not taken.
  struct Tried {
    int attempts = 0;
    Nanoseconds pause{0};
    std::int64_t due_ns = 0;  ///< when it is tried again
    std::string words{};      ///< that were logged
  };

  void work(const std::stop_token& stop);
  /// One look at the outbox; gives for how long there is nothing to do without news.
  Nanoseconds turn(const std::stop_token& stop);
  /// Those whose time has come, what was tried least first. Sets the moment of the next one.
  [[nodiscard]] std::vector<jobs::Notice> due(std::int64_t& next_ns);
  /// False: nobody answers.
  bool deliver(const jobs::Notice& notice);
  /// Logs what is new about it, and gives whether it is given up.
  bool gives_up(const jobs::Notice& notice, const Outcome& outcome);
  void log_silence(const std::string& words);
  /// Until then, a stop, or with `news` until there is something new.
  void wait(Nanoseconds time, const std::stop_token& stop, bool news);

  WebhookOptions options_;
  Send send_;
  Outbox outbox_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  bool news_ = true;
  // Of the thread:
  std::map<std::int64_t, Tried> tried_;  ///< by number
  Nanoseconds silence_{0};               ///< the address's pause; 0: it answers
  std::string silent_words_{};           ///< that were logged
  std::jthread thread_;
};

/// Sends by HTTP: a POST with X-Assay-Event, X-Assay-Delivery and X-Assay-Signature; redirects are
/// not followed.
[[nodiscard]] Webhook::Send send_by_http();

}  // namespace assay::site
