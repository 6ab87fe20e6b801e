#include "launch/cloud/cloud_service.h"

#include <fmt/format.h>

namespace assay::launch {

std::optional<double> CloudService::device_utilization(const std::string& /*id*/, int /*instances*/,
                                                       const std::stop_token& /*stop*/) {
  return std::nullopt;
}

std::string worker_name(int instance) {
  return fmt::format("worker-{}", instance);
}

}  // namespace assay::launch
