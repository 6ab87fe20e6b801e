#include "telemetry/child.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <asio/buffer.hpp>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::telemetry {

namespace {

constexpr std::size_t kErrTail = 512;
constexpr Nanoseconds kFirstWait = std::chrono::milliseconds(1);
constexpr Nanoseconds kLongestWait = std::chrono::milliseconds(100);

// Between fork and exec: only async-signal-safe calls. Does not return.
[[noreturn]] void become(char* const* argv, int out, int err, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(125);  // it died before the prctl
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0)
    ::_exit(125);
#ifdef SYS_close_range
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
#endif
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &standard, nullptr);
  ::sigaction(SIGINT, &standard, nullptr);
  ::sigaction(SIGTERM, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(argv[0], argv);
  static constexpr std::string_view kMessage = "cannot be executed";
  if (::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0) ::_exit(125);
  ::_exit(126);
}

// Its read end is non-blocking; the writer gets an ordinary one.
Pipe sampler_pipe() {
  Pipe pipe = make_pipe();
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0)
    throw system_error(ErrorKind::environment, "cannot set up a pipe", {}, errno);
  return pipe;
}

}  // namespace

std::shared_ptr<Child> Child::start(asio::io_context& loop, const std::vector<std::string>& argv,
                                    Hooks hooks) {
  Pipe out = sampler_pipe();
  Pipe err = sampler_pipe();
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    throw system_error(ErrorKind::environment, "cannot start a process", argv.front(), errno);
  if (pid == 0) become(pointers.data(), out.write.get(), err.write.get(), parent);
  ::setpgid(pid, pid);  // whoever comes first; needed before a kill of the group
  auto child = std::make_shared<Child>(loop, pid, std::move(out.read), std::move(err.read),
                                       std::move(hooks));
  child->read_out();
  child->read_err();
  return child;
}

Child::Child(asio::io_context& loop, int pid, UniqueFd out, UniqueFd err, Hooks hooks)
    : out_(loop, out.release()),
      err_(loop, err.release()),
      timer_(loop),
      hooks_(std::move(hooks)),
      pid_(pid) {}

void Child::read_out() {
  out_.async_read_some(asio::buffer(out_buffer_),
                       [self = shared_from_this()](asio::error_code ec, std::size_t n) {
                         if (ec == asio::error::operation_aborted || self->ended_) return;
                         if (ec) {
                           self->collect();
                           return;
                         }
                         // The hook may discard this child, and with it the hooks.
                         if (const auto hook = self->hooks_.on_data)
                           hook({self->out_buffer_.data(), n});
                         if (self->out_.is_open()) self->read_out();
                       });
}

void Child::read_err() {
  err_.async_read_some(asio::buffer(err_buffer_),
                       [self = shared_from_this()](asio::error_code ec, std::size_t n) {
                         if (ec) return;
                         self->err_tail_.append(self->err_buffer_.data(), n);
                         if (self->err_tail_.size() > kErrTail)
                           self->err_tail_.erase(0, self->err_tail_.size() - kErrTail);
                         if (self->err_.is_open()) self->read_err();
                       });
}

std::string Child::last_words() const {
  std::string text = printable(trim(err_tail_));
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  return ellipsize(text, 200);
}

// The process holds its pid, and so the group's, until it is waited for: the group can be killed
// safely as long as ended_ is false.
void Child::signal(int number) {
  if (ended_) return;
  ::kill(-pid_, number);
  if (!collecting_) collect();
}

void Child::collect() {
  if (ended_) return;
  const auto self = shared_from_this();  // the hook may let go of this object
  collecting_ = true;
  siginfo_t info{};
  ExitStatus status;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    if (info.si_pid == 0) {
      wait_ = wait_ == Nanoseconds{} ? kFirstWait : std::min(wait_ * 2, kLongestWait);
      timer_.expires_after(wait_);
      timer_.async_wait([self](asio::error_code ec) {
        if (!ec) self->collect();
      });
      return;
    }
    ::kill(-pid_, SIGKILL);  // what it may have left behind
    int word = 0;
    if (::waitpid(pid_, &word, WNOHANG) == pid_) status = ExitStatus::from_wait(word);
  }
  ended_ = true;
  if (err_.is_open())
    if (const ssize_t n = ::read(err_.native_handle(), err_buffer_.data(), err_buffer_.size());
        n > 0)
      err_tail_.append(err_buffer_.data(), static_cast<std::size_t>(n));
  close_pipes();
  if (const auto hook = std::move(hooks_.on_end)) hook(status);
  hooks_ = {};
}

void Child::close_pipes() {
  asio::error_code ignored;
  out_.close(ignored);
  err_.close(ignored);
}

void Child::discard() {
  hooks_ = {};
  kill();
  close_pipes();
}

void Child::abandon() {
  discard();
  timer_.cancel();
}

OneShot::OneShot(asio::io_context& loop, std::size_t max_output)
    : loop_(loop), timer_(loop), max_output_(max_output) {}

void OneShot::start(const std::vector<std::string>& argv, Nanoseconds timeout,
                    std::function<void(Result)> done) {
  out_.clear();
  Child::Hooks hooks;
  hooks.on_data = [this](std::string_view data) {
    out_.append(data.substr(0, max_output_ - std::min(max_output_, out_.size())));
  };
  hooks.on_end = [this](const ExitStatus& status) { finish(status, false); };
  child_ = Child::start(loop_, argv, std::move(hooks));
  done_ = std::move(done);
  timer_.expires_after(timeout);
  timer_.async_wait(
      [this, alive = std::weak_ptr<bool>(alive_), child = child_.get()](asio::error_code ec) {
        // The timer may have run out just before this object or its child went away.
        if (!ec && !alive.expired() && child_.get() == child) finish({}, true);
      });
}

void OneShot::finish(const ExitStatus& status, bool timed_out) {
  timer_.cancel();
  const std::shared_ptr<Child> child = std::exchange(child_, nullptr);
  Result result{status, std::move(out_), child->last_words(), timed_out};
  if (timed_out) {
    child->discard();
    leaving_.push_back(child);
  }
  std::erase_if(leaving_, [](const auto& old) { return old->ended(); });
  const auto done = std::exchange(done_, nullptr);
  done(std::move(result));
}

std::vector<int> OneShot::pids() const {
  std::vector<int> out;
  if (child_ && !child_->ended()) out.push_back(child_->pid());
  for (const auto& child : leaving_)
    if (!child->ended()) out.push_back(child->pid());
  return out;
}

void OneShot::terminate() {
  done_ = [](Result) {};
  if (child_) child_->terminate();
}

void OneShot::discard() {
  timer_.cancel();
  done_ = nullptr;
  if (!child_) return;
  child_->discard();
  leaving_.push_back(std::exchange(child_, nullptr));
}

void OneShot::abandon() {
  discard();
  for (const auto& child : leaving_) child->abandon();
}

}  // namespace assay::telemetry
