#include "train/automl/coordinator_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json_error.h"
#include "core/time.h"

namespace assay::train {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How often a waiting thread checks whether it should give up.
constexpr milliseconds kLook{100};
// Older drops belong to trials that ended long ago.
constexpr std::size_t kMaxDropped = 64;

struct Target {
  std::string host;
  std::string port;
};

Target parse(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  Target target;
  if (colon != std::string::npos) {
    target = {address.substr(0, colon), address.substr(colon + 1)};
    if (target.host.size() > 2 && target.host.front() == '[' && target.host.back() == ']')
      target.host = target.host.substr(1, target.host.size() - 2);
  }
  const bool number = !target.port.empty() && target.port.size() <= 5 &&
                      std::all_of(target.port.begin(), target.port.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  if (target.host.empty() || !number)
    throw Error(ErrorKind::usage, fmt::format("'{}' is not host:port", address),
                automl::kAddressVariable);
  return target;
}

// A socket connected by `deadline`; otherwise, sets `why`.
UniqueFd try_connect(const Target& target, Clock::time_point deadline, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found)) {
    why = ::gai_strerror(code);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, ::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    UniqueFd fd(
        ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) continue;
    int code = ::connect(fd.get(), address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (code == EINPROGRESS) {
      pollfd writable{fd.get(), POLLOUT, 0};
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
      socklen_t size = sizeof code;
      if (::poll(&writable, 1, static_cast<int>(std::clamp<std::int64_t>(left, 1, 10'000))) <= 0)
        code = ETIMEDOUT;
      else
        ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    }
    if (code == 0) return fd;
    why = std::strerror(code);
  }
  return {};
}

}  // namespace

Connection::Connection(const ConnectionOptions& options, const automl::Hello& hello)
    : options_(options), where_("coordinator " + options.address) {
  connect(options);
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) throw system_error(ErrorKind::environment, "cannot make an event", {}, errno);
  send(hello);
  thread_ = std::thread([this] { serve(); });
}

Connection::~Connection() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake();
  thread_.join();
}

void Connection::connect(const ConnectionOptions& options) {
  const Target target = parse(options.address);
  const auto deadline = Clock::now() + options.connect;
  std::string why = "no answer";
  for (;;) {
    socket_ = try_connect(target, deadline, why);
    if (socket_) break;
    if (options.give_up && options.give_up())
      throw ConnectionError(ErrorKind::environment, "was not reached before the end", where_);
    if (Clock::now() >= deadline)
      throw ConnectionError(
          ErrorKind::environment,
          fmt::format("cannot be reached within {} s: {}", seconds(options.connect), why), where_,
          "is the experiment still running, and is its port open from here?");
    std::this_thread::sleep_for(milliseconds(200));
  }
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto silence = static_cast<unsigned>(options.silence.count());
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
}

void Connection::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(wake_.get(), &one, sizeof one);
}

void Connection::send(const automl::WorkerMessage& message) {
  send_later([line = automl::encode(message)] { return line; });
}

void Connection::ask() {
  {
    const std::lock_guard lock(mutex_);
    ++asked_;
  }
  send(automl::Ready{});
}

void Connection::send_later(std::function<std::string()> make) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(make));
  }
  wake();
}

void Connection::broken(const std::string& what, const std::string& advice, bool was_cut) {
  const std::lock_guard lock(mutex_);
  if (!error_) {
    error_.emplace(ErrorKind::environment, what, where_, advice);
    error_->was_cut = was_cut;
  }
  changed_.notify_all();
}

// Sends as much as the socket accepts.
void Connection::flush() {
  for (;;) {
    if (sent_ == sending_.size()) {
      std::function<std::string()> make;
      {
        const std::lock_guard lock(mutex_);
        if (queue_.empty()) break;
        make = std::move(queue_.front());
        queue_.pop_front();
      }
      sending_ = make();
      sent_ = 0;
    }
    const ssize_t n = ::send(socket_.get(), sending_.data() + sent_, sending_.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      broken(fmt::format("the connection broke while sending: {}", std::strerror(errno)), {}, true);
      return;
    }
  }
  sending_.clear();
  sent_ = 0;
}

void Connection::handle(const automl::CoordinatorMessage& message) {
  if (const auto* refuse = std::get_if<automl::Refuse>(&message)) {
    broken("refuses this worker: " + refuse->reason,
           "a worker has to be started by the run that it works for, with the same version");
    return;
  }
  const std::lock_guard lock(mutex_);
  if (const auto* trial = std::get_if<automl::Trial>(&message)) {
    if (asked_ == 0)
      throw Error(ErrorKind::round_failed, fmt::format("trial {} was not asked for", trial->trial),
                  where_);
    --asked_;
    std::erase(dropped_, trial->trial);  // this is another attempt of it
    trial_ = *trial;
  }
  if (const auto* drop = std::get_if<automl::Drop>(&message)) {
    dropped_.push_back(drop->trial);
    if (dropped_.size() > kMaxDropped) dropped_.pop_front();
  }
  if (std::holds_alternative<automl::Stop>(message)) stop_ = true;
  changed_.notify_all();
}

void Connection::receive() {
  std::array<char, 65536> buffer;
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    broken(n == 0 ? "has closed the connection"
                  : fmt::format("the connection broke: {}", std::strerror(errno)),
           "see the log of the run that this worker belongs to", true);
    return;
  }
  framing_.feed({buffer.data(), static_cast<std::size_t>(n)});
  for (;;) {
    if (receiving_) {
      progressed();
      {
        const std::lock_guard lock(mutex_);
        received_bytes_ += n;
        changed_.notify_all();
      }
      std::optional<std::string> bytes = framing_.raw(receiving_->bytes);
      if (!bytes) return;
      const std::lock_guard lock(mutex_);
      weights_.emplace(receiving_->trial, std::move(*bytes));
      receiving_.reset();
      changed_.notify_all();
      continue;
    }
    const std::optional<std::string> line = framing_.line(where_);
    if (!line) return;
    const automl::CoordinatorMessage message = automl::decode_coordinator_message(*line, where_);
    if (const auto* weights = std::get_if<automl::Weights>(&message))
      receiving_ = *weights;
    else
      handle(message);
  }
}

void Connection::serve() {
  auto next_alive = Clock::now() + options_.alive;
  std::optional<Clock::time_point> last_moment;
  try {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (error_) return;
        if (closing_ && !last_moment) last_moment = Clock::now() + options_.silence;
        if (closing_ &&
            ((queue_.empty() && sent_ == sending_.size()) || Clock::now() >= *last_moment))
          return;
      }
      if (Clock::now() >= next_alive) {
        // Queued after the current output: a line within raw bytes would be taken for part of them.
        send(automl::Alive{progress_.load(std::memory_order_relaxed)});
        next_alive = Clock::now() + options_.alive;
      }
      flush();
      const auto left = std::chrono::duration_cast<milliseconds>(next_alive - Clock::now());
      const bool more = sent_ < sending_.size();
      std::array<pollfd, 2> fds{
          {{socket_.get(), static_cast<short>(POLLIN | (more ? POLLOUT : 0)), 0},
           {wake_.get(), POLLIN, 0}}};
      const std::int64_t wait = std::clamp<std::int64_t>(left.count(), 0, 1000);
      ::poll(fds.data(), fds.size(), static_cast<int>(wait));
      if (fds[1].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto ignored = ::read(wake_.get(), &count, sizeof count);
      }
      if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive();
    }
  } catch (const Error& error) {
    broken(error.message(), error.advice());
  } catch (const std::exception& error) {
    broken(plain_error(error));
  }
}

void Connection::check() {
  if (error_) throw ConnectionError(*error_);
}

std::optional<automl::Trial> Connection::next_trial(milliseconds timeout,
                                                    const std::function<bool()>& give_up) {
  const auto deadline = Clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (!trial_) {
    if (stop_) return std::nullopt;
    check();
    if (give_up()) return std::nullopt;
    if (Clock::now() >= deadline)
      throw ConnectionError(ErrorKind::environment,
                            fmt::format("has given no trial for {} s", seconds(timeout)), where_,
                            "is the search stuck? see the log of the run");
    changed_.wait_for(lock, kLook);
  }
  if (stop_) return std::nullopt;
  std::optional<automl::Trial> trial = std::move(trial_);
  trial_.reset();
  return trial;
}

std::string Connection::weights(std::int64_t trial, milliseconds timeout,
                                const std::function<bool()>& give_up) {
  send(automl::Fetch{trial});
  auto deadline = Clock::now() + timeout;
  std::unique_lock lock(mutex_);
  std::int64_t seen = received_bytes_;
  for (;;) {
    if (weights_ && weights_->first == trial) {
      std::string bytes = std::move(weights_->second);
      weights_.reset();
      return bytes;
    }
    if (stop_ || give_up()) return {};
    check();
    if (received_bytes_ != seen) {
      seen = received_bytes_;
      deadline = Clock::now() + timeout;
    }
    if (Clock::now() >= deadline)
      throw ConnectionError(
          ErrorKind::environment,
          fmt::format("has not sent the weights of trial {} for {} s", trial, seconds(timeout)),
          where_);
    changed_.wait_for(lock, kLook);
  }
}

bool Connection::ended(std::int64_t trial) {
  const std::lock_guard lock(mutex_);
  return stop_ || error_ || std::find(dropped_.begin(), dropped_.end(), trial) != dropped_.end();
}

bool Connection::is_broken() {
  const std::lock_guard lock(mutex_);
  return error_.has_value();
}

bool Connection::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

}  // namespace assay::train
