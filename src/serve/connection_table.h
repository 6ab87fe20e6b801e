#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay::serve {

struct ConnectionLimits {
  std::size_t total = 128;
  std::size_t per_address = 64;             ///< people behind one gateway have one
  std::chrono::milliseconds idle{15'000};   ///< without a byte of a request
  std::chrono::milliseconds grace{10'000};  ///< from here on a request must come fast enough
  double bytes_per_s = 1024;                ///< on the average since its first byte
  std::chrono::milliseconds fresh{500};     ///< in which a new one may be over the limit
  std::size_t streams = 600;                ///< that do not count as connections
};

/// Who is connected, and whom to let go: what holds a place without using it makes room for who
/// comes. Times are of a monotonic clock. Pure; not thread-safe.
class ConnectionTable {
 public:
  using Id = std::uint64_t;

  explicit ConnectionTable(ConnectionLimits limits) : limits_(limits) {}

  /// A new connection, and whom it displaces, if anybody: that one is not counted any more. Over
  /// the limit of its address it is the least recently active of the same address; over the limit
  /// of all, of the address that has the most. What is being answered stays; where nothing else is
  /// left, the new one goes. Whoever came within `fresh` stays, too, up to sixteen times the limit.
  [[nodiscard]] std::optional<Id> opened(Id id, const std::string& address, std::int64_t now_ns);
  void received(Id id, std::size_t bytes, std::int64_t now_ns);
  /// A whole request came, and is being answered.
  void asked(Id id);
  void answered(Id id, std::int64_t now_ns);
  /// Its answer goes on: from now on it is none of the connections that displace each other. False:
  /// there are too many such.
  [[nodiscard]] bool streams(Id id);
  void closed(Id id);

  /// Those that have been silent or slow for too long.
  [[nodiscard]] std::vector<Id> overdue(std::int64_t now_ns) const;
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  struct Connection {
    std::string address;
    std::int64_t active_ns = 0;  // the last byte or answer
    std::int64_t began_ns = 0;   // the first byte of the request that is coming
    std::uint64_t bytes = 0;     // of it
    bool asked = false;
  };
  [[nodiscard]] std::optional<Id> idlest(const std::string& address, Id newest) const;
  [[nodiscard]] std::optional<Id> leaver(const std::string& address, Id newest, bool must,
                                         std::int64_t now_ns) const;
  [[nodiscard]] std::string fullest() const;

  ConnectionLimits limits_;
  std::map<Id, Connection> all_;
  std::map<std::string, std::size_t> by_address_;
  std::set<Id> streams_;
};

}  // namespace assay::serve
