#include "launch/cloud/cloud_backend.h"

#include <algorithm>
#include <thread>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "core/cancelled.h"
#include "core/error.h"
#include "core/timed_stop.h"
#include "core/units.h"
#include "http/retry.h"
#include "http/url.h"
#include "launch/cloud/cloud_job.h"
#include "launch/cloud/retry_while_unreachable.h"
#include "launch/cloud/start_clock.h"
#include "launch/run_on_thread.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kAnswerLimit = std::chrono::minutes(1);
constexpr Nanoseconds kSilentFor = std::chrono::seconds(2);

/// How long one request of the start may take: a run is not held longer by a service that drips
/// than by a job that hangs.
Nanoseconds answer_limit(const plan::Plan& plan) {
  Nanoseconds longest{};
  for (const plan::CasePlan& plan_case : plan.cases)
    longest = std::max(longest, plan_case.limits.time);
  return longest.count() > 0 ? std::min(longest, kAnswerLimit) : kAnswerLimit;
}

/// Calls `say` once, from a thread of its own, when it is not destroyed within kSilentFor.
class SaidWhenSilent {
 public:
  explicit SaidWhenSilent(std::function<void()> say)
      : timer_([say = std::move(say)](const std::stop_token& answered) {
          if (http::pause_unless_stopped(kSilentFor, answered)) say();
        }) {}

 private:
  std::jthread timer_;
};

std::string host_of(const std::string& endpoint) {
  return http::parse_url(endpoint, "the service's endpoint").host;
}

}  // namespace

Json check_cloud(const Connect& connect, const plan::Plan& plan,
                 const plan::JobServiceOptions& options, const std::stop_token& stop,
                 const std::function<void(const std::string&)>& waiting) {
  const Nanoseconds limit = answer_limit(plan);
  const StartClock clock(mono_now_ns(), options.start,
                         fmt::format("cluster.{}.start", plan.cluster.launcher()));
  const TimedStop end(stop, options.start);
  const std::unique_ptr<CloudConnection> cloud = connect(limit);
  cloud->jobs->check_cases(plan);
  // A service that does not answer at all is taken for a mistake in the suite, and shows at once.
  RetryWhileUnreachable retry(options.wait, options.poll, std::chrono::seconds(30), stop, waiting,
                              Patience::with_a_busy_service);
  retry.end_at(clock.end_ns());
  const auto ask = [&](const std::string& what, const std::string& endpoint, auto question) {
    return retry(what, [&] {
      const SaidWhenSilent said([&] {
        waiting(fmt::format("{}: {} has not answered yet (it has {} for an answer)", what,
                            host_of(endpoint), format_duration(limit)));
      });
      return question();
    });
  };
  const auto ask_in_time = [&](const std::string& what, const std::string& endpoint,
                               auto question) {
    try {
      return ask(what, endpoint, question);
    } catch (const OutOfTime& silence) {
      throw clock.over(silence);
    } catch (const Cancelled& cut) {
      throw clock.over(OutOfTime(what, cut));
    }
  };
  try {
    ask_in_time("looking at the bucket", options.store_endpoint,
                [&] { cloud->bucket.check(end.token()); });
    return ask_in_time("looking at what the service has", options.endpoint,
                       [&] { return cloud->jobs->check(plan, end.token()); });
  } catch (const Interrupted&) {
    throw Error(ErrorKind::environment, "interrupted before anything was uploaded",
                options.endpoint, "go on with --resume");
  }
}

CloudBackend::CloudBackend(const BackendContext& context, const plan::JobServiceOptions& options,
                           Connect connect)
    : context_(context), options_(options), connect_(std::move(connect)) {}

asio::awaitable<void> CloudBackend::prepare() {
  const plan::Plan& plan = context_.run.plan();
  connection_ = connect_(Nanoseconds{});
  offered_ = co_await run_on_thread([&] {
    return check_cloud(
        connect_, plan, options_, asked_.get_token(), [this](const std::string& text) {
          asio::post(context_.loop, [this, text] { context_.observer.waiting(text); });
        });
  });
  const std::string line =
      co_await run_on_thread([&] { return cloud::left_out_line(code_of(options_)); });
  if (!line.empty()) context_.observer.warning(options_.code.string() + ": " + line);
}

asio::awaitable<Json> CloudBackend::describe() {
  int instances = 1;
  for (const plan::CasePlan& plan_case : context_.run.plan().cases)
    instances = std::max(instances, plan_case.nodes);
  Json nodes = Json::array();
  for (int node = 0; node < instances; ++node)
    nodes.push_back({{"node", node}, {"host", worker_name(node)}, {"cloud", offered_}});
  co_return nodes;
}

asio::awaitable<void> CloudBackend::prepare_round(const RoundTask& /*task*/) {
  co_return;
}

asio::awaitable<RoundOutcome> CloudBackend::run_round(const RoundTask& task) {
  const auto on_loop = [this](auto call) { asio::post(context_.loop, std::move(call)); };
  const CloudJob::Context job{
      options_,
      context_.run,
      *connection_,
      context_.journal,
      [&](const std::string& text) { on_loop([this, text] { context_.observer.waiting(text); }); },
      [&](const std::string& text) { on_loop([this, text] { context_.observer.warning(text); }); },
      [&](const RoundProgress& progress) {
        on_loop([&task, progress] { task.on_progress(progress); });
      },
      asked_.get_token(),
      at_once_.get_token()};
  co_return co_await run_on_thread(
      [&] { return CloudJob(job, task.plan_case, task.number).run(); });
}

void CloudBackend::interrupt(int times) {
  asked_.request_stop();
  if (times > 1) at_once_.request_stop();
}

asio::awaitable<void> CloudBackend::close() {
  co_return;
}

}  // namespace assay::launch
