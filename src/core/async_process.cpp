#include "core/async_process.h"

#include <algorithm>
#include <csignal>

#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <sys/syscall.h>
#include <unistd.h>

namespace assay {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Nanoseconds kFirstLook = std::chrono::milliseconds(1);
constexpr Nanoseconds kLastLook = std::chrono::milliseconds(100);
constexpr std::size_t kPiece = std::size_t{16} << 10;
// Reads of what an ended program left in its pipe; bounded because others may still write to it.
constexpr int kReadsAtEnd = 128;

}  // namespace

std::shared_ptr<AsyncProcess> AsyncProcess::start(const asio::any_io_executor& executor,
                                                  SpawnOptions options, const RunLimits& limits,
                                                  Hooks hooks, std::string input, bool kill_rest) {
  options.out = Stream::pipe();
  options.err = Stream::pipe();
  options.in = input.empty() ? Stream::null() : Stream::pipe();
  const auto piece = std::max(kPiece, static_cast<std::size_t>(options.pipe_bytes));
  auto process = std::make_shared<AsyncProcess>(executor, spawn(options), limits, std::move(hooks),
                                                std::move(input), kill_rest);
  process->buffer_.resize(piece);
  process->write_input();
  process->read(process->out_);
  process->read(process->err_);
  process->watch_end();
  process->watch_limits();
  return process;
}

AsyncProcess::AsyncProcess(const asio::any_io_executor& executor, Child child,
                           const RunLimits& limits, Hooks hooks, std::string input, bool kill_rest)
    : child_(std::move(child)),
      limits_(limits),
      hooks_(std::move(hooks)),
      input_(std::move(input)),
      kill_rest_(kill_rest),
      in_(executor),
      out_(executor, child_.out.release()),
      err_(executor, child_.err.release()),
      end_(executor),
      look_(executor),
      limit_(executor) {
  asio::error_code ignored;
  out_.non_blocking(true, ignored);
  err_.non_blocking(true, ignored);
  if (child_.in) in_.assign(child_.in.release());
  const auto end = static_cast<int>(::syscall(SYS_pidfd_open, child_.pid(), 0));
  if (end >= 0) end_.assign(end);
}

void AsyncProcess::write_input() {
  if (!in_.is_open()) return;
  asio::async_write(in_, asio::buffer(input_),
                    [self = shared_from_this()](asio::error_code, std::size_t) {
                      asio::error_code ignored;
                      self->in_.close(ignored);
                    });
}

// Waits and reads in two steps: otherwise the end of the process could overtake bytes that were
// read but not yet handled.
void AsyncProcess::read(asio::posix::stream_descriptor& stream) {
  stream.async_wait(asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this(), &stream](asio::error_code ec) {
                      if (ec || !stream.is_open()) return;
                      ec = self->take(stream);
                      if (!stream.is_open()) return;
                      if (!ec || ec == asio::error::would_block) return self->read(stream);
                      self->pause_ = {};  // it is about to end
                      self->watch_end();
                    });
}

// Reads once, without waiting.
asio::error_code AsyncProcess::take(asio::posix::stream_descriptor& stream) {
  asio::error_code ec;
  const std::size_t n = stream.read_some(asio::buffer(buffer_), ec);
  if (ec) return ec;
  const std::string_view bytes(buffer_.data(), n);
  if (&stream == &err_) {
    append_tail(result_.err, bytes, limits_.max_errors);
    return ec;
  }
  heard_ = Clock::now();
  // The hook may leave this process and so destroy the hooks.
  if (const auto hook = hooks_.on_output)
    hook(bytes);
  else
    result_.out.append(bytes.substr(0, limits_.max_output - result_.out.size()));
  return ec;
}

void AsyncProcess::watch_end() {
  if (ended()) return;
  if (end_.is_open()) {
    end_.cancel();
    end_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this()](asio::error_code ec) {
                      if (!ec) self->collect();
                    });
    return;
  }
  pause_ = std::clamp(2 * pause_, kFirstLook, kLastLook);
  look_.expires_after(pause_);
  look_.async_wait([self = shared_from_this()](asio::error_code ec) {
    if (!ec) self->collect();
  });
}

void AsyncProcess::watch_limits() {
  auto deadline = Clock::time_point::max();
  if (limits_.total.count() > 0) deadline = started_ + limits_.total;
  if (limits_.silence.count() > 0) deadline = std::min(deadline, heard_ + limits_.silence);
  if (deadline == Clock::time_point::max() || ended()) return;
  if (Clock::now() >= deadline) {
    result_.timed_out = true;
    signal(SIGKILL);
    finish({});
    return;
  }
  limit_.expires_at(deadline);
  limit_.async_wait([self = shared_from_this()](asio::error_code ec) {
    if (!ec) self->watch_limits();
  });
}

void AsyncProcess::signal(int number) {
  child_.signal(number);
  pause_ = {};
  watch_end();
}

void AsyncProcess::collect() {
  if (ended()) return;
  const auto status = child_.poll(kill_rest_);
  if (!status) {
    watch_end();
    return;
  }
  asio::error_code ignored;
  end_.close(ignored);
  finish(*status);
}

// Called a second time when a process that exceeded its limits is collected.
void AsyncProcess::finish(const ExitStatus& status) {
  const auto self = shared_from_this();  // the hook may let go of this object
  limit_.cancel();
  for (auto* stream : {&out_, &err_})
    for (int i = 0; i < kReadsAtEnd && stream->is_open() && !take(*stream); ++i) {
    }
  close_pipes();
  result_.status = status;
  if (const auto hook = std::exchange(hooks_, {}).on_end) hook(std::move(result_));
}

void AsyncProcess::close_pipes() {
  asio::error_code ignored;
  in_.close(ignored);
  out_.close(ignored);
  err_.close(ignored);
}

void AsyncProcess::leave(int signal_number) {
  hooks_ = {};
  limit_.cancel();
  if (ended()) return;
  signal(signal_number);
  if (signal_number == SIGKILL) close_pipes();
}

void AsyncProcess::abandon() {
  discard();
  child_.release();
  asio::error_code ignored;
  end_.close(ignored);
  look_.cancel();
}

}  // namespace assay
