#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "core/process.h"
#include "core/text.h"
#include "core/time.h"
#include "entry/frame.h"
#include "entry/login_shell.h"
#include "entry/node_command.h"
#include "entry/round_watch.h"

namespace assay::entry {

namespace {

constexpr Nanoseconds kHangUpGrace = std::chrono::seconds(2);
// How long to read an ended program's pipes, which others may hold open.
constexpr Nanoseconds kDrainLimit = std::chrono::milliseconds(300);

void send(FrameKind kind, std::string_view content) {
  const std::string bytes = frame_bytes(kind, content);
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody is there; stdin will also show that
    left.remove_prefix(static_cast<std::size_t>(n));
  }
}

void resize(int terminal, int columns, int rows) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(std::min(std::max(columns, 1), 1000));
  size.ws_row = static_cast<unsigned short>(std::min(std::max(rows, 1), 1000));
  ::ioctl(terminal, TIOCSWINSZ, &size);
}

/// A program beside a rank, in its own session. The rest of the session is killed with it.
class EnteredProgram {
 public:
  EnteredProgram(const ProgramRequest& request, const RankPlace& place) {
    std::vector<std::string> argv = request.argv;
    const std::string shell = login_shell(place.variable("SHELL"));
    if (argv.empty()) argv = {shell};
    SpawnOptions options{.argv = std::move(argv),
                         .env = place.env,
                         .folder = ::access(place.folder.c_str(), X_OK) == 0 ? place.folder : "/",
                         .in = Stream::pipe(),
                         .out = Stream::pipe(),
                         .err = Stream::pipe(),
                         .group = Group::session};
    if (request.terminal) {
      start_on_terminal(request, options);
      return;
    }
    child_ = spawn(options);
    in_ = std::move(child_.in);
    ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    out_ = std::move(child_.out);
    err_ = std::move(child_.err);
  }
  EnteredProgram(const EnteredProgram&) = delete;
  EnteredProgram& operator=(const EnteredProgram&) = delete;
  ~EnteredProgram() {
    if (!end_) hang_up();
    // Processes still in its group were meant to stay beside the job, not to outlive this one.
    ::kill(-child_.pid(), SIGKILL);
  }

  [[nodiscard]] int out() const noexcept { return out_.get(); }
  [[nodiscard]] int err() const noexcept { return err_.get(); }
  void close_out() { out_.reset(); }
  void close_err() { err_.reset(); }

  /// Keeps input until the program takes it: it may first need to get rid of its output.
  void input(std::string_view bytes) {
    waiting_ += bytes;
    give_input();
  }
  void end_input() {
    if (terminal_) return input("\x04");
    input_ended_ = true;
    give_input();
  }
  /// A descriptor that is writable when the program takes more input; -1 if none is waiting.
  [[nodiscard]] int wants_input() const noexcept { return waiting_.empty() ? -1 : input_fd(); }
  void give_input() {
    while (input_fd() >= 0 && !waiting_.empty()) {
      const ssize_t n = ::write(input_fd(), waiting_.data(), waiting_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        waiting_.clear();  // it takes no more input
        return in_.reset();
      }
      waiting_.erase(0, static_cast<std::size_t>(n));
    }
    waiting_.clear();
    if (input_ended_) in_.reset();
  }
  void resize_to(const Window& window) const {
    if (terminal_) resize(out_.get(), window.columns, window.rows);
  }

  /// The exit status, once it has ended.
  [[nodiscard]] std::optional<ExitStatus> poll() {
    if (!end_) end_ = child_.poll();
    return end_;
  }

  void hang_up() {
    ::kill(-child_.pid(), SIGHUP);
    ::kill(-child_.pid(), SIGCONT);
    const std::int64_t deadline = mono_now_ns() + kHangUpGrace.count();
    while (!poll() && mono_now_ns() < deadline) ::poll(nullptr, 0, 20);
    ::kill(-child_.pid(), SIGKILL);
    if (!poll()) end_ = child_.wait_for(kHangUpGrace);
  }

 private:
  void start_on_terminal(const ProgramRequest& request, SpawnOptions& options) {
    out_.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    std::array<char, 128> name{};
    if (!out_ || ::grantpt(out_.get()) != 0 || ::unlockpt(out_.get()) != 0 ||
        ::ptsname_r(out_.get(), name.data(), name.size()) != 0)
      throw system_error(ErrorKind::environment, "cannot make a terminal", "", errno);
    resize(out_.get(), request.columns, request.rows);
    const UniqueFd theirs(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!theirs) throw system_error(ErrorKind::environment, "cannot open", name.data(), errno);
    std::erase_if(*options.env, [](const std::string& one) { return one.starts_with("TERM="); });
    options.env->push_back("TERM=" + request.term);
    options.in = options.out = options.err = Stream::descriptor(theirs.get());
    options.terminal = true;
    child_ = spawn(options);
    ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
    terminal_ = true;
  }

  [[nodiscard]] int input_fd() const noexcept { return terminal_ ? out_.get() : in_.get(); }

  Child child_;
  UniqueFd in_;
  std::string waiting_;  // until the program takes it
  bool input_ended_ = false;
  UniqueFd out_;  // or the terminal
  UniqueFd err_;
  bool terminal_ = false;
  std::optional<ExitStatus> end_;
};

/// Exchanges frames until the program, the stream or the round has ended.
class Conversation {
 public:
  Conversation(const NodeRequest& request, const RankPlace& place)
      : place_(place), round_(request.round, place.pid) {}

  int run() {
    while (true) {
      if (!read_frames()) return 1;  // the other side is gone
      if (program_)
        if (const auto end = program_->poll()) return finish(*end);
      if (round_.over()) {
        if (program_) program_->hang_up();
        send(FrameKind::failure, "the job's programs have ended here, and this one with them");
        return 1;
      }
      wait();
    }
  }

 private:
  // Returns false when the stream has ended.
  bool read_frames() {
    if ((ready_[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      std::array<char, 64U << 10> buffer{};
      const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return false;
      if (n > 0) reader_.feed({buffer.data(), static_cast<std::size_t>(n)});
    }
    while (const auto frame = reader_.next()) take(*frame);
    return true;
  }

  void take(const Frame& frame) {
    if (!program_) {
      if (frame.kind != FrameKind::command) throw Error(ErrorKind::config, "a command is expected");
      const auto request =
          fields_from_json<ProgramRequest>(parse_json(frame.content, "command"), "command");
      program_.emplace(request, place_);
      return;
    }
    switch (frame.kind) {
      case FrameKind::input:
        return program_->input(frame.content);
      case FrameKind::end_of_input:
        return program_->end_input();
      case FrameKind::window:
        return program_->resize_to(
            fields_from_json<Window>(parse_json(frame.content, "window"), "window"));
      default:
        throw Error(ErrorKind::config, "unexpected frame");
    }
  }

  void wait() {
    ready_[1].fd = program_ ? program_->out() : -1;
    ready_[2].fd = program_ ? program_->err() : -1;
    ready_[3].fd = round_.descriptor();
    ready_[4].fd = program_ ? program_->wants_input() : -1;
    // Reads no more than the program takes.
    ready_[0].events = ready_[4].fd < 0 ? POLLIN : 0;
    // The program's own end is not an event here and is polled for.
    if (::poll(ready_.data(), ready_.size(), program_ ? 50 : -1) <= 0) {
      for (pollfd& one : ready_) one.revents = 0;
      return;
    }
    if (ready_[4].revents != 0) program_->give_input();
    if (ready_[1].revents != 0 && !forward(program_->out(), FrameKind::output))
      program_->close_out();
    if (ready_[2].revents != 0 && !forward(program_->err(), FrameKind::error))
      program_->close_err();
  }

  // Returns false at the end.
  static bool forward(int fd, FrameKind kind) {
    static std::array<char, kMaxFrame> buffer;
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) return false;  // EIO: nobody has the terminal open
    send(kind, {buffer.data(), static_cast<std::size_t>(n)});
    return true;
  }

  int finish(const ExitStatus& end) {
    const std::int64_t deadline = mono_now_ns() + kDrainLimit.count();
    while (mono_now_ns() < deadline && (program_->out() >= 0 || program_->err() >= 0)) {
      std::array<pollfd, 2> left{{{program_->out(), POLLIN, 0}, {program_->err(), POLLIN, 0}}};
      if (::poll(left.data(), left.size(), 20) <= 0) continue;
      if (left[0].revents != 0 && !forward(program_->out(), FrameKind::output))
        program_->close_out();
      if (left[1].revents != 0 && !forward(program_->err(), FrameKind::error))
        program_->close_err();
    }
    send(FrameKind::exit, dump_line(fields_to_json(ProgramEnd{end.code, end.signal})));
    return 0;
  }

  const RankPlace& place_;
  RoundWatch round_;
  FrameReader reader_;
  std::optional<EnteredProgram> program_;
  std::array<pollfd, 5> ready_{{{STDIN_FILENO, POLLIN, 0},
                                {-1, POLLIN, 0},
                                {-1, POLLIN, 0},
                                {-1, POLLIN, 0},
                                {-1, POLLOUT, 0}}};
};

}  // namespace

int run_program(const NodeRequest& request, const RankPlace& place) {
  answer({});
  try {
    return Conversation(request, place).run();
  } catch (const Error& error) {
    send(FrameKind::failure, printable(error.message()));
    return 1;
  }
}

}  // namespace assay::entry
