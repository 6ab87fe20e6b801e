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
  std::uint16_t port = 8480;          ///< 0: any free one
  std::filesystem::path certificate;  ///< PEM; empty: no TLS
  std::filesystem::path key;
  std::filesystem::path keys;    ///< holds trusted/NAME.pub (assay key); empty: `data`/keys
  std::filesystem::path config;  ///< YAML with prices; empty: `data`/tester.yaml
  bool public_read = false;
  serve::ConnectionLimits connections{};
  std::uint64_t audit_bytes = std::uint64_t{64} << 20;  ///< then audit.jsonl is rotated
  std::chrono::milliseconds read_timeout{60'000};       ///< for a whole request
  tester::ApiLimits limits;
  tester::JudgeOptions judge;
  /// Where jobs run; nothing for a server without jobs, which is only the tester.
  std::function<std::unique_ptr<engine::Engine>()> engine{};
  /// Release what is held because the folder is a copy (site/copied_folder.h).
  bool resume_queue = false;
  std::vector<std::string> names{};  ///< further host names of the server
  /// Endpoints of jobs are at job7-jupyter.DOMAIN. Empty: localhost if only this machine can
  /// connect, otherwise no endpoints.
  std::string endpoint_domain{};
  std::vector<std::string> webhooks{};  ///< URLs to notify when jobs end
  std::string webhook_secret{};
  /// The time between two removals of what is no longer kept (site/upkeep.h), and before the first.
  std::chrono::milliseconds upkeep_every = std::chrono::hours(1);
  std::optional<oidc::OidcSettings> oidc{};  ///< sign-in with a provider, besides passwords
  std::vector<page::Asset> pages{};          ///< the platform's: index.html and what it needs

  [[nodiscard]] bool tls() const { return !certificate.empty(); }
};

/// Serves until SIGTERM or SIGINT, which it blocks in the calling thread, and then answers pending
/// requests for at most ten seconds. `say` gets "listening on URL" and warnings. Throws Error of
/// kind environment if it cannot begin, because another server uses the folder or the port, for
/// example.
void run_server(const ServeOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace assay::site
