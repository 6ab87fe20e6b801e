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

constexpr std::size_t kGreetingBytes = 256;
constexpr std::size_t kServedPiece = 256 << 10;
// An error of accept (no descriptors left) would repeat at once.
constexpr std::chrono::milliseconds kAcceptPause{100};

}  // namespace

class FileOffer::Connection : public LimitedConnection<Connection> {
 public:
  Connection(FileOffer& offer, tcp::socket socket)
      : LimitedConnection(std::move(socket)), offer_(offer) {}

  void start() {
    allow(kGreetingLimit);
    read();
  }

 private:
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
  if (!ec) ec = listen_at(acceptor_, at);
  if (ec) return {0, "cannot listen on " + request.address + ": " + ec.message()};
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
  connections_.close_all();
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
    // A client that has shown the token is not turned out for a stranger.
    if (connections_.count() < kConnections)
      connections_.start(std::make_shared<Connection>(*this, std::move(socket)));
    accept();
  });
}

}  // namespace assay::agent
