#include "agent/merge_commands.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "core/process.h"

namespace assay::agent {

namespace {

// The largest message of the protocol.
constexpr std::size_t kMaxWaiting = 64 << 20;
// Bounds the delay of a signal that comes just before poll().
constexpr int kLook_ms = 500;

volatile std::sig_atomic_t asked_to_end = 0;

struct Branch {
  Child child;
  std::string waiting{};  // for its input
  std::string line{};     // the beginning of an unfinished one
};

// Returns false when nobody reads any more.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void feed(Branch& branch) {
  if (!branch.child.in || branch.waiting.empty()) return;
  const ssize_t n = ::write(branch.child.in.get(), branch.waiting.data(), branch.waiting.size());
  if (n > 0) branch.waiting.erase(0, static_cast<std::size_t>(n));
  const bool gone = n < 0 && errno != EAGAIN && errno != EINTR;
  if (gone || branch.waiting.size() > kMaxWaiting) branch.child.in.reset();
}

class Merger {
 public:
  Merger(std::vector<Branch> branches, int input, int output)
      : branches_(std::move(branches)), input_(input), output_(output) {}

  int run() {
    while (std::ranges::any_of(branches_, [](const Branch& one) { return bool(one.child.out); }))
      turn();
    int code = 0;
    for (Branch& one : branches_) {
      one.child.in.reset();
      const ExitStatus status = one.child.wait();
      if (code == 0 && !status.ok()) code = status.code.value_or(128 + status.signal.value_or(0));
    }
    return code;
  }

 private:
  void turn() {
    std::vector<pollfd> ready{{input_, POLLIN, 0}};
    for (const Branch& one : branches_) {
      ready.push_back({one.child.out ? one.child.out.get() : -1, POLLIN, 0});
      ready.push_back({one.child.in && !one.waiting.empty() ? one.child.in.get() : -1, POLLOUT, 0});
    }
    const int found = ::poll(ready.data(), ready.size(), kLook_ms);
    if (asked_to_end != 0) {
      asked_to_end = 0;
      input_ = -1;
      for (Branch& one : branches_) one.child.signal(SIGTERM);
    }
    if (found < 0) return;
    if (ready[0].revents != 0) read_input();
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      if (ready[1 + 2 * i].revents != 0) read_output(branches_[i]);
      if (ready[2 + 2 * i].revents != 0) feed(branches_[i]);
      if (input_ < 0 && branches_[i].waiting.empty()) branches_[i].child.in.reset();
    }
  }

  void read_input() {
    const ssize_t n = ::read(input_, buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      input_ = -1;
      return;
    }
    for (Branch& one : branches_) {
      if (!one.child.in) continue;
      one.waiting.append(buffer_.data(), static_cast<std::size_t>(n));
      feed(one);
    }
  }

  void read_output(Branch& from) {
    const ssize_t n = ::read(from.child.out.get(), buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) return;
    if (n > 0) from.line.append(buffer_.data(), static_cast<std::size_t>(n));
    if (n <= 0) {
      if (!from.line.empty()) from.line += '\n';
      from.child.out.reset();
    }
    const auto end = from.line.rfind('\n');
    if (end == std::string::npos) return;
    // Without a reader there is nothing to run for.
    if (!write_all(output_, std::string_view(from.line).substr(0, end + 1))) input_ = -1;
    from.line.erase(0, end + 1);
  }

  std::vector<Branch> branches_;
  int input_;
  int output_;
  std::array<char, 65536> buffer_{};
};

}  // namespace

int merge_commands(const std::vector<std::vector<std::string>>& commands, int input, int output) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTERM, [](int) { asked_to_end = 1; });
  std::vector<Branch> branches;
  for (const std::vector<std::string>& command : commands) {
    Child child = spawn({.argv = command,
                         .in = Stream::pipe(),
                         .out = Stream::pipe(),
                         .err = Stream::inherit(),
                         .group = Group::shared});
    ::fcntl(child.in.get(), F_SETFL, O_NONBLOCK);
    branches.push_back({std::move(child)});
  }
  return Merger(std::move(branches), input, output).run();
}

}  // namespace assay::agent
