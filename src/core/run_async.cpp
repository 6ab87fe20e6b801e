#include "core/run_async.h"

#include <exception>
#include <optional>

#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

namespace assay {

asio::awaitable<CommandResult> run_async(SpawnOptions options, RunLimits limits, std::string input,
                                         std::function<void(std::string_view)> on_output,
                                         bool kill_rest) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer ended(executor, asio::steady_timer::time_point::max());
  std::optional<CommandResult> result;
  std::exception_ptr failure;
  // Covers a coroutine frame that ends before the process does.
  struct Guard {
    std::shared_ptr<AsyncProcess> process;
    ~Guard() {
      if (process) process->discard();
    }
  } guard;
  AsyncProcess::Hooks hooks;
  if (on_output)
    hooks.on_output = [&](std::string_view bytes) {
      try {
        on_output(bytes);
      } catch (...) {
        failure = std::current_exception();
        guard.process->discard();
        ended.cancel();
      }
    };
  hooks.on_end = [&](CommandResult all) {
    result = std::move(all);
    ended.cancel();
  };
  guard.process = AsyncProcess::start(executor, std::move(options), limits, std::move(hooks),
                                      std::move(input), kill_rest);
  while (!result && !failure) {
    asio::error_code ec;
    co_await ended.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*result);
}

}  // namespace assay
