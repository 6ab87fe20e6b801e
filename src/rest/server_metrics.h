#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "platform/platform.h"

namespace assay::rest {

/// What the server has done since it was started, for Prometheus. Thread-safe.
class ServerMetrics {
 public:
  void answered(const std::string& method, const std::string& path, int status, double seconds);
  void happened(const platform::JobEvent& event);
  /// In the text format of Prometheus: what was counted.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::array<double, 12> kBounds{0.005, 0.02, 0.1, 0.5,  1,     5,
                                                  30,    120,  600, 3600, 21600, 86400};
  struct Histogram {
    std::array<std::int64_t, kBounds.size() + 1> counts{};
    double sum = 0;
    void add(double value);
    void write(std::string& out, const std::string& name, const std::string& labels) const;
  };
  struct Since {
    jobs::State state = jobs::State::queued;
    jobs::WallTime at_ns = 0;
  };

  mutable std::mutex lock_;
  std::map<std::tuple<std::string, std::string, int>, std::int64_t> requests_;
  Histogram request_time_;
  std::map<jobs::JobId, Since> since_;  // of jobs that have not ended
  std::map<jobs::State, Histogram> state_time_;
  std::map<jobs::State, std::int64_t> entered_;
};

}  // namespace assay::rest
