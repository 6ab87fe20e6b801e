#include "judge/device_findings.h"

#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "probe/device_state.h"

namespace assay::judge {

namespace {

constexpr std::size_t kShownChanges = 6;

probe::DeviceStates states_of(const Json& json) {
  try {
    return fields_from_json<probe::DeviceStates>(json, std::string(layout::kSystem));
  } catch (const Error& error) {
    return {printable(error.what())};
  }
}

/// Joins the same statement about several nodes into one finding.
class Collected {
 public:
  void add(const std::string& host, const std::vector<std::string>& what) {
    for (const std::string& text : what) {
      if (shown_.size() < kShownChanges)
        shown_.push_back(host.empty() ? text : host + ", " + text);
      else
        ++more_;
    }
  }
  void become(std::vector<Finding>& out, std::string rule, Severity severity, Aspect aspect,
              std::string_view before, std::string advice) const {
    if (shown_.empty()) return;
    std::string reason = std::string(before) + join(shown_, "; ");
    if (more_ > 0) reason += fmt::format("; and {} more", more_);
    out.push_back(
        {std::move(rule), severity, std::move(reason), std::move(advice), "", {}, aspect});
  }

 private:
  std::vector<std::string> shown_;
  std::size_t more_ = 0;
};

}  // namespace

std::vector<Finding> device_findings(const Json& system, bool ended) {
  Collected errors;
  Collected corrected;
  Collected settings;
  Collected links;
  Collected unknown;
  std::map<std::string, std::vector<std::string>> hosts_by_driver;
  const Json& nodes = list_at(system, "nodes");
  for (const Json& node : nodes) {
    const Json& first = member_at(node, "device_state");
    if (first.is_null()) continue;
    const std::string host = nodes.size() > 1 ? text_at(node, "host") : "";
    const probe::DeviceStates before = states_of(first);
    if (!before.problem.empty()) {
      unknown.add(host, {"before the run: " + printable(before.problem)});
      continue;
    }
    if (!before.driver.empty()) hosts_by_driver[before.driver].push_back(text_at(node, "host"));
    const Json& last = member_at(node, "device_state_after");
    if (last.is_null()) {
      if (ended) unknown.add(host, {"after the run: the node was not asked, or did not answer"});
      continue;
    }
    const probe::DeviceStates after = states_of(last);
    if (!after.problem.empty()) unknown.add(host, {"after the run: " + printable(after.problem)});
    const probe::DeviceChanges changes = probe::compare_device_states(before, after);
    errors.add(host, changes.errors);
    corrected.add(host, changes.corrected);
    settings.add(host, changes.settings);
    links.add(host, changes.links);
  }
  std::vector<Finding> out;
  errors.become(out, "device-errors", Severity::warning, Aspect::machine,
                "during the run, devices had errors: ",
                "take these devices out of service and have them checked; measure again without");
  settings.become(out, "device-settings", Severity::warning, Aspect::machine,
                  "during the run, devices were changed: ",
                  "rounds before and after do not compare: leave the devices alone, and run again");
  links.become(
      out, "device-links", Severity::warning, Aspect::machine,
      "during the run, devices lost links: ", "look at slots, cables and switches, and run again");
  corrected.become(out, "device-corrected", Severity::note, Aspect::machine,
                   "during the run, memory errors of devices were corrected: ",
                   "watch these devices; a few errors do no harm");
  unknown.become(out, "device-state-known", Severity::note, Aspect::machine,
                 "the state of devices is not known: ",
                 "'assay check' says what can be looked at; errors and changes during the run "
                 "would go unseen");
  if (hosts_by_driver.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [driver, hosts] : hosts_by_driver)
      parts.push_back(fmt::format(
          "{} on {}", printable(driver),
          hosts.size() > 4 ? counted(hosts.size(), "node") : printable(join(hosts, ", "))));
    out.push_back({"device-drivers",
                   Severity::warning,
                   "the nodes have different drivers: " + join(parts, "; "),
                   "install one version everywhere; the slowest node sets the pace of all",
                   "",
                   {},
                   Aspect::machine});
  }
  return out;
}

}  // namespace assay::judge
