#include "emulator/emulator.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "emulator/modelarts_service.h"
#include "http/date.h"

namespace assay::emulator {

Emulator::Emulator(Settings settings)
    : settings_(std::move(settings)),
      accounts_(settings_),
      store_(settings_),
      modelarts_(std::make_unique<ModelArtsService>(settings_, accounts_, store_, job_faults_)) {}

Emulator::~Emulator() = default;

Emulator::Target Emulator::target_of(const ServerRequest& request) const {
  const std::string& path = request.path;
  if (path.starts_with("/_emulator/")) return {Service::control, {}, {}};
  std::string host = to_lower(request.header("host"));
  host = host.substr(0, host.find(':'));
  if (const std::string suffix = "." + settings_.obs_domain; host.ends_with(suffix))
    return {Service::obs, host.substr(0, host.size() - suffix.size()), path.substr(1)};
  if (path.starts_with("/v3/") || path.starts_with("/v3.0/")) return {Service::iam, {}, {}};
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) return {Service::modelarts, {}, {}};
  const std::size_t slash = path.find('/', 1);
  if (slash == std::string::npos) return {Service::obs, path.substr(1), {}};
  return {Service::obs, path.substr(1, slash - 1), path.substr(slash + 1)};
}

void Emulator::count(const ServerRequest& request, Service service) {
  const char* name = service == Service::iam   ? "iam"
                     : service == Service::obs ? "obs"
                                               : "modelarts";
  const std::lock_guard lock(mutex_);
  ++counts_[fmt::format("{} {}", request.method, name)];
  received_bytes_ += request.body_size;
}

Intake Emulator::intake(const ServerRequest& head) {
  const Target target = target_of(head);
  Intake intake;
  if (target.service != Service::obs) return intake;
  if (auto refusal = accounts_.refuse_obs(head, target.bucket, target.key)) {
    refusal->headers.emplace_back("Date", http::http_date(accounts_.clock()));
    intake.refusal = std::move(refusal);
  } else if (head.method == "PUT" && !target.key.empty()) {
    intake.spool = store_.new_file();
    if (const auto fault = faults_.meet_at_head(head)) intake.close_after = fault->bytes;
  }
  return intake;
}

ServerResponse Emulator::planned_failure(const Fault& fault, Service service) const {
  ServerResponse response;
  if (fault.kind == Fault::Kind::html) {
    response.headers.emplace_back("Content-Type", "text/html");
    response.body = "<html><body>Please log in to the network</body></html>";
    return response;
  }
  const std::string message = "a planned failure";
  response =
      service == Service::obs
          ? obs_error(fault.status, fault.code.empty() ? "ServiceUnavailable" : fault.code, message)
          : modelarts_error(fault.status, fault.code.empty() ? "ModelArts.0010" : fault.code,
                            message);
  if (fault.retry_after)
    response.headers.emplace_back("Retry-After", fmt::format("{}", *fault.retry_after));
  return response;
}

ServerResponse Emulator::handle(ServerRequest& request) {
  const Target target = target_of(request);
  ServerResponse response;
  if (target.service == Service::control) {
    response = control(request);
  } else {
    const auto fault = faults_.meet(request);
    count(request, target.service);
    using Kind = Fault::Kind;
    if (fault && (fault->kind == Kind::status || fault->kind == Kind::html)) {
      response = planned_failure(*fault, target.service);
    } else if (fault && fault->kind == Kind::drop_request) {
      response.drop = true;
    } else {
      response = dispatch(request, target);
      const std::lock_guard lock(mutex_);
      for (const auto& file : response.files) sent_object_bytes_ += file.size;
      if (fault && fault->kind == Kind::drop_reply) response.drop = true;
      if (fault && fault->kind == Kind::cut_reply) response.cut_after = fault->bytes;
      if (fault && fault->kind == Kind::delay) response.delay = fault->delay;
      if (fault && fault->kind == Kind::drip) response.drip = fault->delay;
    }
  }
  response.headers.emplace_back("Date", http::http_date(accounts_.clock()));
  return response;
}

ServerResponse Emulator::dispatch(ServerRequest& request, const Target& target) {
  switch (target.service) {
    case Service::iam:
      return accounts_.handle_iam(request);
    case Service::modelarts:
      return modelarts_->handle(request);
    default:
      return store_.handle(request, target.bucket, target.key);
  }
}

ServerResponse Emulator::control(const ServerRequest& request) {
  try {
    if (request.path == "/_emulator/faults" && request.method == "POST") {
      faults_.add(fault_from_json(parse_json(request.body, "faults")));
      return json_reply(200, Json::object());
    }
    if (request.path == "/_emulator/job-faults" && request.method == "POST") {
      if (!settings_.run_jobs)
        throw Error(ErrorKind::config, "jobs are only timed: faults of jobs need run_jobs");
      job_faults_.add(job_fault_from_json(parse_json(request.body, "job-faults")));
      return json_reply(200, Json::object());
    }
    if (request.path == "/_emulator/faults" && request.method == "DELETE") {
      faults_.clear();
      job_faults_.clear();
      return json_reply(200, Json::object());
    }
    if (request.path == "/_emulator/expire-tokens" && request.method == "POST") {
      accounts_.expire_all();
      return json_reply(200, Json::object());
    }
    if (request.path == "/_emulator/counts") {
      const std::lock_guard lock(mutex_);
      Json counts = Json::object();
      for (const auto& [name, value] : counts_) counts[name] = value;
      counts["received_bytes"] = received_bytes_;
      counts["sent_object_bytes"] = sent_object_bytes_;
      return json_reply(200, counts);
    }
  } catch (const Error& e) {
    return json_reply(400, {{"error", e.what()}});
  }
  return json_reply(404, {{"error", "no such control"}});
}

}  // namespace assay::emulator
