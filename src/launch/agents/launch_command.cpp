#include "launch/agents/launch_command.h"

#include "core/run_async.h"
#include "core/text.h"

namespace assay::launch {

namespace {

constexpr std::size_t kProcessErrorTail = 2000;
// What one turn reads. A user may have 64 MB of pipes, and there may be hundreds of hosts. ssh
// keeps what is not read in a buffer that it copies whenever it grows.
constexpr int kPipeSize = 256 << 10;

}  // namespace

SpawnOptions command_options(std::vector<std::string> argv, std::string label) {
  return {.argv = std::move(argv),
          .in = Stream::pipe(),
          .out = Stream::pipe(),
          .err = Stream::pipe(),
          .group = Group::session,
          .dies_with_parent = false,
          .error_kind = ErrorKind::launch,
          .error_where = std::move(label)};
}

asio::awaitable<CommandResult> run_process(std::vector<std::string> argv, std::string label,
                                           std::string input,
                                           std::function<void(std::string_view)> output,
                                           Nanoseconds silence) {
  SpawnOptions options = command_options(std::move(argv), std::move(label));
  options.pipe_bytes = kPipeSize;
  // A connection that ssh keeps for later is left alone.
  CommandResult result =
      co_await run_async(std::move(options), {.silence = silence, .max_errors = kProcessErrorTail},
                         std::move(input), std::move(output), false);
  result.err = printable(trim(result.err));
  co_return result;
}

}  // namespace assay::launch
