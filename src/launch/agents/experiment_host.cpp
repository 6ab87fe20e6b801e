#include "launch/agents/experiment_host.h"

#include <asio/co_spawn.hpp>
#include <asio/ip/udp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/host.h"
#include "launch/run_on_thread.h"

namespace assay::launch {

namespace {

constexpr const char* kGoOn =
    "look at the workers' logs and nodes; 'assay run --resume' goes on with the experiment";

// Where the workers find this machine; the first node stands for all. May look up names.
std::string find_address(const std::string& given, bool one_machine,
                         const std::string& node_address, const std::string& node_host) {
  if (!given.empty()) return given;
  if (one_machine) return "127.0.0.1";
  std::string address = address_towards(node_address);
  if (address.empty()) address = address_towards(node_host);
  return address.empty() ? host_name() : address;
}

}  // namespace

std::string address_towards(const std::string& peer) {
  if (peer.empty()) return {};
  asio::io_context loop;
  asio::error_code ec;
  asio::ip::udp::resolver resolver(loop);
  const auto found = resolver.resolve(asio::ip::udp::v4(), peer, "9", ec);
  if (ec || found.empty()) return {};
  asio::ip::udp::socket socket(loop);
  socket.open(asio::ip::udp::v4(), ec);
  if (!ec) socket.connect(found.begin()->endpoint(), ec);
  if (ec) return {};
  const auto local = socket.local_endpoint(ec);
  return ec ? std::string() : local.address().to_string();
}

asio::awaitable<std::unique_ptr<ExperimentHost>> ExperimentHost::make(
    asio::io_context& loop, const plan::Plan& plan, const plan::CasePlan& plan_case,
    std::filesystem::path directory, const Fleet& fleet) {
  const automl::ExperimentSettings& settings = *plan_case.automl;
  const bool one_machine = plan.cluster.traits.one_machine;
  const std::string node = fleet.identity(0).address;
  // A copy, for another thread reads it while the fleet goes on.
  const std::string host = fleet.host(0);  // NOLINT(performance-unnecessary-copy-initialization)
  // No captures of its own: GCC 12 destroys those of a temporary twice when it is awaited.
  std::string address = co_await run_on_thread(
      [&] { return find_address(settings.address, one_machine, node, host); });
  const bool loopback = one_machine && settings.address.empty();
  co_return std::unique_ptr<ExperimentHost>(
      new ExperimentHost(loop, settings, std::move(address),
                         {std::move(directory), loopback ? "127.0.0.1" : "0.0.0.0", {}}));
}

ExperimentHost::ExperimentHost(asio::io_context& loop, const automl::ExperimentSettings& settings,
                               std::string address, automl::Coordinator::Options options)
    : loop_(loop),
      settings_(settings),
      address_(std::move(address)),
      coordinator_(loop, settings_,
                   [&] {
                     options.on_progress = [this] { on_progress(); };
                     return std::move(options);
                   }()),
      done_(loop, asio::steady_timer::time_point::max()) {}

std::map<std::string, std::string> ExperimentHost::environment() const {
  return {{automl::kAddressVariable, fmt::format("{}:{}", address_, coordinator_.port())},
          {automl::kTokenVariable, coordinator_.token()},
          {automl::kDevicesVariable, std::to_string(settings_.devices_per_trial)}};
}

void ExperimentHost::start(Round& round) {
  round_ = &round;
  running_ = true;
  asio::co_spawn(loop_, coordinator_.run(), [this](const std::exception_ptr& error) {
    running_ = false;
    failure_ = error;
    if (error && round_ != nullptr)
      round_->fail({RoundStatus::failed, "the experiment's journal could not be written",
                    "free space, then go on with 'assay run --resume'"});
    done_.cancel();
  });
  on_progress();
}

void ExperimentHost::on_progress() {
  if (round_ == nullptr || end_noticed_ || !coordinator_.ended()) return;
  end_noticed_ = true;
  if (coordinator_.end_detail().starts_with(automl::kNoWorkerLeft))
    round_->fail({RoundStatus::lost, coordinator_.end_detail(), kGoOn});
  else if (coordinator_.end_reason() == automl::ExperimentEnd::failed)
    round_->fail({RoundStatus::failed, "the experiment failed: " + coordinator_.end_detail(),
                  "the trials' reasons are in the experiment's journal"});
  else
    round_->wind_down();
}

void ExperimentHost::stop() {
  coordinator_.end(automl::ExperimentEnd::stopped, "stopped by the user");
}

asio::awaitable<RoundOutcome> ExperimentHost::finish(RoundOutcome outcome) {
  round_ = nullptr;
  // Workers that had trained are lost machines or processes, not a program that cannot run.
  if (!coordinator_.ended() && outcome.status == RoundStatus::failed &&
      coordinator_.status().ok > 0) {
    outcome.status = RoundStatus::lost;
    outcome.reason = fmt::format("{}: {}", automl::kNoWorkerLeft, outcome.reason);
    outcome.advice = kGoOn;
  }
  if (!coordinator_.ended())
    coordinator_.end(outcome.status == RoundStatus::interrupted ? automl::ExperimentEnd::stopped
                                                                : automl::ExperimentEnd::failed,
                     outcome.reason.empty() ? automl::kNoWorkerLeft : outcome.reason);
  while (running_) {
    asio::error_code ec;
    co_await done_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (failure_) std::rethrow_exception(failure_);
  co_return outcome;
}

Json ExperimentHost::live() const {
  const automl::Experiment::Status status = coordinator_.status();
  return {{"elapsed_s", coordinator_.elapsed_s()},
          {"max_duration_s", seconds(settings_.max_duration)},
          {"max_trials", settings_.max_trials},
          {"proposed", status.proposed},
          {"ok", status.ok},
          {"failed", status.failed},
          {"running", status.running},
          {"waiting", status.waiting},
          {"workers", status.workers},
          {"idle", status.idle},
          {"best", status.best}};
}

}  // namespace assay::launch
