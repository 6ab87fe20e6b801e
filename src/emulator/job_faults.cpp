#include "emulator/job_faults.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "core/json_error.h"

namespace assay::emulator {

namespace {

using Kind = JobFault::Kind;
constexpr std::array<std::pair<const char*, Kind>, 6> kKinds = {{{"never-start", Kind::never_start},
                                                                 {"fail", Kind::fail},
                                                                 {"hang", Kind::hang},
                                                                 {"preempt", Kind::preempt},
                                                                 {"reschedule", Kind::reschedule},
                                                                 {"kill", Kind::kill}}};

}  // namespace

JobFault job_fault_from_json(const Json& json) {
  JobFault fault;
  try {
    const std::string kind = json.at("kind").get<std::string>();
    bool known = false;
    for (const auto& [name, value] : kKinds) {
      if (kind != name) continue;
      fault.kind = value;
      known = true;
    }
    if (!known) throw Error(ErrorKind::config, "there is no fault '" + kind + "' of jobs");
    fault.job = json.value("job", "");
    fault.after = from_seconds(json.value("after_s", 0.0));
    fault.task = json.value("task", 0);
    fault.count = json.value("count", 1);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::config, plain_error(e), "fault");
  }
  return fault;
}

void JobFaults::add(JobFault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void JobFaults::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::optional<JobFault> JobFaults::take(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (auto at = faults_.begin(); at != faults_.end(); ++at) {
    if (name.find(at->job) == std::string::npos) continue;
    JobFault fault = *at;
    if (--at->count == 0) faults_.erase(at);
    return fault;
  }
  return std::nullopt;
}

}  // namespace assay::emulator
