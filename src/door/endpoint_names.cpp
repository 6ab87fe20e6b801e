#include "door/endpoint_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::door {

using jobs::EndpointKind;

namespace {

constexpr std::string_view kJob = "job";
constexpr std::size_t kMaxLabel = 40;  // of the 63 characters in a part of a host name

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

}  // namespace

std::string label_of(const jobs::Endpoint& endpoint) {
  if (endpoint.kind != EndpointKind::port) return std::string(to_text(endpoint.kind));
  // A port named like a service must not take the service's label.
  const bool taken = parse_enum<EndpointKind>(endpoint.name).has_value();
  if (is_label(endpoint.name) && !taken && !endpoint.name.starts_with("port-"))
    return endpoint.name;
  return fmt::format("port-{}", endpoint.port.value_or(0));
}

std::vector<jobs::Endpoint> endpoints_of(const jobs::Submission& submission) {
  std::vector<jobs::Endpoint> out;
  for (const auto kind : {EndpointKind::jupyter, EndpointKind::tensorboard, EndpointKind::vscode})
    out.push_back({.kind = kind});
  for (const jobs::Endpoint& endpoint : submission.endpoints)
    if (endpoint.kind == EndpointKind::port) out.push_back(endpoint);
  return out;
}

std::string host_of(const EndpointHost& endpoint, const std::string& domain) {
  return fmt::format("{}{}-{}.{}", kJob, endpoint.job, endpoint.label, domain);
}

std::optional<EndpointHost> parse_host(std::string_view host, const std::string& domain) {
  std::string name = to_lower(host.substr(0, host.find(':')));
  if (domain.empty() || !name.starts_with(kJob) || !name.ends_with("." + domain))
    return std::nullopt;
  name.resize(name.size() - domain.size() - 1);
  const auto dash = name.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto job =
      parse_number<jobs::JobId>(std::string_view(name).substr(kJob.size(), dash - kJob.size()));
  EndpointHost out{job.value_or(0), name.substr(dash + 1)};
  // Accepts only one spelling; otherwise there would be several sites.
  if (out.job <= 0 || !is_label(out.label) || host_of(out, domain) != name + "." + domain)
    return std::nullopt;
  return out;
}

}  // namespace assay::door
