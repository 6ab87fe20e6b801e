#include "plan/device_suite.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::plan {

using config::Node;

namespace {

Node found(const std::string& value) {
  static const auto source = std::make_shared<const config::Source>(
      config::Source{"found on this machine", "found on this machine", true});
  return Node::scalar(value, true, source, 0, 0);
}

}  // namespace

bool uses_devices(const Suite& suite) {
  return suite.vendor == kAnyVendor ||
         std::ranges::any_of(suite.cases, [](const SuiteCase& wanted) {
           return wanted.procs_by_devices || wanted.needs.has_value();
         });
}

Suite with_devices(const Suite& suite, const Devices& devices, const catalog::Catalog& catalog) {
  Node root = suite.root;
  if (suite.vendor == kAnyVendor) root = root.with({"vendor"}, found(devices.vendor));
  std::vector<Node> cases;
  for (const SuiteCase& wanted : suite.cases) {
    Node node = wanted.node;
    if (node.is_mapping() && node.find("case") == nullptr && node.find("hardware") == nullptr)
      node = node.with({"hardware"}, found(devices.hardware));
    if (wanted.procs_by_devices) node = node.with({"procs"}, found(std::to_string(devices.count)));
    cases.push_back(node);
  }
  const Node& listed = *suite.root.find("cases");
  root =
      root.with({"cases"}, Node::sequence(cases, listed.source(), listed.line(), listed.column()));
  const catalog::Vendor* vendor = catalog.find_vendor(devices.vendor);
  const bool set = !suite.defaults.env.is_null() && vendor != nullptr &&
                   suite.defaults.env.find(vendor->visible_devices) != nullptr;
  if (vendor != nullptr && !devices.visible.empty() && !set)
    root = root.with({"defaults", "env", vendor->visible_devices}, found(devices.visible));
  Suite out = read_suite(root);
  out.sweeps = suite.sweeps;
  for (std::size_t i = 0; i < out.cases.size(); ++i) out.cases[i].point = suite.cases[i].point;
  return out;
}

std::string unmet_need(const SuiteCase& wanted, const Devices& devices) {
  if (!wanted.needs) return {};
  const auto has = [&](const std::string& precision) {
    return std::ranges::find(devices.precisions, precision) != devices.precisions.end();
  };
  const CaseNeeds& needs = *wanted.needs;
  if (devices.count < needs.devices)
    return fmt::format("needs {}, there {} {}", counted(needs.devices, "device"),
                       devices.count == 1 ? "is" : "are", devices.count);
  const std::string name = devices.name.empty() ? devices.vendor : devices.name;
  if (!needs.precision.empty() && !has(needs.precision))
    return fmt::format("needs {}, which the built-in workloads do not have on {}", needs.precision,
                       name);
  if (!needs.lacks.empty() && has(needs.lacks))
    return fmt::format("is for devices without {}, which {} has", needs.lacks, name);
  return {};
}

}  // namespace assay::plan
