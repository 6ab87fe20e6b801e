#pragma once

#include "cloud/obs.h"
#include "launch/cloud/cloud_service.h"
#include "launch/modelarts/modelarts_jobs.h"

namespace assay::launch {

/// Rounds as jobs of ModelArts, which writes their logs into the bucket. What it is given outlives
/// it.
class ModelArtsRounds final : public CloudService {
 public:
  ModelArtsRounds(const plan::ModelArtsOptions& options, std::unique_ptr<ModelArtsJobs> jobs,
                  cloud::ObsBucket& bucket)
      : options_(options), jobs_(std::move(jobs)), bucket_(bucket) {}

  void check_cases(const plan::Plan& plan) const override;
  Json check(const plan::Plan& plan, const std::stop_token& stop) override;
  /// With a ma-pre-start.sh of our own where the interface v1 needs one.
  cloud::FolderFiles code_files(const std::filesystem::path& folder,
                                const plan::CasePlan& plan_case,
                                const std::filesystem::path& scratch) const override;
  Executed executed(const RoundJob& job) const override;
  std::optional<ServiceJob> find(const RoundJob& job, const std::stop_token& stop) override;
  ServiceJob create(const RoundJob& job, const std::stop_token& stop) override;
  ServiceJob get(const std::string& id, const std::stop_token& stop) override;
  void stop(const std::string& id, const std::stop_token& stop) override;
  std::map<int, std::uint64_t> log_sizes(const RoundJob& job, const ServiceJob& seen,
                                         const std::stop_token& stop) override;
  [[nodiscard]] std::string started_field() const override { return "start_time"; }
  std::string read_log(const RoundJob& job, const ServiceJob& seen, int instance,
                       std::uint64_t offset, std::uint64_t size,
                       const std::stop_token& stop) override;
  std::optional<double> device_utilization(const std::string& id, int instances,
                                           const std::stop_token& stop) override;

 private:
  void check_engine(const plan::Plan& plan, const std::stop_token& stop);
  Json check_flavor(const plan::Plan& plan, const std::stop_token& stop);
  [[nodiscard]] ServiceJob common(const cloud::TrainingJob& job) const;

  const plan::ModelArtsOptions& options_;
  std::unique_ptr<ModelArtsJobs> jobs_;
  cloud::ObsBucket& bucket_;
};

}  // namespace assay::launch
