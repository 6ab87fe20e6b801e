#include "agent/one_shot_commands.h"

#include <cstdio>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/run_async.h"

namespace assay::agent {

namespace {

constexpr auto kBetweenCleanUps = std::chrono::milliseconds(100);

std::vector<std::string> arguments_of(const Json& command) {
  std::vector<std::string> arguments;
  if (command.is_array())
    for (const Json& argument : command)
      if (argument.is_string()) arguments.push_back(argument.get<std::string>());
  return arguments;
}

int run_inheriting(const std::vector<std::string>& arguments) {
  try {
    Child child = spawn({.argv = arguments,
                         .in = Stream::inherit(),
                         .out = Stream::inherit(),
                         .err = Stream::inherit(),
                         .group = Group::shared});
    return child.wait().code.value_or(128);
  } catch (const SpawnError&) {
    fmt::print(stderr, "{} is not installed on this node\n", arguments[0]);
    return 127;
  }
}

// A container outlives its killed client. It goes at once if it is removed while its supervisor
// lives; afterwards its runtime may need a second attempt to notice.
asio::awaitable<bool> succeeds_before(std::int64_t deadline_ns, std::vector<std::string> command) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (std::int64_t left = 0; (left = deadline_ns - mono_now_ns()) > 0;) {
    // Built here because GCC 12 does not support initializer lists in awaited expressions.
    SpawnOptions options;
    options.argv = command;
    RunLimits limits;
    limits.total = Nanoseconds(left);
    try {
      const CommandResult result = co_await run_async(std::move(options), limits);
      // Docker's answer for a container that has removed itself; older versions exit with an error.
      if (result.ok() || result.err.find("No such container") != std::string::npos) co_return true;
    } catch (const Error&) {  // Cannot be started at the moment.
    }
    pause.expires_after(kBetweenCleanUps);
    co_await pause.async_wait(asio::use_awaitable);
  }
  co_return false;
}

}  // namespace

int run_until_one_succeeds(const Json& commands) {
  int code = 0;
  if (!commands.is_array()) throw Error(ErrorKind::usage, "not a list of commands");
  for (const Json& command : commands) {
    const std::vector<std::string> arguments = arguments_of(command);
    if (arguments.empty()) continue;
    code = run_inheriting(arguments);
    if (code == 0) return 0;
  }
  return code;
}

asio::awaitable<std::vector<bool>> clean_up(std::vector<std::vector<std::string>> commands,
                                            Nanoseconds limit) {
  const auto executor = co_await asio::this_coro::executor;
  const std::int64_t deadline_ns = mono_now_ns() + limit.count();
  std::vector<bool> done(commands.size(), true);
  std::size_t open = 0;
  asio::steady_timer all_done(executor, asio::steady_timer::time_point::max());
  // A node may have a container per device, and a runtime takes seconds for each.
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].empty()) continue;
    ++open;
    asio::co_spawn(executor, succeeds_before(deadline_ns, std::move(commands[i])),
                   [&, i](const std::exception_ptr& error, bool succeeded) {
                     done[i] = !error && succeeded;
                     if (--open == 0) all_done.cancel();
                   });
  }
  while (open > 0) {
    asio::error_code ec;
    co_await all_done.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return done;
}

void run_cleanups(const std::vector<std::string>& commands) {
  std::vector<std::vector<std::string>> argument_lists;
  for (const std::string& text : commands)
    argument_lists.push_back(arguments_of(parse_json_or_null(text)));
  asio::io_context loop(1);
  asio::co_spawn(loop, clean_up(std::move(argument_lists)),
                 // Does not wait for a command that cannot be killed.
                 [&](const std::exception_ptr&, const std::vector<bool>&) { loop.stop(); });
  loop.run();
}

}  // namespace assay::agent
