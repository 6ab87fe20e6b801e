#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "agent/shared_file.h"
#include "core/files.h"

namespace assay::agent {

/// The first line of who fetches a file: "ASSAY-FILE TOKEN OFFSET"; the bytes from there to the end
/// are the answer.
inline constexpr std::string_view kFetchGreeting = "ASSAY-FILE";

/// One file at one port, for whoever shows the token, on the agent's loop. A stranger costs a
/// connection for kGreetingLimit and gets no byte. Never throws after construction. The loop does
/// not run any more when it is destroyed.
class FileOffer {
 public:
  static constexpr std::size_t kConnections = 16;
  static constexpr std::chrono::seconds kGreetingLimit{5};
  static constexpr std::chrono::seconds kStalledLimit{15};  ///< without a byte that was taken

  explicit FileOffer(asio::io_context& loop);
  ~FileOffer();
  FileOffer(const FileOffer&) = delete;
  FileOffer& operator=(const FileOffer&) = delete;

  /// Instead of what was offered before.
  [[nodiscard]] FileOffered offer(const OfferFileRequest& request);
  /// Ends every connection, so that the loop can run out of work.
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
  std::list<std::weak_ptr<Connection>> connections_;
};

}  // namespace assay::agent
