#pragma once

#include <exception>
#include <optional>
#include <thread>
#include <type_traits>

#include <asio/awaitable.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

namespace assay::launch {

/// Runs what blocks (a compression, a request to a service, a look-up of a name) on a thread of its
/// own, while the loop goes on. Throws what `work` throws. What `work` refers to must live until it
/// has ended: the awaiting coroutine is not resumed before.
template <class F>
asio::awaitable<std::invoke_result_t<F&>> run_on_thread(F work) {
  using Result = std::invoke_result_t<F&>;
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer done(executor, asio::steady_timer::time_point::max());
  std::conditional_t<std::is_void_v<Result>, std::optional<bool>, std::optional<Result>> result;
  std::exception_ptr failure;
  bool ended = false;
  std::jthread thread([&] {
    try {
      if constexpr (std::is_void_v<Result>)
        work();
      else
        result.emplace(work());
    } catch (...) {
      failure = std::current_exception();
    }
    asio::post(executor, [&] {
      ended = true;
      done.cancel();
    });
  });
  // The posted function sets it.  NOLINTNEXTLINE(bugprone-infinite-loop)
  while (!ended) {
    asio::error_code ec;
    co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<Result>) co_return std::move(*result);
}

}  // namespace assay::launch
