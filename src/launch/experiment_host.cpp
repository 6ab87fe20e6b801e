#include "launch/experiment_host.h"

#include <asio/co_spawn.hpp>
#include <asio/ip/udp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/host.h"

namespace assay::launch {

namespace {

// Where the workers find this machine; the first node stands for all.
std::string find_address(const automl::ExperimentSettings& settings, const plan::Plan& plan,
                         const Fleet& fleet) {
  if (!settings.address.empty()) return settings.address;
  if (plan.cluster.launcher == "local") return "127.0.0.1";
  std::string address = address_towards(fleet.identity(0).value("address", ""));
  if (address.empty()) address = address_towards(fleet.hosts().front());
  return address.empty() ? host_name() : address;
}

automl::Coordinator::Options options_of(const automl::ExperimentSettings& settings,
                                        const plan::Plan& plan,
                                        const std::filesystem::path& directory,
                                        std::function<void()> on_progress) {
  const bool local = plan.cluster.launcher == "local" && settings.address.empty();
  return {directory, local ? "127.0.0.1" : "0.0.0.0", std::move(on_progress)};
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

ExperimentHost::ExperimentHost(asio::io_context& loop, const plan::Plan& plan,
                               const plan::CasePlan& plan_case,
                               const std::filesystem::path& directory, const Fleet& fleet)
    : loop_(loop),
      settings_(automl::settings_from_json(plan_case.automl, "case " + plan_case.name)),
      address_(find_address(settings_, plan, fleet)),
      coordinator_(loop, settings_,
                   options_of(settings_, plan, directory, [this] { on_progress(); })),
      done_(loop, asio::steady_timer::time_point::max()) {}

std::map<std::string, std::string> ExperimentHost::environment() const {
  return {{automl::kAddressVariable, fmt::format("{}:{}", address_, coordinator_.port())},
          {automl::kTokenVariable, coordinator_.token()}};
}

void ExperimentHost::start(Round& round) {
  round_ = &round;
  running_ = true;
  asio::co_spawn(loop_, coordinator_.run(), [this](const std::exception_ptr& error) {
    running_ = false;
    failure_ = error;
    if (error && round_ != nullptr)
      round_->fail("failed", "the experiment's journal could not be written",
                   "free space, then go on with 'assay run --resume'");
    done_.cancel();
  });
  on_progress();
}

void ExperimentHost::on_progress() {
  if (round_ == nullptr || told_ || !coordinator_.ended()) return;
  told_ = true;
  if (coordinator_.end_reason() == "failed")
    round_->fail("failed", "the experiment failed: " + coordinator_.end_detail(),
                 "the trials' reasons are in the experiment's journal");
  else
    round_->wind_down();
}

void ExperimentHost::stop() {
  coordinator_.end("stopped", "stopped by the user");
}

asio::awaitable<void> ExperimentHost::finish(const RoundOutcome& outcome) {
  round_ = nullptr;
  if (!coordinator_.ended())
    coordinator_.end(outcome.status == "interrupted" ? "stopped" : "failed",
                     outcome.reason.empty() ? "no worker is left" : outcome.reason);
  while (running_) {
    asio::error_code ec;
    co_await done_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (failure_) std::rethrow_exception(failure_);
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
