#include "agent/served_program.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <signal.h>
#include <unistd.h>

#include "agent/adopt_pipe.h"
#include "core/parse_number.h"

namespace assay::agent {

using entry::FrameKind;

namespace {

constexpr auto kHangUpGrace = std::chrono::seconds(2);

Child start(SpawnOptions options) {
  options.in = Stream::pipe();
  options.out = Stream::pipe();
  options.err = Stream::pipe();
  return spawn(options);
}

}  // namespace

ServedProgram::ServedProgram(asio::io_context& loop, SpawnOptions options, Say say)
    : child_(start(std::move(options))),
      say_(std::move(say)),
      input_(loop),
      out_(loop),
      err_(loop),
      kill_(loop) {
  adopt(input_, child_.in);
  adopt(out_.pipe, child_.out);
  adopt(err_.pipe, child_.err);
  err_.kind = FrameKind::error;
}

void ServedProgram::listen() {
  wait_for(out_);
  wait_for(err_);
}

void ServedProgram::wait_for(Output& output) {
  if (output.waits || !output.pipe.is_open() || on_the_way_ >= kRelayWindow) return;
  output.waits = true;
  output.pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this, self = shared_from_this(), &output](const asio::error_code& ec) {
                           output.waits = false;
                           if (ec || !child_.running()) return;
                           (void)forward(output);
                           wait_for(output);
                         });
}

bool ServedProgram::forward(Output& output) {
  std::array<char, kRelayPiece> buffer{};
  const ssize_t n = ::read(output.pipe.native_handle(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    output.pipe.close();
    return false;
  }
  on_the_way_ += static_cast<std::size_t>(n);
  say_(output.kind, {buffer.data(), static_cast<std::size_t>(n)});
  return true;
}

void ServedProgram::take(FrameKind kind, std::string_view content) {
  if (kind == FrameKind::input) {
    pending_ += content;
    write_input();
  } else if (kind == FrameKind::end_of_input) {
    input_ends_ = true;
    write_input();
  } else if (kind == kTaken) {
    on_the_way_ -= std::min(on_the_way_, parse_number<std::size_t>(content).value_or(0));
    listen();
  } else if (kind == kHangUp) {
    hang_up();
  }
}

void ServedProgram::hang_up() {
  signal(SIGHUP);
  signal(SIGCONT);
  kill_.expires_after(kHangUpGrace);
  kill_.async_wait([this, self = shared_from_this()](const asio::error_code& ec) {
    if (!ec) signal(SIGKILL);
  });
}

void ServedProgram::write_input() {
  if (writing_ || !input_.is_open()) return;
  while (!pending_.empty()) {
    const ssize_t n = ::write(input_.native_handle(), pending_.data(), pending_.size());
    if (n < 0 && errno == EAGAIN) {
      writing_ = true;
      input_.async_wait(asio::posix::stream_descriptor::wait_write,
                        [this, self = shared_from_this()](const asio::error_code& ec) {
                          writing_ = false;
                          if (!ec) write_input();
                        });
      return;
    }
    if (n < 0 && errno == EINTR) continue;
    // The program stopped reading: further input is discarded, and its sender must not wait.
    const std::size_t taken = n > 0 ? static_cast<std::size_t>(n) : pending_.size();
    say_(kTaken, std::to_string(taken));
    pending_.erase(0, taken);
  }
  if (input_ends_) input_.close();
}

bool ServedProgram::reap() {
  if (!child_.running()) return false;
  const auto end = child_.poll();
  if (!end) return false;
  // All its output is in the pipes; others that may hold them open are not waited for.
  for (Output* output : {&out_, &err_}) {
    while (output->pipe.is_open() && forward(*output)) {
    }
  }
  close();
  say_(FrameKind::exit, dump_line(fields_to_json(entry::ProgramEnd{end->code, end->signal})));
  return true;
}

void ServedProgram::close() {
  asio::error_code ignored;
  for (auto* pipe : {&input_, &out_.pipe, &err_.pipe})
    if (pipe->is_open()) pipe->close(ignored);
  kill_.cancel();
}

}  // namespace assay::agent
