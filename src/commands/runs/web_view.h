#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace assay::commands {

/// Metrics and console of one run in the browser, as long as this object lives: on the loopback
/// address, below a random path that is told to nobody but who started it. Reads the run directory
/// and changes nothing.
class WebView {
 public:
  /// `port` 0: a free one. Throws Error of kind environment when it cannot listen.
  WebView(std::filesystem::path run, std::uint16_t port);
  WebView(const WebView&) = delete;
  WebView& operator=(const WebView&) = delete;
  ~WebView();

  [[nodiscard]] std::string address() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The port of `--web[=PORT]`: 0 for "any". Throws Error of kind usage.
[[nodiscard]] std::uint16_t web_port(const std::string& text);

}  // namespace assay::commands
