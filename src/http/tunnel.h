#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace assay::http {

/// A connection for any protocol, made like those of Client: with TLS if the origin has it, through
/// the environment's proxy, with verified certificates. Not thread-safe.
class Tunnel {
 public:
  /// Throws Error of kind environment.
  Tunnel(const std::string& origin, const std::filesystem::path& ca_file,
         Nanoseconds connect_timeout = std::chrono::seconds(10));
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;
  ~Tunnel();

  /// For poll(): readable if data may have come. Call read() until it returns nothing before
  /// waiting again.
  [[nodiscard]] int descriptor() const noexcept;
  /// Waits until everything is sent, and keeps data that comes meanwhile for read(). Throws Error
  /// of kind environment if the connection is lost.
  void write(std::string_view bytes);
  /// Received bytes; nothing if none are available; empty text if the other side has ended.
  [[nodiscard]] std::optional<std::string> read();

 private:
  [[nodiscard]] std::optional<std::string> receive();
  void keep();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::http
