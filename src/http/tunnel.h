#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace assay::http {

/// A connection on which the caller speaks whatever it wants, made as those of Client are: with
/// TLS where the origin has it, through the proxy of the environment, certificates verified. Not
/// thread-safe.
class Tunnel {
 public:
  /// Throws Error of kind environment.
  Tunnel(const std::string& origin, const std::filesystem::path& ca_file,
         Nanoseconds connect_timeout = std::chrono::seconds(10));
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;
  ~Tunnel();

  /// For poll(): readable when something may have come. Ask read() until it has nothing before it
  /// is waited for again.
  [[nodiscard]] int descriptor() const noexcept;
  /// Waits until all is sent, and keeps what comes meanwhile for read(). Throws Error of kind
  /// environment when the connection is gone.
  void write(std::string_view bytes);
  /// Bytes that have come; nothing: none now; empty text: the other side has ended.
  [[nodiscard]] std::optional<std::string> read();

 private:
  [[nodiscard]] std::optional<std::string> receive();
  void keep();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::http
