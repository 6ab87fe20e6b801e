#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "commands/base/extras.h"

namespace assay::commands {

/// Metrics and console of one run in the browser, while this object lives: on the loopback address,
/// below a random path known only to the person who started it. Reads the run directory and changes
/// nothing.
class WebView final : public LivePages {
 public:
  /// `port` 0 picks a free one. Throws Error of kind environment if it cannot listen.
  WebView(std::filesystem::path run, std::uint16_t port);
  ~WebView() override;

  [[nodiscard]] std::string address() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::commands
