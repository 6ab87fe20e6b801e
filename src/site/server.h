#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "oidc/oidc_settings.h"
#include "page/asset.h"
#include "tester/api.h"
#include "tester/judge_process.h"

namespace assay::site {

struct ServeOptions {
  std::filesystem::path data = "tester";
  std::string address = "127.0.0.1";  ///< numeric
  std::uint16_t port = 8480;          ///< 0: a free one
  std::filesystem::path certificate;  ///< PEM; empty: no TLS
  std::filesystem::path key;
  std::filesystem::path keys;    ///< with trusted/NAME.pub (assay key); empty: `data`/keys
  std::filesystem::path config;  ///< YAML with prices; empty: `data`/tester.yaml
  bool public_read = false;
  serve::ConnectionLimits connections{};
  std::uint64_t audit_bytes = std::uint64_t{64} << 20;  ///< of audit.jsonl, before it is rotated
  std::chrono::milliseconds read_timeout{60'000};       ///< for a whole request
  tester::ApiLimits limits;
  tester::JudgeOptions judge;
  /// Where jobs run; nothing: there are none, and the server is the tester alone.
  std::function<std::unique_ptr<engine::Engine>()> engine{};
  /// What is held because the folder is a copy goes on (site/copied_folder.h).
  bool resume_queue = false;
  std::vector<std::string> names{};  ///< host names of the server, besides its address
  /// Endpoints of jobs are at job7-jupyter.DOMAIN; empty: localhost where only this machine can
  /// connect, else none.
  std::string endpoint_domain{};
  std::vector<std::string> webhooks{};  ///< URLs that are told of jobs that have ended
  std::string webhook_secret{};
  /// How often what is kept no longer goes (site/upkeep.h), the first time so long after the start.
  std::chrono::milliseconds upkeep_every = std::chrono::hours(1);
  std::optional<oidc::OidcSettings> oidc{};  ///< sign-in by a provider, besides passwords
  std::vector<page::Asset> pages{};          ///< of the platform: index.html and what it needs

  [[nodiscard]] bool tls() const { return !certificate.empty(); }
};

/// Serves until SIGTERM or SIGINT, which it blocks in the calling thread; then answers what was
/// asked, within ten seconds. `say` gets "listening on URL" and warnings. Throws Error of kind
/// environment when it cannot begin: the folder is another server's, the port is taken.
void run_server(const ServeOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace assay::site
