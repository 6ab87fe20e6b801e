#include "http/client.h"

#include <limits>
#include <mutex>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "core/cancelled.h"
#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "http/attempt.h"
#include "http/exchange_error.h"

namespace assay::http {

namespace {

/// Whether the failure is the network's or the other side's, so that another try may succeed.
bool passing(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}

bool passing(int status) {
  return turned_away(status) || status == 408 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::string advice_for(const Outcome& outcome) {
  switch (outcome.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "check the endpoint's name and this machine's DNS";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "check the proxy's name (http_proxy, https_proxy)";
    case CURLE_COULDNT_CONNECT:
      return "check the endpoint's port, the proxy and the firewall";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "the server's certificate is not trusted: check the endpoint and this machine's "
             "clock, or name the file of its authority (--ca; of a cloud: ca_file in the transfer "
             "of "
             "the credentials)";
    case CURLE_OPERATION_TIMEDOUT:
      return "the server or the network is too slow, or the connection was cut";
    default:
      return "check the network to the endpoint";
  }
}

}  // namespace

std::string Request::host() const {
  const std::size_t mark = origin.find("://");
  return mark == std::string::npos ? origin : origin.substr(mark + 3);
}

bool Request::may_repeat() const {
  return repeatable.value_or(method != "POST" && method != "PATCH");
}

void Request::set_header(const std::string& name, std::string value) {
  for (auto& [existing, old] : headers) {
    if (to_lower(existing) != to_lower(name)) continue;
    old = std::move(value);
    return;
  }
  headers.emplace_back(name, std::move(value));
}

std::string Response::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_name) return value;
  return {};
}

struct Client::State {
  explicit State(ClientOptions given) : options(std::move(given)) {}

  ClientOptions options;
  mutable std::mutex mutex;
  std::vector<EasyHandle> idle;
  std::vector<std::string> secrets;
  std::mt19937_64 random{std::random_device{}()};

  EasyHandle take() {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        EasyHandle handle = std::move(idle.back());
        idle.pop_back();
        return handle;
      }
    }
    EasyHandle handle(curl_easy_init(), &curl_easy_cleanup);
    if (!handle) throw Error(ErrorKind::environment, "cannot initialize libcurl");
    return handle;
  }
  void give_back(EasyHandle handle) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(handle));
  }
  Nanoseconds pause(int failures) {
    const std::lock_guard lock(mutex);
    return jittered_pause(options.retry, failures, random);
  }
};

Client::Client(ClientOptions options) : state_(std::make_unique<State>(std::move(options))) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  // A proxy's user and password would appear in libcurl's messages.
  const std::string& proxy = state_->options.proxy;
  if (const std::size_t at = proxy.rfind('@'); at != std::string::npos) {
    const std::size_t mark = proxy.find("://");
    const std::size_t from = mark == std::string::npos ? 0 : mark + 3;
    if (from < at) hide(proxy.substr(from, at - from));
  }
}

Client::~Client() = default;

const ClientOptions& Client::options() const noexcept {
  return state_->options;
}

void Client::hide(const std::string& secret) {
  if (secret.empty()) return;
  const std::lock_guard lock(state_->mutex);
  for (const auto& known : state_->secrets)
    if (known == secret) return;
  state_->secrets.push_back(secret);
}

std::string Client::redact(std::string text) const {
  const std::lock_guard lock(state_->mutex);
  for (const auto& secret : state_->secrets)
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
      text.replace(at, secret.size(), "***");
  return text;
}

Response Client::send(const Request& request, const Exchange& exchange) {
  const std::string what = request.method + " " + request.path;
  const std::int64_t start = mono_now_ns();
  const Nanoseconds limit = state_->options.total_limit;
  const std::int64_t deadline_ns =
      limit.count() > 0 ? start + limit.count() : std::numeric_limits<std::int64_t>::max();
  std::string before;  // the result of the last try
  const auto stopped = [&] {
    return Cancelled(
        redact(before.empty() ? what + " was cancelled"
                              : fmt::format("{} was cancelled; before, it got {}", what, before)),
        request.host());
  };
  bool renewed = false;
  EasyHandle handle = state_->take();
  for (int tries = 1;; ++tries) {
    if (exchange.stop.stop_requested()) throw stopped();
    Request prepared = request;
    if (exchange.before_attempt) exchange.before_attempt(prepared);
    if (exchange.authorizer != nullptr) exchange.authorizer->authorize(prepared);
    Outcome outcome = attempt(handle.get(), state_->options, prepared, exchange, deadline_ns);
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
    if (outcome.code == CURLE_ABORTED_BY_CALLBACK) throw stopped();
    Response& response = outcome.response;
    const bool answered = outcome.code == CURLE_OK;
    const auto after =
        answered ? parse_retry_after(response.header("retry-after"), wall_now_ns()) : std::nullopt;
    const Nanoseconds pause = state_->pause(tries) + after.value_or(Nanoseconds(0));
    // Does not wait for a try for which no time is left.
    const bool last =
        tries >= state_->options.retry.attempts || pause.count() >= deadline_ns - mono_now_ns();
    if (answered) {
      if ((response.status == 401 || response.status == 403 || response.status == 400) &&
          exchange.authorizer != nullptr && !renewed && exchange.authorizer->renew(response)) {
        renewed = true;
        continue;
      }
      const bool had_no_effect =
          turned_away(response.status) || (response.status == 503 && after.has_value());
      const bool again = passing(response.status) && (request.may_repeat() || had_no_effect);
      if (!again || last ||
          after.value_or(Nanoseconds(0)) > state_->options.retry.max_retry_after) {
        state_->give_back(std::move(handle));
        return std::move(response);
      }
    } else {
      const bool again = passing(outcome.code) && (request.may_repeat() || !outcome.was_sent);
      if (!again || last)
        throw ExchangeError(
            redact(fmt::format("{} got no answer: {} (tried {} in {}){}", what, outcome.cause,
                               tries == 1 ? "once" : fmt::format("{} times", tries),
                               format_duration(Nanoseconds(mono_now_ns() - start)),
                               outcome.was_sent && !request.may_repeat()
                                   ? "; whether it had an effect is not known"
                                   : "")),
            request.host(), advice_for(outcome));
    }
    before = answered ? fmt::format("status {}", response.status) : outcome.cause;
    if (!pause_unless_stopped(pause, exchange.stop)) throw stopped();
  }
}

}  // namespace assay::http
