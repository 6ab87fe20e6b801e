#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "cloud/modelarts.h"
#include "cloud/service_error.h"
#include "core/error.h"
#include "core/json_access.h"

namespace assay::cloud {

namespace {

constexpr int kPage = 50;  // the service's largest page
constexpr const char* kMark = "ASSAY_REQUEST_ID";

std::string random_mark() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

Json search_body(const std::string& name_part, std::size_t offset) {
  Json body = {{"offset", offset}, {"limit", kPage}, {"sort_by", "create_time"}, {"order", "desc"}};
  body["filters"] = Json::array();
  if (!name_part.empty())
    body["filters"].push_back({{"key", "name"}, {"operator", "like"}, {"value", {name_part}}});
  return body;
}

}  // namespace

std::vector<TrainingJob> TrainingJobs::list(const std::string& name_part, std::size_t max,
                                            const std::stop_token& stop) {
  std::vector<TrainingJob> out;
  // The documentation does not say whether the offset counts jobs or pages; in practice, jobs. A
  // page with nothing new ends the list, so that neither reading loops.
  while (out.size() < max) {
    const Json page = service_.call("POST", "v2", "/training-job-searches", {},
                                    search_body(name_part, out.size()), true, stop);
    const std::size_t before = out.size();
    for (const auto& item : list_at(page, "items")) {
      TrainingJob job = training_job_from_json(item);
      const bool known = std::any_of(out.begin(), out.end(),
                                     [&](const TrainingJob& other) { return other.id == job.id; });
      if (!known && out.size() < max) out.push_back(std::move(job));
    }
    if (out.size() == before ||
        out.size() >= static_cast<std::size_t>(any_integer_at(page, "total")))
      break;
  }
  return out;
}

std::optional<TrainingJob> TrainingJobs::find(const std::string& name,
                                              const std::stop_token& stop) {
  for (auto& job : list(name, std::numeric_limits<std::size_t>::max(), stop))
    if (job.name == name) return std::move(job);
  return std::nullopt;
}

TrainingJob TrainingJobs::create(const TrainingJobSpec& spec, const std::stop_token& stop) {
  check(spec);
  Json body = to_json(spec);
  // Marks the job as ours, in case the answer is lost.
  const std::string mark = random_mark();
  body["algorithm"]["environments"][kMark] = mark;
  const auto made = [&]() -> std::optional<TrainingJob> {
    // Done even if the caller asked to stop, because it must learn of a running job.
    const std::stop_token patient = stop.stop_requested() ? std::stop_token() : stop;
    const auto found = find(spec.name, patient);
    if (!found) return std::nullopt;
    TrainingJob job = get(found->id, patient);
    const Json& environment = object_at(object_at(job.raw, "algorithm"), "environments");
    if (any_text_at(environment, kMark) != mark) return std::nullopt;
    return job;
  };
  try {
    return training_job_from_json(
        service_.call("POST", "v2", "/training-jobs", {}, body, false, stop));
  } catch (const ServiceError& e) {
    if (e.status() < 500) throw;
    if (auto job = made()) return *std::move(job);
    throw;
  } catch (const Error&) {
    if (auto job = made()) return *std::move(job);
    throw;
  }
}

TrainingJob TrainingJobs::get(const std::string& id, const std::stop_token& stop) {
  return training_job_from_json(
      service_.call("GET", "v2", "/training-jobs/" + id, {}, {}, {}, stop));
}

TrainingJob TrainingJobs::stop(const std::string& id, const std::stop_token& stop) {
  try {
    // The service refuses to stop a stopped job.
    return training_job_from_json(service_.call("POST", "v2", "/training-jobs/" + id + "/actions",
                                                {}, {{"action_type", "terminate"}}, true, stop));
  } catch (const ServiceError& e) {
    if (e.code() != "ModelArts.2796") throw;
    return get(id, stop);
  }
}

void TrainingJobs::remove(const std::string& id, const std::stop_token& stop) {
  (void)service_.call("DELETE", "v2", "/training-jobs/" + id, {}, {}, {}, stop);
}

std::optional<LogPreview> TrainingJobs::log(const std::string& id, const std::string& task,
                                            const std::stop_token& stop) {
  const Json answer =
      service_.call("GET", "v2", fmt::format("/training-jobs/{}/tasks/{}/logs/preview", id, task),
                    {}, {}, {}, stop);
  if (!answer.is_object()) return std::nullopt;
  return LogPreview{any_text_at(answer, "content"),
                    static_cast<std::uint64_t>(any_integer_at(answer, "full_size"))};
}

std::optional<std::string> TrainingJobs::log_link(const std::string& id, const std::string& task,
                                                  const std::stop_token& stop) {
  const Json answer = service_.call(
      "GET", "v2", fmt::format("/training-jobs/{}/tasks/{}/logs/url", id, task), {}, {}, {}, stop);
  const std::string link = any_text_at(answer, "obs_url");
  if (link.empty()) return std::nullopt;
  return link;
}

std::vector<TaskMetric> TrainingJobs::metrics(const std::string& id, const std::string& task,
                                              const std::stop_token& stop) {
  const Json answer = service_.call(
      "GET", "v2", fmt::format("/training-jobs/{}/metrics/{}", id, task), {}, {}, {}, stop);
  std::vector<TaskMetric> out;
  for (const auto& item : list_at(answer, "metrics")) {
    TaskMetric metric{any_text_at(item, "metric"), {}};
    for (const auto& value : list_at(item, "value")) {
      const double number = value.is_number() ? value.get<double>() : -1;
      metric.values.push_back(number < 0 ? std::nan("") : number);
    }
    out.push_back(std::move(metric));
  }
  return out;
}

std::vector<JobEvent> TrainingJobs::events(const std::string& id, const std::stop_token& stop) {
  std::vector<JobEvent> out;
  for (;;) {
    const Json page =
        service_.call("GET", "v2", "/training-jobs/" + id + "/events",
                      {{"offset", fmt::format("{}", out.size())}, {"limit", "100"}}, {}, {}, stop);
    const std::size_t before = out.size();
    for (const auto& item : list_at(page, "events"))
      out.push_back({any_integer_at(item, "time"), any_text_at(item, "level"),
                     any_text_at(item, "message"), any_text_at(item, "source")});
    if (out.size() == before ||
        out.size() >= static_cast<std::size_t>(any_integer_at(page, "total")))
      return out;
  }
}

std::vector<Flavor> TrainingJobs::flavors(const std::stop_token& stop) {
  const Json answer = service_.call("GET", "v2", "/training-job-flavors", {}, {}, {}, stop);
  std::vector<Flavor> out;
  for (const auto& item : list_at(answer, "flavors")) {
    const Json& info = object_at(item, "flavor_info");
    const Json& device =
        object_at(info, "npu").empty() ? object_at(info, "gpu") : object_at(info, "npu");
    out.push_back(
        {any_text_at(item, "flavor_id"), any_text_at(item, "flavor_name"),
         any_text_at(item, "flavor_type"), static_cast<int>(any_integer_at(device, "unit_num")),
         any_text_at(device, "product_name"), static_cast<int>(any_integer_at(info, "max_num")),
         any_text_at(object_at(item, "billing"), "code"),
         static_cast<int>(any_integer_at(object_at(item, "billing"), "unit_num"))});
  }
  return out;
}

std::vector<Engine> TrainingJobs::engines(const std::stop_token& stop) {
  const Json answer = service_.call("GET", "v2", "/training-job-engines", {}, {}, {}, stop);
  std::vector<Engine> out;
  for (const auto& item : list_at(answer, "items"))
    out.push_back({any_text_at(item, "engine_id"), any_text_at(item, "engine_name"),
                   any_text_at(item, "engine_version")});
  return out;
}

}  // namespace assay::cloud
