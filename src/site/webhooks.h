#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "platform/platform.h"

namespace assay::site {

struct WebhookOptions {
  std::vector<std::string> urls{};
  std::string secret{};  ///< what bodies are signed with
  int attempts = 5;
  Nanoseconds pause = std::chrono::seconds(2);  ///< before the second attempt; then twice as long
  std::size_t max_waiting = 1000;               ///< beyond that, the oldest are left out
};

/// Tells other programs that a job has finished, failed, or was judged INVALID, from a thread of
/// its own. What was not delivered when the process ends is not delivered.
class Webhooks {
 public:
  struct Delivery {
    std::string url{};
    std::string event{};  ///< "finished", "failed", "invalid"
    std::string body{};
    std::string signature{};  ///< "sha256=…": HMAC-SHA256 of the body
  };
  /// True: taken. Anything else is tried again.
  using Send = std::function<bool(const Delivery&)>;
  /// The verdict of a job that has ended.
  using VerdictOf = std::function<jobs::Verdict(jobs::JobId)>;

  Webhooks(WebhookOptions options, Send send, VerdictOf verdict_of);
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;
  ~Webhooks();

  /// Never waits.
  void happened(const platform::JobEvent& event);

 private:
  void work(const std::stop_token& stop);
  void deliver(const platform::JobEvent& event, const std::stop_token& stop);

  WebhookOptions options_;
  Send send_;
  VerdictOf verdict_of_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  std::deque<platform::JobEvent> waiting_;
  std::jthread thread_;
};

/// Sends by HTTP: a POST with X-Assay-Event and X-Assay-Signature; redirects are not followed.
[[nodiscard]] Webhooks::Send send_by_http();

}  // namespace assay::site
