#include "launch/agents/collect.h"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/time.h"
#include "core/units.h"
#include "launch/agents/launch_command.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kSilence = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(500);

asio::awaitable<void> fetch_once(const Launcher& launcher, const NodeFolder& folder,
                                 Collected& result) {
  const Json have = transfer::list_files(folder.local);
  transfer::Receiver receiver(folder.local);
  const std::vector<std::string> args{"--send", folder.remote.string(),
                                      std::to_string(folder.most)};
  const auto consume = [&](std::string_view bytes) { receiver.feed(bytes); };
  result.problem.clear();
  result.unwritten = false;
  try {
    const CommandResult process =
        co_await run_process(launcher.agent_command(folder.host, folder.hello, args),
                             "host " + folder.host, dump_line(have), consume, kSilence);
    if (process.timed_out)
      result.problem = "nothing came for " + format_duration(kSilence);
    else if (!receiver.complete())
      result.problem = "the connection ended early, " + to_string(process.status) +
                       (process.err.empty() ? "" : ": " + process.err);
  } catch (const transfer::NotWritten& error) {
    result.problem = fmt::format("{}: {}", error.where(), error.message());
    result.unwritten = true;
  } catch (const Error& error) {
    result.problem = error.what();
  }
  result.left_out = receiver.left_out();
  result.files += receiver.files();
  result.bytes += receiver.bytes();
}

asio::awaitable<void> fetch(const Launcher& launcher, const NodeFolder& folder, Collected& result) {
  const std::int64_t begin = mono_now_ns();
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (int i = 0; i < folder.tries; ++i) {
    if (i > 0) {
      pause.expires_after(kPause * (1 << i));
      asio::error_code ec;
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    co_await fetch_once(launcher, folder, result);
    if (result.problem.empty() || result.unwritten) break;
  }
  result.seconds = static_cast<double>(mono_now_ns() - begin) * 1e-9;
}

}  // namespace

asio::awaitable<std::vector<Collected>> collect(const Launcher& launcher,
                                                std::vector<NodeFolder> folders,
                                                std::function<void(const NodeFolder&)> done) {
  const auto executor = co_await asio::this_coro::executor;
  std::vector<Collected> results(folders.size());
  std::size_t open = folders.size();
  asio::steady_timer all_done(executor, asio::steady_timer::time_point::max());
  for (std::size_t i = 0; i < folders.size(); ++i) {
    results[i].node = folders[i].node;
    results[i].part = folders[i].part;
    asio::co_spawn(executor, fetch(launcher, folders[i], results[i]),
                   [&, i](const std::exception_ptr& error) {
                     if (error) results[i].problem = "it could not be fetched";
                     if (results[i].problem.empty() && results[i].left_out.files == 0)
                       done(folders[i]);
                     if (--open == 0) all_done.cancel();
                   });
  }
  while (open > 0) {
    asio::error_code ec;
    co_await all_done.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return results;
}

}  // namespace assay::launch
