#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/launchers/job_service_options.h"

namespace assay::plan {

struct Cluster;
struct CasePlan;

/// A folder of a file server for a job to mount.
struct CloudVolume {
  std::string server;
  std::string path;
  bool read_only = false;

  [[nodiscard]] static const std::vector<std::string>& keys();
  bool operator==(const CloudVolume&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("server", self.server);
    field("path", self.path);
    field.optional("read_only", self.read_only);
  }
};

/// The files in which ais-bench jobs leave their results.
struct ResultFiles {
  bool single_server = false;  ///< every server trained alone and has its own
};

/// `cluster.modelarts` of a suite, checked, with defaults filled in.
struct ModelArtsOptions : JobServiceOptions {
  static constexpr const char* kName = "modelarts";
  static constexpr const char* kDescription =
      "jobs of ModelArts on Huawei Cloud; the service starts what they run";
  /// An example for messages, because this launcher requires options.
  static constexpr const char* kExample =
      "modelarts: {region: …, project: …, bucket: …, code: …, engine: …, flavor: …}";

  std::string project;
  std::string api = "v2";  ///< v1: the old interface, with rounds as versions of one job
  std::string engine;      ///< NAME/VERSION with v1
  std::string flavor, pool, workspace;
  std::map<std::string, std::string> inputs;  ///< parameter → "/bucket/folder/"
  std::string output = "train_url";           ///< the parameter for the results' location
  std::vector<CloudVolume> volumes;
  int auto_stop_h = 0;  ///< 0: never
  bool single_server = false;
  std::string results = "ais-bench";  ///< or perflog

  [[nodiscard]] bool v1() const { return api == "v1"; }
  [[nodiscard]] bool ais_results() const { return results == "ais-bench"; }
  [[nodiscard]] std::optional<ResultFiles> result_files() const {
    return ais_results() ? std::optional(ResultFiles{single_server}) : std::nullopt;
  }

  [[nodiscard]] static const std::vector<std::string>& keys();
  [[nodiscard]] static ModelArtsOptions read(const config::Node& node);
  [[nodiscard]] LauncherTraits traits() const {
    return {.starts_agents = false, .chooses_hosts = true};
  }
  [[nodiscard]] std::unique_ptr<launch::Backend> make_backend(
      const launch::BackendContext& context) const;
  /// Describes the jobs to submit, for people; does not contact the service.
  [[nodiscard]] Json describe_jobs(const Plan& plan) const;
  /// Asks the cloud, as a run does first, whether it has what the plan needs: bucket, engine,
  /// flavor. Returns what it found. Throws Error.
  [[nodiscard]] Json check_jobs(const Plan& plan,
                                const std::function<void(const std::string&)>& waiting) const;
  /// Checks and adapts a case: one command per instance, and metrics for the results that ais-bench
  /// jobs leave. Throws Error of kind config at `node`.
  void adapt(const config::Node& node, CasePlan& plan) const;
  bool operator==(const ModelArtsOptions&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    shared_fields(self, field);
    field("obs_endpoint", self.store_endpoint);
    field("project", self.project);
    field.optional("api", self.api);
    field("engine", self.engine);
    field.optional("flavor", self.flavor);
    field.optional("pool", self.pool);
    field.optional("workspace", self.workspace);
    field.optional("inputs", self.inputs);
    field.optional("output", self.output);
    field.optional("volumes", self.volumes);
    field.optional("auto_stop_h", self.auto_stop_h);
    field.optional("single_server", self.single_server);
    field.optional("results", self.results);
  }
};

}  // namespace assay::plan
