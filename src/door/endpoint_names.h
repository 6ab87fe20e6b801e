#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/submission.h"

namespace assay::door {

// Every endpoint of every job is a site of its own: http://job7-jupyter.localhost:8480. Nothing
// that it does in a browser can touch the platform's pages or another endpoint.

/// The information in a host name.
struct EndpointHost {
  jobs::JobId job = 0;
  std::string label{};  ///< the endpoint's label_of()
};

/// "jupyter"; a port's own name if it is valid in a host name, else "port-8080".
[[nodiscard]] std::string label_of(const jobs::Endpoint& endpoint);

/// A job's endpoints: the services, which every job has, and the ports named in its submission.
[[nodiscard]] std::vector<jobs::Endpoint> endpoints_of(const jobs::Submission& submission);

/// "job7-jupyter.localhost".
[[nodiscard]] std::string host_of(const EndpointHost& endpoint, const std::string& domain);

/// The inverse, for a Host header with or without a port; nothing for any other name.
[[nodiscard]] std::optional<EndpointHost> parse_host(std::string_view host,
                                                     const std::string& domain);

}  // namespace assay::door
