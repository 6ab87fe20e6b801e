#include "agent/file_offer.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include <asio/ip/address.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/parse_number.h"
#include "core/secret_token.h"
#include "core/text.h"

namespace assay::agent {

namespace {

using asio::ip::tcp;

constexpr int kOfferBacklog = 64;
constexpr std::size_t kGreetingBytes = 256;
constexpr std::size_t kServedPiece = 256 << 10;
// An error of accept (no descriptors left) would repeat at once.
constexpr std::chrono::milliseconds kAcceptPause{100};

}  // namespace

class FileOffer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(FileOffer& offer, tcp::socket socket)
      : offer_(offer), socket_(std::move(socket)), deadline_(offer.loop_) {}

  void start() {
    allow(kGreetingLimit);
    read();
  }

  void close() {
    asio::error_code ignored;
    deadline_.cancel();
    socket_.close(ignored);
  }

 private:
  void allow(std::chrono::seconds limit) {
    deadline_.expires_after(limit);
    deadline_.async_wait([self = weak_from_this()](const asio::error_code& ec) {
      if (const auto connection = self.lock(); connection && !ec) connection->close();
    });
  }

  // Also true for a socket that was closed while this call was queued: the offer may be gone.
  bool over(const asio::error_code& ec) {
    if (!ec && socket_.is_open()) return false;
    close();
    return true;
  }

  void read() {
    socket_.async_read_some(asio::buffer(line_.data() + size_, line_.size() - size_),
                            [self = shared_from_this()](const asio::error_code& ec, std::size_t n) {
                              if (self->over(ec)) return;
                              self->size_ += n;
                              const std::string_view text(self->line_.data(), self->size_);
                              if (const auto end = text.find('\n'); end != std::string_view::npos)
                                return self->greet(text.substr(0, end));
                              if (self->size_ < self->line_.size()) return self->read();
                              self->close();
                            });
  }

  void greet(std::string_view line) {
    const auto words = split(line, ' ');
    if (words.size() != 3 || words[0] != kFetchGreeting || !same_token(words[1], offer_.token_))
      return close();
    const auto from = parse_number<std::uint64_t>(words[2]);
    if (!from || *from > offer_.size_) return close();
    at_ = *from;
    piece_.resize(kServedPiece);
    serve();
  }

  void serve() {
    const ssize_t n =
        ::pread(offer_.file_.get(), piece_.data(), piece_.size(), static_cast<off_t>(at_));
    if (n <= 0) {
      asio::error_code ignored;
      socket_.shutdown(tcp::socket::shutdown_send, ignored);
      return close();
    }
    allow(kStalledLimit);
    asio::async_write(socket_, asio::buffer(piece_.data(), static_cast<std::size_t>(n)),
                      [self = shared_from_this()](const asio::error_code& ec, std::size_t went) {
                        if (self->over(ec)) return;
                        self->at_ += went;
                        self->serve();
                      });
  }

  FileOffer& offer_;
  tcp::socket socket_;
  asio::steady_timer deadline_;
  std::array<char, kGreetingBytes> line_{};
  std::size_t size_ = 0;
  std::uint64_t at_ = 0;
  std::vector<char> piece_;
};

FileOffer::FileOffer(asio::io_context& loop)
    : loop_(loop), acceptor_(loop), pause_(loop), over_(loop) {}

FileOffer::~FileOffer() {
  close();
}

FileOffered FileOffer::offer(const OfferFileRequest& request) {
  close();
  UniqueFd file(::open(request.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return {0, request.path.string() + ": " + std::generic_category().message(errno)};
  if (static_cast<std::uint64_t>(status.st_size) != request.size)
    return {0, request.path.string() + " is not whole"};
  asio::error_code ec;
  const tcp::endpoint at(asio::ip::make_address(request.address, ec), 0);
  if (!ec) acceptor_.open(at.protocol(), ec);
  if (!ec) ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!ec) acceptor_.bind(at, ec);
  if (!ec) acceptor_.listen(kOfferBacklog, ec);
  if (ec) {
    close();
    return {0, "cannot listen on " + request.address + ": " + ec.message()};
  }
  file_ = std::move(file);
  size_ = request.size;
  token_ = request.token;
  over_.expires_after(request.limit);
  over_.async_wait([this](const asio::error_code& cancelled) {
    if (!cancelled) close();
  });
  accept();
  return {acceptor_.local_endpoint(ec).port(), {}};
}

void FileOffer::close() {
  asio::error_code ignored;
  over_.cancel();
  pause_.cancel();
  acceptor_.close(ignored);
  for (const auto& weak : connections_)
    if (const auto connection = weak.lock()) connection->close();
  connections_.clear();
  file_.reset();
}

void FileOffer::accept() {
  acceptor_.async_accept([this](const asio::error_code& ec, tcp::socket socket) {
    if (ec == asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (ec) {
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](const asio::error_code& cancelled) {
        if (!cancelled && acceptor_.is_open()) accept();
      });
      return;
    }
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    // A client that has shown the token is not turned out for a stranger.
    if (connections_.size() < kConnections) {
      const auto connection = std::make_shared<Connection>(*this, std::move(socket));
      connections_.push_back(connection);
      connection->start();
    }
    accept();
  });
}

}  // namespace assay::agent
