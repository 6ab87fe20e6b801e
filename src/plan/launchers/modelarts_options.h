#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/node.h"
#include "plan/launchers/launcher_traits.h"

namespace assay::plan {

struct Cluster;
struct CasePlan;

/// A folder of a file server that a job mounts.
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

/// `cluster.modelarts` of a suite, checked and with its defaults. Secrets are never in it:
/// `credentials` is the path of a file.
struct ModelArtsOptions {
  static constexpr const char* kName = "modelarts";
  static constexpr const char* kDescription =
      "jobs of ModelArts on Huawei Cloud; the service starts what they run";
  /// It cannot do without options.
  static constexpr const char* kExample =
      "modelarts: {region: …, project: …, bucket: …, code: …, engine: …, flavor: …}";

  std::string endpoint, obs_endpoint, project, bucket;
  std::string prefix = "assay/";  ///< of all keys, ends with "/"
  std::filesystem::path code;
  std::string api = "v2";  ///< v1: the old interface, rounds are versions of one job
  std::string engine;      ///< NAME/VERSION with v1
  std::string flavor, pool, workspace;
  std::string job_name = "assay";
  std::map<std::string, std::string> inputs;  ///< parameter → "/bucket/folder/"
  std::string output = "train_url";           ///< the parameter that names where results go
  std::vector<CloudVolume> volumes;
  int auto_stop_h = 0;  ///< 0: never
  bool stop_on_interrupt = false;
  bool single_server = false;
  std::string results = "ais-bench";           ///< or perflog
  std::filesystem::path credentials;           ///< empty: the environment
  Nanoseconds wait = std::chrono::hours(24);   ///< that a job may stay pending
  Nanoseconds poll = std::chrono::seconds(2);  ///< the first pause between two questions; grows

  [[nodiscard]] bool v1() const { return api == "v1"; }
  [[nodiscard]] bool ais_results() const { return results == "ais-bench"; }
  /// Keys below the bucket: code by its content, so that no run can change another's, and what a
  /// round's job writes.
  [[nodiscard]] std::string code_prefix(const std::string& code_hash) const {
    return prefix + job_name + "/code/" + code_hash + "/";
  }
  [[nodiscard]] std::string round_prefix(const std::string& run_id, const std::string& job) const {
    return prefix + run_id + "/" + job + "/";
  }

  [[nodiscard]] static const std::vector<std::string>& keys();
  [[nodiscard]] static ModelArtsOptions read(const config::Node& node);
  [[nodiscard]] LauncherTraits traits() const {
    return {.starts_agents = false, .chooses_hosts = true};
  }
  [[nodiscard]] std::unique_ptr<launch::Backend> make_backend(
      const launch::BackendContext& context) const;
  /// What it would submit, for people and without asking the service.
  [[nodiscard]] Json describe_jobs(const Plan& plan) const;
  /// What a case must be here, and what it gets: one command an instance, and the results that
  /// ais-bench jobs leave as metrics. Throws Error of kind config at `node`.
  void adapt(const config::Node& node, CasePlan& plan) const;
  bool operator==(const ModelArtsOptions&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("endpoint", self.endpoint);
    field("obs_endpoint", self.obs_endpoint);
    field("project", self.project);
    field("bucket", self.bucket);
    field("prefix", self.prefix);
    field("code", self.code);
    field.optional("api", self.api);
    field("engine", self.engine);
    field.optional("flavor", self.flavor);
    field.optional("pool", self.pool);
    field.optional("workspace", self.workspace);
    field("job_name", self.job_name);
    field.optional("inputs", self.inputs);
    field.optional("output", self.output);
    field.optional("volumes", self.volumes);
    field.optional("auto_stop_h", self.auto_stop_h);
    field.optional("stop_on_interrupt", self.stop_on_interrupt);
    field.optional("single_server", self.single_server);
    field.optional("results", self.results);
    field.optional("credentials", self.credentials);
    field.optional("wait_ns", self.wait);
    field.optional("poll_ns", self.poll);
  }
};

}  // namespace assay::plan
