#include "launch/agents/channel.h"

#include <cerrno>
#include <cstring>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/guardian.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/process_tree.h"
#include "core/text.h"
#include "core/time.h"
#include "launch/agents/launch_command.h"

namespace assay::launch {

namespace {

constexpr std::size_t kErrorTail = 2000;

// How long a command that was asked to end has for it, and one whose output has ended.
constexpr std::chrono::milliseconds kAskedLimit{3000};
constexpr std::chrono::milliseconds kExitLimit{100};
constexpr std::chrono::milliseconds kLook{2};
constexpr std::size_t kUploadPiece = 1 << 18;

}  // namespace

Channel::Channel(asio::io_context& loop, ChannelCommand command, Handlers handlers)
    : command_(std::move(command)),
      handlers_(std::move(handlers)),
      input_(loop),
      output_(loop),
      errors_(loop),
      decoder_([this](int node, const Json& message) { handlers_.message(node, message); },
               [this](std::string_view line) { on_noise(line); }) {}

std::shared_ptr<Channel> Channel::open(asio::io_context& loop, ChannelCommand command,
                                       Handlers handlers) {
  std::shared_ptr<Channel> channel(new Channel(loop, std::move(command), std::move(handlers)));
  channel->start();
  return channel;
}

void Channel::start() {
  Child child = spawn(command_options(command_.argv, command_.label));
  pid_ = child.release();
  input_.assign(child.in.release());
  output_.assign(child.out.release());
  errors_.assign(child.err.release());
  read_messages();
  read_errors();
}

void Channel::on_noise(std::string_view line) {
  // "ASSAY-SEND-BUNDLE 1048576": all but the first bytes, which a broken connection left there.
  const std::string_view said = trim(line);
  if (said.starts_with(kSendBundle) && !command_.bundle.empty() && !upload_) {
    const auto from = parse_number<std::uint64_t>(trim(said.substr(kSendBundle.size())));
    return begin_upload(from.value_or(0));
  }
  error_tail_ += printable(line) + "\n";
  if (error_tail_.size() > kErrorTail) error_tail_.erase(0, error_tail_.size() - kErrorTail);
}

void Channel::begin_upload(std::uint64_t from) {
  upload_.reset(::open(command_.bundle.c_str(), O_RDONLY | O_CLOEXEC));
  const off_t size = ::lseek(upload_.get(), 0, SEEK_END);
  sent_ = {from, size > 0 ? static_cast<std::uint64_t>(size) : 0, from, mono_now_ns(),
           mono_now_ns()};
  ::lseek(upload_.get(), static_cast<off_t>(from), SEEK_SET);
  upload_next();
}

// Nothing else is written meanwhile: requests follow the hello, and that follows the upload.
void Channel::upload_next() {
  upload_piece_.resize(kUploadPiece);
  const ssize_t n = ::read(upload_.get(), upload_piece_.data(), upload_piece_.size());
  if (n <= 0) {
    upload_piece_ = {};
    return;
  }
  asio::async_write(
      input_, asio::buffer(upload_piece_.data(), static_cast<std::size_t>(n)),
      [this, self = shared_from_this()](const asio::error_code& ec, std::size_t went) {
        if (ec) return;  // the end of the output gives the reason
        sent_.sent += went;
        sent_.moved_ns = mono_now_ns();
        upload_next();
      });
}

Channel::~Channel() {
  if (pid_ <= 0) return;
  // Nobody awaited its end: the loop itself ends.
  if (command_.ask_to_end) {
    ::kill(pid_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kAskedLimit;
    while (!collect() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 30);
    if (pid_ <= 0) return;
  }
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Whether the command is gone.
bool Channel::collect() noexcept {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;
    exit_ = ExitStatus::from_wait(status);
  }
  return pid_ <= 0;
}

asio::awaitable<bool> Channel::gone_within(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  asio::steady_timer timer(input_.get_executor());
  while (!collect()) {
    if (std::chrono::steady_clock::now() >= deadline) co_return false;
    timer.expires_after(kLook);
    asio::error_code ec;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return true;
}

void Channel::read_messages() {
  output_.async_read_some(
      asio::buffer(output_buffer_),
      [this, self = shared_from_this()](const asio::error_code& ec, std::size_t n) {
        if (ec == asio::error::operation_aborted) return;
        if (ec) return end("its connection ended");
        decoder_.feed({output_buffer_.data(), n});
        read_messages();
      });
}

void Channel::read_errors() {
  errors_.async_read_some(
      asio::buffer(error_buffer_),
      [this, self = shared_from_this()](const asio::error_code& ec, std::size_t n) {
        if (ec) return;
        keep_errors(n);
        if (!closed_) read_errors();
      });
}

void Channel::keep_errors(std::size_t n) {
  error_tail_.append(error_buffer_.data(), n);
  if (error_tail_.size() > kErrorTail) error_tail_.erase(0, error_tail_.size() - kErrorTail);
}

// The last lines of the command may still be in the pipe. Does not wait for the end of the pipe: a
// connection that ssh keeps for others holds it open.
void Channel::drain_errors() {
  asio::error_code ec;
  errors_.non_blocking(true, ec);
  while (!ec) {
    const std::size_t n = errors_.read_some(asio::buffer(error_buffer_), ec);
    if (!ec) keep_errors(n);
  }
}

void Channel::end(const std::string& how) {
  if (closed_) return;
  closed_ = true;
  asio::co_spawn(input_.get_executor(), finish(how),
                 [self = shared_from_this()](const std::exception_ptr&) {});
}

asio::awaitable<void> Channel::finish(std::string reason) {
  // The output is at its end, so the process is ending; it gets a moment to exit.
  if (co_await gone_within(kExitLimit) && exit_) reason = "ended with " + to_string(*exit_);
  co_await kill();
  // A read that is done but not yet handled comes before what is posted now; one that is not done
  // leaves its bytes in the pipe.
  asio::error_code ignored;
  errors_.cancel(ignored);
  co_await asio::post(errors_.get_executor(), asio::use_awaitable);
  drain_errors();
  const std::string_view tail = trim(error_tail_);
  if (!tail.empty()) reason += ": " + printable(tail);
  handlers_.closed(reason);
}

void Channel::send(int node, const Json& message) {
  if (closed_ || !input_.is_open()) return;
  outbox_.push_back(encoder_.encode(node, message));
  if (!writing_) flush();
}

void Channel::flush() {
  writing_ = true;
  asio::async_write(input_, asio::buffer(outbox_.front()),
                    [this, self = shared_from_this()](const asio::error_code& ec, std::size_t) {
                      if (ec == asio::error::operation_aborted) return;
                      writing_ = false;
                      if (ec) {
                        outbox_.clear();  // the end of the output will give the reason
                        return;
                      }
                      outbox_.pop_front();
                      if (!outbox_.empty())
                        flush();
                      else if (close_requested_)
                        input_.close();
                    });
}

void Channel::close_input() {
  close_requested_ = true;
  if (!writing_ && input_.is_open()) input_.close();
}

void Channel::silence() {
  silenced_ = true;
  handlers_ = {[](int, const Json&) {}, [](const std::string&) {}};
}

asio::awaitable<void> Channel::kill() {
  asio::error_code ignored;
  input_.close(ignored);
  if (command_.ask_to_end && pid_ > 0) {
    ::kill(pid_, SIGTERM);
    if (co_await gone_within(kAskedLimit)) co_return;
  }
  // An agent's guardian kills what is below it; any other command ends by this signal, too.
  if (pid_ > 0) ::kill(pid_, agent::guardian_gone_signal());
  if (!co_await gone_within(kAskedLimit) && pid_ > 0) {
    for (const pid_t below : descendants(pid_)) ::kill(below, SIGKILL);
    ::kill(pid_, SIGKILL);
  }
  co_await gone_within(kAskedLimit);
  // What it left may hold the other ends of the pipes for ever.
  if (!silenced_) co_return;
  output_.close(ignored);
  errors_.close(ignored);
}

}  // namespace assay::launch
