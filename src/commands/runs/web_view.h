#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace assay::commands {

/// Metrics and console of one run in the browser, while this object lives: on the loopback address,
/// below a random path known only to the person who started it. Reads the run directory and changes
/// nothing.
class WebView {
 public:
  /// `port` 0 picks a free one. Throws Error of kind environment if it cannot listen.
  WebView(std::filesystem::path run, std::uint16_t port);
  WebView(const WebView&) = delete;
  WebView& operator=(const WebView&) = delete;
  ~WebView();

  [[nodiscard]] std::string address() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The port in `--web[=PORT]`: 0 for "any". Throws Error of kind usage.
[[nodiscard]] std::uint16_t web_port(const std::string& text);

}  // namespace assay::commands
