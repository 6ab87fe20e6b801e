#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/submission.h"

namespace assay::door {

// Every endpoint of every job is a site of its own: http://job7-jupyter.localhost:8480. What one of
// them does in a browser can touch neither the platform's pages nor another endpoint.

/// What a host name says.
struct EndpointHost {
  jobs::JobId job = 0;
  std::string label{};  ///< of the endpoint: label_of()
};

/// "jupyter"; a port's own name where it can stand in a host name, else "port-8080".
[[nodiscard]] std::string label_of(const jobs::Endpoint& endpoint);

/// What a job has: the services, which every job has, and the ports that its submission names.
[[nodiscard]] std::vector<jobs::Endpoint> endpoints_of(const jobs::Submission& submission);

/// "job7-jupyter.localhost".
[[nodiscard]] std::string host_of(const EndpointHost& endpoint, const std::string& domain);

/// The reverse, of a Host header with or without port; nothing for all other names.
[[nodiscard]] std::optional<EndpointHost> parse_host(std::string_view host,
                                                     const std::string& domain);

}  // namespace assay::door
