#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "agent/limited_connection.h"
#include "agent/shared_file.h"
#include "core/files.h"

namespace assay::agent {

/// The first line that a client sends: "ASSAY-FILE TOKEN OFFSET"; the answer is the file from that
/// offset to its end.
inline constexpr std::string_view kFetchGreeting = "ASSAY-FILE";

/// Serves one file at one port, on the agent's loop, to clients that present the token. A stranger
/// holds a connection for kGreetingLimit and gets no data. Never throws after construction. The
/// loop must have stopped running before this is destroyed.
class FileOffer {
 public:
  static constexpr std::size_t kConnections = 16;
  static constexpr std::chrono::seconds kGreetingLimit{5};
  static constexpr std::chrono::seconds kStalledLimit{15};  ///< without the client taking a byte

  explicit FileOffer(asio::io_context& loop);
  ~FileOffer();
  FileOffer(const FileOffer&) = delete;
  FileOffer& operator=(const FileOffer&) = delete;

  /// Replaces the previous offer.
  [[nodiscard]] FileOffered offer(const OfferFileRequest& request);
  /// Closes every connection, so that the loop can run out of work.
  void close();

 private:
  class Connection;
  void accept();

  asio::io_context& loop_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::steady_timer over_;
  UniqueFd file_;
  std::uint64_t size_ = 0;
  std::string token_;
  OpenConnections<Connection> connections_;
};

}  // namespace assay::agent
