#pragma once

#include <string>

#include "config/yaml.h"
#include "error_of.h"
#include "plan/make_plan.h"

namespace assay::plan::testing {

using assay::testing::error_of;

inline config::Node node(const std::string& yaml) {
  return config::parse_yaml(yaml, {"s.yaml", "", false});
}

inline Suite suite(const std::string& yaml) {
  return parse_suite(yaml, "s.yaml");
}

/// A catalogue that depends on nothing in conf/: vendors cpu and acme, a workload `train`.
inline catalog::Catalog small_catalog() {
  catalog::Catalog catalog;
  catalog::Vendor acme;
  acme.name = "acme";
  acme.visible_devices = "ACME_VISIBLE_DEVICES";
  acme.hardware["X1"] = {"X1", "", {{"fp16", 100e12}}, {}, "conf/vendors/acme.yaml:7"};
  catalog::Vendor cpu;
  cpu.name = "cpu";
  catalog.vendors = {acme, cpu};

  const config::Node file = config::parse_yaml(
      "config: {batch: 32, lr: 0.1, precision: fp16, target: 75.5, amp: false, layers: [1, 2], "
      "device: auto}\n"
      "o:\n"
      "  - {batch: 64, lr: ~}\n"
      "  - {batch: 128}\n"
      "  - {batch: 256}\n",
      {"train.yaml", "conf/workloads/train.yaml", false});
  catalog::Workload train;
  train.name = "train";
  train.frameworks = {"native", "libtorch"};
  train.command = {"{bindir}/assay-train", "--config", "{config}", "--rank", "{rank}"};
  train.config = *file.find("config");
  train.fixed = {"target"};
  const auto& layers = file.find("o")->items();
  train.overrides.push_back({"acme", "X1", 0, 8, layers[1]});
  train.overrides.push_back({"acme", "", 0, 0, layers[0]});
  train.overrides.push_back({"acme", "X1", 2, 8, layers[2]});
  train.warmup_steps = 3;
  train.limits.time = std::chrono::hours(2);
  train.limits.grace = std::chrono::seconds(5);
  train.target = catalog::TargetSetting{"acc1", 75.5, Better::higher};
  train.origin = "conf/workloads/train.yaml:1";
  catalog.workloads = {train};

  catalog::Rule steps;
  steps.id = "min-steps";
  steps.fact = "steps";
  steps.min = 10;
  catalog::Rule duration;
  duration.id = "min-duration";
  duration.fact = "train_time";
  duration.min = 60;
  catalog.rules = {steps, duration};
  catalog.standard.rules = catalog.rules;
  return catalog;
}

inline Plan plan(const std::string& yaml, std::vector<std::string> set = {}) {
  PlanOptions options;
  options.overrides = std::move(set);
  options.bindir = "/opt/assay/bin";
  options.run_id = "run1";
  options.created = "2026-11-15T10:15:00Z";
  return make_plan(suite(yaml), small_catalog(), options);
}

}  // namespace assay::plan::testing
