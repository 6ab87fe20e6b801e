#include "launch/controller_hook.h"

#include <optional>

#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/files.h"
#include "core/process_tree.h"
#include "core/text.h"
#include "core/units.h"
#include "launch/run_on_thread.h"

namespace assay::launch {

namespace {

constexpr std::size_t kKeptOutput = 1 << 20;
constexpr Nanoseconds kHookGrace = std::chrono::seconds(2);

// The last line that says something, for the reason.
std::string last_words(const std::string& output) {
  std::string_view rest = trim(output);
  rest = rest.substr(rest.rfind('\n') == std::string_view::npos ? 0 : rest.rfind('\n') + 1);
  return ellipsize(printable(trim(rest)), 200);
}

}  // namespace

ControllerHook::ControllerHook(const plan::Hook& hook, std::string id,
                               std::map<std::string, std::string> env, std::filesystem::path output)
    : hook_(hook), id_(std::move(id)), env_(std::move(env)), path_(std::move(output)) {}

ControllerHook::~ControllerHook() {
  if (process_) process_->discard();
}

void ControllerHook::take(std::string_view bytes) {
  const std::string_view fits = bytes.substr(0, kKeptOutput - kept_.size());
  kept_ += fits;
  dropped_ += bytes.size() - fits.size();
}

void ControllerHook::end_soon() {
  if (!process_ || killed_) return;
  process_->terminate();
  limit_->expires_after(kHookGrace);
}

void ControllerHook::interrupt(int times) {
  interrupted_ = true;
  if (!process_) return;
  if (times == 1) return end_soon();
  limit_->expires_after(Nanoseconds(0));
}

asio::awaitable<RoundOutcome> ControllerHook::run() {
  const auto executor = co_await asio::this_coro::executor;
  limit_ = std::make_unique<asio::steady_timer>(executor);
  SpawnOptions options;
  // Errors where the output goes, in their order.
  options.argv = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  options.argv.insert(options.argv.end(), hook_.command.begin(), hook_.command.end());
  std::vector<std::string> variables{"ASSAY_ROUND_ID=" + id_};
  for (const auto& [name, value] : env_) variables.push_back(name + "=" + value);
  options.env = environment_with(variables);
  options.group = Group::session;
  options.error_where = "hook " + hook_.name;
  std::optional<CommandResult> result;
  AsyncProcess::Hooks callbacks;
  callbacks.on_output = [this](std::string_view bytes) { take(bytes); };
  callbacks.on_end = [&](CommandResult all) {
    result = std::move(all);
    limit_->expires_after(Nanoseconds(0));
  };
  limit_->expires_after(hook_.time);
  process_ = AsyncProcess::start(executor, std::move(options), RunLimits{}, std::move(callbacks));
  while (!result) {
    asio::error_code ec;
    co_await limit_->async_wait(asio::redirect_error(asio::use_awaitable, ec));
    // Somebody moved the limit, or it passed: its first time asks, its second ends.
    if (result || ec) continue;
    if (!timed_out_ && !interrupted_) {
      timed_out_ = true;
      end_soon();
    } else if (!killed_) {
      killed_ = true;
      process_->discard();
      break;
    }
  }
  process_.reset();
  const auto sweep = [this] { return sweep_round(id_); };
  (void)co_await run_on_thread(sweep);
  std::string text = kept_;
  if (dropped_ > 0) text += fmt::format("\n[{} more bytes were not kept]\n", dropped_);
  write_file_atomic(path_, text, /*sync=*/false);
  const RoundOutcome outcome = outcome_of(result);
  co_return outcome;
}

RoundOutcome ControllerHook::outcome_of(const std::optional<CommandResult>& result) const {
  std::string flood;
  if (dropped_ > 0)
    flood = fmt::format("; it wrote {} bytes of output, of which {} are kept",
                        dropped_ + kept_.size(), kept_.size());
  if (timed_out_)
    return {RoundStatus::timed_out, "it did not end within " + duration_text(hook_.time) +
                                        (killed_ ? " and ignored SIGTERM" : "") + flood};
  if (interrupted_) return {RoundStatus::interrupted, "it was interrupted"};
  if (result && result->status.ok()) return {};
  const std::string words = last_words(kept_);
  return {RoundStatus::failed, (result ? to_string(result->status) : "it was killed") +
                                   (words.empty() ? "" : ": " + words) + flood};
}

}  // namespace assay::launch
