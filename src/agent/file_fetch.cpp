#include "agent/file_fetch.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/connectivity.h"
#include "agent/file_offer.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/units.h"

namespace assay::agent {

namespace {

constexpr std::int64_t kProgressEvery_ns = 1'000'000'000;
constexpr std::uint64_t kMaxPiece = 64 << 20;

/// Only used within this file.
struct Failure {
  FetchFault fault;
  std::string problem;
};

std::string system_text(int error) {
  return std::generic_category().message(error);
}

class Fetch {
 public:
  Fetch(const FetchFileRequest& request, const std::function<void(std::uint64_t)>& progress)
      : request_(request),
        content_(request.content),
        progress_(progress),
        deadline_ns_(mono_now_ns() + request.limit.count()) {}

  [[nodiscard]] FileFetched run() {
    FileFetched out;
    try {
      check_content();
      open_file();
      take_up();
      out.have = have_;
      if (have_ < content_.size) receive();
    } catch (const Failure& failure) {
      out.fault = failure.fault;
      out.problem = failure.problem;
    }
    out.moved = have_ - out.have;
    out.have = have_;
    return out;
  }

 private:
  void check_content() const {
    const std::uint64_t piece = content_.piece_bytes;
    if (piece == 0 || piece > kMaxPiece ||
        content_.pieces.size() != (content_.size + piece - 1) / piece)
      throw Failure{FetchFault::own, "the pieces do not make up the file"};
  }

  void open_file() {
    std::error_code ec;
    std::filesystem::create_directories(request_.path.parent_path(), ec);
    file_.reset(::open(request_.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file_) throw Failure{FetchFault::own, request_.path.string() + ": " + system_text(errno)};
    // The same lock as for a start over ssh.
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
      throw Failure{FetchFault::own, "another start receives " + request_.path.string()};
  }

  [[nodiscard]] std::size_t piece_size(std::uint64_t at) const {
    return static_cast<std::size_t>(std::min(content_.piece_bytes, content_.size - at));
  }
  [[nodiscard]] bool is_right(std::uint64_t at, std::string_view data) const {
    return sha256(data) == content_.pieces[at / content_.piece_bytes];
  }

  /// Takes over the correct part of what an earlier attempt left.
  void take_up() {
    buffer_.resize(static_cast<std::size_t>(content_.piece_bytes));
    while (have_ < content_.size) {
      const std::size_t size = piece_size(have_);
      std::size_t n = 0;
      while (n < size) {
        const ssize_t got =
            ::pread(file_.get(), buffer_.data() + n, size - n, static_cast<off_t>(have_ + n));
        if (got <= 0) break;
        n += static_cast<std::size_t>(got);
      }
      if (n < size || !is_right(have_, {buffer_.data(), size})) break;
      have_ += size;
    }
    if (::ftruncate(file_.get(), static_cast<off_t>(have_)) != 0)
      throw Failure{FetchFault::own, request_.path.string() + ": " + system_text(errno)};
  }

  void receive() {
    Connection to = connect_one(request_.address, request_.port, kFetchConnectLimit);
    if (!to.problem.empty()) throw Failure{FetchFault::unreachable, to.problem};
    socket_ = std::move(to.socket);
    const std::string greeting = fmt::format("{} {} {}\n", kFetchGreeting, request_.token, have_);
    // The greeting fits into the buffer of a new connection.
    if (::send(socket_.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(greeting.size()))
      throw Failure{FetchFault::broken, system_text(errno)};
    while (have_ < content_.size) {
      const std::size_t size = piece_size(have_);
      receive_piece(size);
      const std::string_view data(buffer_.data(), size);
      if (!is_right(have_, data))
        throw Failure{FetchFault::damaged,
                      fmt::format("what came is not the file: the bytes from {} to {} have another "
                                  "hash than the controller's",
                                  have_, have_ + size)};
      write_piece(data);
      have_ += size;
    }
  }

  void receive_piece(std::size_t size) {
    const std::int64_t piece_end_ns = mono_now_ns() + kPieceLimit.count();
    for (std::size_t n = 0; n < size;) {
      const std::int64_t now_ns = mono_now_ns();
      const std::int64_t left_ns = std::min(deadline_ns_, piece_end_ns) - now_ns;
      if (left_ns <= 0)
        throw Failure{FetchFault::slow,
                      now_ns >= deadline_ns_
                          ? fmt::format("not there within {}", format_duration(request_.limit))
                          : fmt::format("only {} in {}", format_bytes(static_cast<double>(n)),
                                        format_duration(kPieceLimit))};
      pollfd ready{socket_.get(), POLLIN, 0};
      const int wait_ms = static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, 1000));
      if (::poll(&ready, 1, wait_ms) < 0 && errno != EINTR)
        throw Failure{FetchFault::own, system_text(errno)};
      say_progress(have_ + n);
      if (ready.revents == 0) continue;
      const ssize_t got = ::recv(socket_.get(), buffer_.data() + n, size - n, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got < 0) throw Failure{FetchFault::broken, system_text(errno)};
      if (got == 0)
        throw Failure{FetchFault::broken, fmt::format("the connection ended after {} of {} bytes",
                                                      have_ + n, content_.size)};
      n += static_cast<std::size_t>(got);
    }
  }

  void write_piece(std::string_view data) const {
    for (std::size_t n = 0; n < data.size();) {
      const ssize_t wrote =
          ::pwrite(file_.get(), data.data() + n, data.size() - n, static_cast<off_t>(have_ + n));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0)
        throw Failure{FetchFault::own, request_.path.string() + ": " + system_text(errno)};
      n += static_cast<std::size_t>(wrote);
    }
  }

  void say_progress(std::uint64_t have) {
    if (mono_now_ns() - said_ns_ < kProgressEvery_ns) return;
    said_ns_ = mono_now_ns();
    progress_(have);
  }

  const FetchFileRequest& request_;
  const FileContent& content_;
  const std::function<void(std::uint64_t)>& progress_;
  std::int64_t deadline_ns_;
  std::int64_t said_ns_ = mono_now_ns();
  UniqueFd file_;
  UniqueFd socket_;
  std::uint64_t have_ = 0;
  std::vector<char> buffer_;
};

}  // namespace

FileFetched fetch_file(const FetchFileRequest& request,
                       const std::function<void(std::uint64_t)>& progress) {
  return Fetch(request, progress).run();
}

}  // namespace assay::agent
