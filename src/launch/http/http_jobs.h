#pragma once

#include <filesystem>
#include <mutex>

#include "http/client.h"
#include "launch/cloud/cloud_service.h"
#include "plan/launchers/http_options.h"

namespace assay::launch {

/// The token that a service asks for: `token` of the file of credentials, or ASSAY_JOB_TOKEN.
/// Thread-safe.
class JobToken {
 public:
  /// Throws Error of kind environment when there is none.
  explicit JobToken(std::filesystem::path file);
  [[nodiscard]] std::string get() const;
  /// Reads the file again; gives whether the token is another one now than `used`.
  [[nodiscard]] bool renew(const std::string& used);

 private:
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::string token_;
};

/// Rounds as jobs of any service that speaks docs/http-jobs.md. What it is given outlives it.
class HttpJobs final : public CloudService {
 public:
  HttpJobs(const plan::HttpOptions& options, http::Client& client);

  void check_cases(const plan::Plan& plan) const override;
  Json check(const plan::Plan& plan, const std::stop_token& stop) override;
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
  [[nodiscard]] bool tells_every_log() const override { return true; }
  [[nodiscard]] std::string started_field() const override { return "started_ms"; }
  std::string read_log(const RoundJob& job, const ServiceJob& seen, int instance,
                       std::uint64_t offset, std::uint64_t size,
                       const std::stop_token& stop) override;

 private:
  /// The reply to a request, if it is no refusal. `path` goes after the endpoint's /v1.
  http::Response send(const std::string& method, const std::string& path, const http::Query& query,
                      const Json& body, const std::stop_token& stop);
  /// The one job that an answer is; `id` is what was asked for, or empty.
  ServiceJob job_of(const http::Response& response, const std::string& what,
                    const std::string& id) const;

  const plan::HttpOptions& options_;
  http::Client& client_;
  JobToken token_;
  std::string origin_;
  std::string host_;
  std::string base_;  // the endpoint's path and "/v1"
};

}  // namespace assay::launch
