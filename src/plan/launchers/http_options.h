#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/launchers/job_service_options.h"

namespace assay::plan {

struct CasePlan;

/// `cluster.http` of a suite: a service that runs jobs and implements docs/http-jobs.md.
struct HttpOptions : JobServiceOptions {
  static constexpr const char* kName = "http";
  static constexpr const char* kDescription =
      "jobs of any service that speaks the HTTP job interface, with an S3 store";
  /// An example for messages, because this launcher requires options.
  static constexpr const char* kExample =
      "http: {endpoint: …, store_endpoint: …, bucket: …, code: …}";

  std::string image;                             ///< empty: the service's own
  std::map<std::string, std::string> resources;  ///< named as by the service's operator

  [[nodiscard]] static const std::vector<std::string>& keys();
  [[nodiscard]] static HttpOptions read(const config::Node& node);
  [[nodiscard]] LauncherTraits traits() const {
    return {.starts_agents = false, .chooses_hosts = true};
  }
  [[nodiscard]] std::unique_ptr<launch::Backend> make_backend(
      const launch::BackendContext& context) const;
  [[nodiscard]] Json describe_jobs(const Plan& plan) const;
  [[nodiscard]] Json check_jobs(const Plan& plan,
                                const std::function<void(const std::string&)>& waiting) const;
  /// Reduces the case to one command per instance, started in the code's folder. Throws Error of
  /// kind config at `node`.
  void adapt(const config::Node& node, CasePlan& plan) const;
  bool operator==(const HttpOptions&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    shared_fields(self, field);
    field("store_endpoint", self.store_endpoint);
    field.optional("image", self.image);
    field.optional("resources", self.resources);
  }
};

}  // namespace assay::plan
