#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace assay::client {

/// A server of the platform (`assay serve`), and who asks.
struct Server {
  std::string url{};                ///< "https://host:port"
  std::string token{};              ///< empty: nobody has signed in; never in an Error
  std::filesystem::path ca_file{};  ///< certificate to trust; empty: the system's
  std::string source{};             ///< where the address is from, for people: "--server"
};

/// Where a server and a token may be named, the first place first: the command line, ASSAY_SERVER
/// with ASSAY_TOKEN, what `assay login` wrote, and a server that runs on this machine.
struct ServerPlaces {
  std::string given_url{};  ///< --server; empty: not given
  std::string given_ca{};   ///< --ca
  /// A variable of the environment; empty where there is none.
  std::function<std::string(const char*)> variable{};
  std::filesystem::path login_file{};  ///< of write_login()
  std::filesystem::path data{};        ///< of a server on this machine: server.json, admin.token
};

/// The places of this user: the environment, ~/.config/assay/server.json (XDG_CONFIG_HOME is
/// respected) and the default data folder of `assay serve`.
[[nodiscard]] ServerPlaces usual_places();

/// The data folder that `assay serve` uses when none is given.
inline constexpr const char* kDefaultData = "tester";

/// Throws Error of kind usage when no place names a server, and says what can be done; of kind
/// config or environment when a file cannot be used (damaged, or readable by others).
[[nodiscard]] Server find_server(const ServerPlaces& places);

/// Writes what find_server() reads, so that only its owner can read it. Throws Error of kind
/// environment.
void write_login(const std::filesystem::path& file, const Server& server);

/// Whether what is sent to it stays on this machine or is encrypted.
[[nodiscard]] bool is_private(const Server& server);

}  // namespace assay::client
