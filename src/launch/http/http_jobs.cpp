#include "launch/http/http_jobs.h"

#include <cstdlib>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "core/error.h"
#include "core/json_access.h"
#include "launch/cloud/cloud_backend.h"
#include "launch/http/http_job_json.h"

namespace assay::launch {

namespace {

constexpr const char* kTokenVariable = "ASSAY_JOB_TOKEN";
constexpr const char* kInterface = "assay-jobs/1";

std::string read_token(const std::filesystem::path& file) {
  if (!file.empty()) return text_at(read_secrets(file), "token");
  const char* token = std::getenv(kTokenVariable);
  return token == nullptr ? "" : token;
}

class BearerAuthorizer final : public http::Authorizer {
 public:
  BearerAuthorizer(http::Client& client, JobToken& token) : client_(client), token_(token) {}

  void authorize(http::Request& request) override {
    used_ = token_.get();
    client_.hide(used_);
    request.set_header("Authorization", "Bearer " + used_);
  }
  bool renew(const http::Response& refusal) override {
    return refusal.status == 401 && token_.renew(used_);
  }

 private:
  http::Client& client_;
  JobToken& token_;
  std::string used_;
};

}  // namespace

JobToken::JobToken(std::filesystem::path file) : file_(std::move(file)), token_(read_token(file_)) {
  if (token_.empty())
    throw Error(ErrorKind::environment, "there is no token for the job service", file_.string(),
                fmt::format("set {}, or write 'token' into the file of cluster.http.credentials",
                            kTokenVariable));
}

std::string JobToken::get() const {
  const std::lock_guard lock(mutex_);
  return token_;
}

bool JobToken::renew(const std::string& used) {
  const std::lock_guard lock(mutex_);
  if (std::string token = read_token(file_); !token.empty()) token_ = std::move(token);
  return token_ != used;
}

HttpJobs::HttpJobs(const plan::HttpOptions& options, http::Client& client)
    : options_(options), client_(client), token_(options.credentials) {
  const http::Url url = http::parse_url(options.endpoint, "the job service's endpoint");
  origin_ = url.origin;
  host_ = url.host;
  base_ = (url.path == "/" ? "" : url.path) + "/v1";
}

http::Response HttpJobs::send(const std::string& method, const std::string& path,
                              const http::Query& query, const Json& body,
                              const std::stop_token& stop) {
  http::Request request;
  request.method = method;
  request.origin = origin_;
  request.path = base_ + path;
  request.query = query;
  request.repeatable = true;  // the interface asks that of every request
  if (!body.is_null()) {
    request.set_header("Content-Type", "application/json");
    request.body = dump_line(body);
  }
  BearerAuthorizer authorizer(client_, token_);
  http::Exchange exchange;
  exchange.authorizer = &authorizer;
  exchange.stop = stop;
  http::Response response = client_.send(request, exchange);
  if (!response.ok())
    throw cloud::service_error(client_, response, method + " " + base_ + path, host_);
  return response;
}

ServiceJob HttpJobs::job_of(const http::Response& response, const std::string& what,
                            const std::string& id) const {
  auto job = http_job_from_json(parse_json_or_null(response.body));
  if (!job || (!id.empty() && job->id != id))
    throw cloud::unexpected_answer(client_, response, what, host_);
  return *job;
}

void HttpJobs::check_cases(const plan::Plan& plan) const {
  for (const plan::CasePlan& plan_case : plan.cases) {
    const std::string& program = plan_case.command.at(0);
    std::error_code ec;
    // What has no slash may be a program of the image.
    if (program.starts_with('/') || program.find('/') == std::string::npos) continue;
    if (!std::filesystem::is_regular_file(options_.code / program, ec))
      throw Error(ErrorKind::config, "there is no file '" + program + "'", options_.code.string(),
                  "the command of a case starts in the folder cluster.http.code");
    need_uploaded(options_, program);
  }
}

Json HttpJobs::check(const plan::Plan& plan, const std::stop_token& stop) {
  const http::Response response = send("GET", "", {}, {}, stop);
  const Json service = parse_json_or_null(response.body);
  if (text_at(service, "interface") != kInterface)
    throw Error(ErrorKind::config,
                fmt::format("the endpoint does not say that it speaks {}", kInterface),
                options_.endpoint, "docs/http-jobs.md says what a job service answers there");
  const std::int64_t most = integer_at(service, "max_instances", 0);
  for (const plan::CasePlan& plan_case : plan.cases)
    if (most > 0 && plan_case.nodes > most)
      throw Error(ErrorKind::config,
                  fmt::format("the case '{}' has {} nodes, but the service has {} at most",
                              plan_case.name, plan_case.nodes, most),
                  plan.suite_file);
  return {{"service", text_at(service, "service")}, {"max_instances", most}};
}

cloud::FolderFiles HttpJobs::code_files(const std::filesystem::path& /*folder*/,
                                        const plan::CasePlan& /*plan_case*/,
                                        const std::filesystem::path& /*scratch*/) const {
  return code_of(options_).files;
}

Executed HttpJobs::executed(const RoundJob& job) const {
  return {options_.image, "s3://" + options_.bucket + "/" + job.code, job.plan_case.env};
}

std::optional<ServiceJob> HttpJobs::find(const RoundJob& job, const std::stop_token& stop) {
  const http::Response response = send("GET", "/jobs", {{"key", job.name}}, {}, stop);
  const Json answer = parse_json_or_null(response.body);
  const Json& jobs = member_at(answer, "jobs");
  if (!jobs.is_array()) throw cloud::unexpected_answer(client_, response, "GET /jobs", host_);
  for (const Json& one : jobs)
    if (text_at(one, "key") == job.name)
      if (auto found = http_job_from_json(one)) return found;
  return std::nullopt;
}

ServiceJob HttpJobs::create(const RoundJob& job, const std::stop_token& stop) {
  return job_of(send("POST", "/jobs", {}, http_job_request(options_, job), stop), "POST /jobs", "");
}

ServiceJob HttpJobs::get(const std::string& id, const std::stop_token& stop) {
  const std::string path = "/jobs/" + id;
  return job_of(send("GET", path, {}, {}, stop), "GET " + path, id);
}

void HttpJobs::stop(const std::string& id, const std::stop_token& stop) {
  (void)send("POST", "/jobs/" + id + "/stop", {}, Json::object(), stop);
}

std::map<int, std::uint64_t> HttpJobs::log_sizes(const RoundJob& /*job*/, const ServiceJob& seen,
                                                 const std::stop_token& /*stop*/) {
  return seen.log_bytes;
}

std::string HttpJobs::read_log(const RoundJob& /*job*/, const ServiceJob& seen, int instance,
                               std::uint64_t offset, std::uint64_t size,
                               const std::stop_token& stop) {
  const std::string path = fmt::format("/jobs/{}/logs/{}", seen.id, instance);
  try {
    http::Response response =
        send("GET", path,
             {{"offset", fmt::format("{}", offset)}, {"limit", fmt::format("{}", size)}}, {}, stop);
    if (response.body.size() > size)
      throw cloud::unexpected_answer(client_, response, "GET " + path, host_);
    return std::move(response.body);
  } catch (const cloud::ServiceError& e) {
    if (e.status() == 404) return {};  // the next question tells what became of the job
    throw;
  }
}

namespace {

Connect connect_to(const plan::HttpOptions& options) {
  return [&options](Nanoseconds answer_limit) {
    return std::make_unique<CloudConnection>(
        options,
        read_transfer_settings(options.credentials, TransferSettings::of_s3()).within(answer_limit),
        credential_source(options.credentials, kAwsKeys),
        [&options](http::Client& client, cloud::CredentialSource&, cloud::ObsBucket&) {
          return std::make_unique<HttpJobs>(options, client);
        });
  };
}

}  // namespace

}  // namespace assay::launch

namespace assay::plan {

std::unique_ptr<launch::Backend> HttpOptions::make_backend(
    const launch::BackendContext& context) const {
  return std::make_unique<launch::CloudBackend>(context, *this, launch::connect_to(*this));
}

Json HttpOptions::describe_jobs(const Plan& plan) const {
  Json out{{"endpoint", endpoint}, {"store_endpoint", store_endpoint}};
  out.update(launch::describe_rounds(*this, plan, launch::code_hash_or_words(*this),
                                     [this](const launch::RoundJob& job) {
                                       return Json{{"body", launch::http_job_request(*this, job)}};
                                     }));
  return out;
}

Json HttpOptions::check_jobs(const Plan& plan,
                             const std::function<void(const std::string&)>& waiting) const {
  Json found = launch::check_cloud(launch::connect_to(*this), plan, *this, {}, waiting);
  found["endpoint"] = endpoint;
  found["bucket"] = bucket;
  return found;
}

}  // namespace assay::plan
