#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/mapping.h"
#include "config/node.h"
#include "plan/launchers/launcher_traits.h"

namespace assay::plan {

/// What all launchers have that leave rounds to a service which runs jobs, with an object store for
/// their code and results. Secrets are never in it: `credentials` is the path of a file.
struct JobServiceOptions {
  std::string endpoint;           ///< of the service
  std::string store_endpoint;     ///< of the object store, without the bucket
  std::string bucket;             ///< for code, results and, with some services, logs
  std::string prefix = "assay/";  ///< of all keys, ends with "/"
  std::filesystem::path code;     ///< the folder that is uploaded
  std::string job_name = "assay";
  bool stop_on_interrupt = false;
  std::filesystem::path credentials;             ///< empty: the environment
  Nanoseconds wait = std::chrono::hours(24);     ///< that a job may stay pending
  Nanoseconds start = std::chrono::minutes(30);  ///< that all may take which comes before the job
  Nanoseconds poll = std::chrono::seconds(2);    ///< the first pause between two questions; grows

  /// Keys below the bucket: code by its content, so that no run can change another's, and what a
  /// round's job writes.
  [[nodiscard]] std::string code_prefix(const std::string& code_hash) const {
    return prefix + job_name + "/code/" + code_hash + "/";
  }
  [[nodiscard]] std::string round_prefix(const std::string& run_id, const std::string& job) const {
    return prefix + run_id + "/" + job + "/";
  }

  bool operator==(const JobServiceOptions&) const = default;

 protected:
  /// Reads all but the two endpoints.
  void read_shared(const config::Mapping& map);
  /// The keys of read_shared().
  [[nodiscard]] static const std::vector<std::string>& shared_keys();

  /// All but the endpoints' names, which differ.
  template <class Self, class F>
  static void shared_fields(Self& self, F&& field) {
    field("endpoint", self.endpoint);
    field("bucket", self.bucket);
    field("prefix", self.prefix);
    field("code", self.code);
    field("job_name", self.job_name);
    field.optional("stop_on_interrupt", self.stop_on_interrupt);
    field.optional("credentials", self.credentials);
    field.optional("wait_ns", self.wait);
    field.optional("start_ns", self.start);
    field.optional("poll_ns", self.poll);
  }
};

/// What may be part of a host name, a bucket or a key, and of no other request than it is meant
/// for: letters, digits and `also`.
[[nodiscard]] std::string read_word(const config::Node& node, std::string_view also = "-_.");
/// An address that encrypts, or one of this machine; without a slash at its end.
[[nodiscard]] std::string read_endpoint(const config::Node& node);

}  // namespace assay::plan
