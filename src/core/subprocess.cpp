#include "core/subprocess.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace assay {

namespace {

// How often to check whether the program has ended while other processes hold its pipes.
constexpr std::int64_t kLookEvery_ms = 50;
// Reads of what an ended program left in a pipe; bounded because others may still write to it.
constexpr int kReadsAfterEnd = 128;

// Reads once; returns false when there is nothing to read, or the stream has ended.
bool read_some(UniqueFd& fd, const auto& keep) {
  std::array<char, 16384> buffer;
  const ssize_t n = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : 0;
  if (n > 0) keep(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) fd.reset();
  return n > 0 || (n < 0 && errno == EINTR);
}

}  // namespace

void append_tail(std::string& text, std::string_view bytes, std::size_t limit) {
  text.append(bytes);
  if (text.size() > limit) text.erase(0, text.size() - limit);
}

CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options) {
  CommandResult result;
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.env) variables.push_back(name + "=" + value);
  Child child;
  try {
    child = spawn({.argv = argv,
                   .env = environment_with(variables),
                   .out = Stream::pipe(),
                   .err = Stream::pipe()});
  } catch (const SpawnError& error) {
    if (!error.not_found()) throw;
    result.not_found = true;
    return result;
  }
  const auto keep_out = [&](std::string_view bytes) {
    result.out.append(bytes.substr(0, options.max_output - result.out.size()));
  };
  const auto keep_err = [&](std::string_view bytes) {
    append_tail(result.err, bytes, options.max_output);
  };
  ::fcntl(child.out.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(child.err.get(), F_SETFL, O_NONBLOCK);
  const std::int64_t deadline = mono_now_ns() + options.timeout.count();
  std::optional<ExitStatus> ended;
  std::int64_t pause_ms = 0;  // between looks, once both pipes are closed
  while (!(ended = child.poll(true))) {
    const std::int64_t left_ms = (deadline - mono_now_ns()) / 1'000'000;
    if (left_ms <= 0) {
      result.timed_out = true;
      child.signal(SIGKILL);
      ended = child.wait_for(std::chrono::seconds(1));
      break;
    }
    const bool open = child.out || child.err;
    pause_ms = open ? 0 : std::clamp<std::int64_t>(2 * pause_ms, 1, kLookEvery_ms);
    std::array<pollfd, 2> fds{{{child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(),
           static_cast<int>(std::min(left_ms, open ? kLookEvery_ms : pause_ms)));
    if (fds[0].revents != 0) read_some(child.out, keep_out);
    if (fds[1].revents != 0) read_some(child.err, keep_err);
  }
  for (int i = 0; i < kReadsAfterEnd && read_some(child.out, keep_out); ++i) {
  }
  for (int i = 0; i < kReadsAfterEnd && read_some(child.err, keep_err); ++i) {
  }
  result.status = ended.value_or(ExitStatus{});
  return result;
}

}  // namespace assay
