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

/// Options shared by all launchers that leave rounds to a service which runs jobs, with an object
/// store for code and results. They never contain secrets: `credentials` is the path of a file.
struct JobServiceOptions {
  std::string endpoint;           ///< of the service
  std::string store_endpoint;     ///< of the object store, without a bucket
  std::string bucket;             ///< for code, results and, with some services, logs
  std::string prefix = "assay/";  ///< of all keys; ends with "/"
  std::filesystem::path code;     ///< the folder to upload
  std::string job_name = "assay";
  bool stop_on_interrupt = false;
  std::filesystem::path credentials;             ///< empty: from the environment
  Nanoseconds wait = std::chrono::hours(24);     ///< how long a job may stay pending
  Nanoseconds start = std::chrono::minutes(30);  ///< limit for everything before the job
  Nanoseconds poll = std::chrono::seconds(2);    ///< the first pause between two polls; grows

  /// Keys below the bucket: code is stored by its content, so that no run can change another's,
  /// followed by what a round's job writes.
  [[nodiscard]] std::string code_prefix(const std::string& code_hash) const {
    return prefix + job_name + "/code/" + code_hash + "/";
  }
  [[nodiscard]] std::string round_prefix(const std::string& run_id, const std::string& job) const {
    return prefix + run_id + "/" + job + "/";
  }

  bool operator==(const JobServiceOptions&) const = default;

 protected:
  /// Reads all options except the two endpoints.
  void read_shared(const config::Mapping& map);
  /// The keys that read_shared() reads.
  [[nodiscard]] static const std::vector<std::string>& shared_keys();

  /// All options, except that the endpoints' names differ.
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

/// A word that is safe in a host name, a bucket or a key, so that it cannot change a request's
/// meaning: letters, digits and `also`.
[[nodiscard]] std::string read_word(const config::Node& node, std::string_view also = "-_.");
/// An address with encryption, or one of this machine; without a final slash.
[[nodiscard]] std::string read_endpoint(const config::Node& node);

}  // namespace assay::plan
