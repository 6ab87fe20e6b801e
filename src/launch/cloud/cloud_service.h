#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "cloud/job_phase.h"
#include "cloud/sync.h"
#include "launch/cloud/round_job.h"

namespace assay::launch {

/// A job as the service tells of it. What it does not tell is empty.
struct ServiceJob {
  std::string id;
  cloud::JobPhase phase = cloud::JobPhase::unknown;
  std::string phase_text;  ///< as the service names it
  bool taken = false;      ///< the service took it away: it has no result, and can be run again
  std::string message;     ///< about its end
  std::int64_t created_ms = 0;
  std::int64_t started_ms = 0;  ///< 0 = not yet
  std::int64_t duration_ms = 0;
  std::map<int, std::int64_t> exit_codes{};  ///< by instance
  std::map<int, std::uint64_t> log_bytes{};  ///< by instance, where the job tells
  std::string key{};  ///< RoundJob::name that it was asked for with, where the service tells it
  std::string log_name{};  ///< how the service's names of its logs begin; "0.log" goes after it
};

/// What a job executes, for the record.
struct Executed {
  std::string image;
  std::string program;  ///< where the service finds it
  std::map<std::string, std::string> environment;
};

/// What a round needs of a service that runs jobs: a new service is one of these. Thread-safe. What
/// asks the service throws Error: cloud::ServiceError when it refuses, kind environment when it
/// does not answer, kind config when the suite asks for what it does not have.
class CloudService {
 public:
  virtual ~CloudService() = default;

  /// Whether the service can be asked for these cases at all; asks nothing.
  virtual void check_cases(const plan::Plan& plan) const = 0;
  /// Whether it has what the plan needs. Gives what it runs jobs on, for system.json.
  [[nodiscard]] virtual Json check(const plan::Plan& plan, const std::stop_token& stop) = 0;
  /// The files that are the code of this case, as code_of() has them; `scratch` is for what is made
  /// for it.
  [[nodiscard]] virtual cloud::FolderFiles code_files(
      const std::filesystem::path& folder, const plan::CasePlan& plan_case,
      const std::filesystem::path& scratch) const = 0;
  [[nodiscard]] virtual Executed executed(const RoundJob& job) const = 0;

  /// The job that was created for this very round, if there is one.
  [[nodiscard]] virtual std::optional<ServiceJob> find(const RoundJob& job,
                                                       const std::stop_token& stop) = 0;
  [[nodiscard]] virtual ServiceJob create(const RoundJob& job, const std::stop_token& stop) = 0;
  [[nodiscard]] virtual ServiceJob get(const std::string& id, const std::stop_token& stop) = 0;
  virtual void stop(const std::string& id, const std::stop_token& stop) = 0;

  /// How long the instances' logs are by now; without those that are not there yet.
  [[nodiscard]] virtual std::map<int, std::uint64_t> log_sizes(const RoundJob& job,
                                                               const ServiceJob& seen,
                                                               const std::stop_token& stop) = 0;
  /// Whether every job has a log of every instance, be it empty.
  [[nodiscard]] virtual bool tells_every_log() const { return false; }
  /// Its own name of ServiceJob::started_ms.
  [[nodiscard]] virtual std::string started_field() const = 0;
  /// `size` bytes of an instance's log from `offset` on, or fewer; empty when there are none.
  [[nodiscard]] virtual std::string read_log(const RoundJob& job, const ServiceJob& seen,
                                             int instance, std::uint64_t offset, std::uint64_t size,
                                             const std::stop_token& stop) = 0;
  /// Percent, as the service measured it: the mean over instances and time. Nothing where it has no
  /// such numbers.
  [[nodiscard]] virtual std::optional<double> device_utilization(const std::string& id,
                                                                 int instances,
                                                                 const std::stop_token& stop);
};

/// The services' name of an instance: "worker-0".
[[nodiscard]] std::string worker_name(int instance);

}  // namespace assay::launch
