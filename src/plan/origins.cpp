#include "plan/origins.h"

#include <initializer_list>
#include <string_view>

namespace assay::plan {

using config::Node;

namespace {

constexpr const char* kBuiltIn = "built in";

// The node at a path of keys in a document, or nullptr.
const Node* node_at(const Node* node, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    if (node == nullptr || !node->is_mapping()) return nullptr;
    node = node->find(key);
  }
  return node == nullptr || node->is_null() ? nullptr : node;
}

class Origins {
 public:
  Origins(const SuiteCase& wanted, const Suite& suite, const catalog::Workload* workload)
      : own_(wanted.node), defaults_(node_at(&suite.root, {"defaults"})), workload_(workload) {}

  // Looks in the case, then in the suite's defaults, then, if allowed, in the workload.
  void put(const std::string& key, std::initializer_list<std::string_view> path,
           bool by_workload = false) {
    if (const Node* node = node_at(&own_, path))
      out[key] = node->origin();
    else if (const Node* shared = node_at(defaults_, path))
      out[key] = shared->origin();
    else
      out[key] = by_workload && workload_ != nullptr ? workload_->origin : kBuiltIn;
  }

  // The fields of a case's key, each of which may be given separately.
  void put_identity(const std::string& key, const std::string& otherwise) {
    const Node* whole = own_.is_mapping() ? node_at(&own_, {"case"}) : &own_;
    if (const Node* node = node_at(&own_, {key}))
      out[key] = node->origin();
    else
      out[key] = whole != nullptr ? whole->origin() : otherwise;
  }

  std::map<std::string, std::string> out;

 private:
  const Node& own_;
  const Node* defaults_;
  const catalog::Workload* workload_;
};

}  // namespace

std::map<std::string, std::string> origins_of(const SuiteCase& wanted, const Suite& suite,
                                              const catalog::Workload* workload,
                                              const PlanOptions& options, const CasePlan& plan) {
  Origins origins(wanted, suite, workload);
  const std::string named = wanted.node.origin();
  const Node* repeats = node_at(&suite.root, {"defaults", "repeats"});
  origins.put_identity("model", named);
  origins.put_identity("framework", kBuiltIn);
  origins.put_identity("hardware",
                       suite.vendor_node.is_null() ? kBuiltIn : suite.vendor_node.origin());
  origins.put_identity("nodes", kBuiltIn);
  origins.put_identity("procs", kBuiltIn);
  origins.put_identity("repeats", repeats != nullptr ? repeats->origin() : kBuiltIn);
  if (options.repeat) origins.out["repeats"] = "--repeat " + std::to_string(*options.repeat);
  origins.put("command", {"command"}, true);
  origins.put("launch", {"launch"}, true);
  origins.put("rendezvous", {"rendezvous"});
  for (const auto& [name, value] : plan.env) origins.put("env." + name, {"env", name}, true);
  if (plan.container) {
    const Node* shared = node_at(&suite.root, {"container"});
    origins.put("container", {"container"});
    if (!wanted.container && shared != nullptr) origins.out["container"] = shared->origin();
  }
  if (!plan.workdir.empty()) origins.put("workdir", {"workdir"});
  if (!plan.data.empty()) origins.put("data", {"data"});
  for (const auto& [key, value] : plan.declared.items())
    origins.put("declared." + key, {"declared", key});
  for (const OutputMetric& metric : plan.metrics)
    origins.put("metrics." + metric.name, {"metrics", metric.name});
  if (plan.target) origins.put("target", {"target"}, true);
  if (plan.automl) origins.put("automl", {"automl"});
  if (!plan.headline.empty()) origins.put("headline", {"headline"}, true);
  origins.put("drop_caches", {"drop_caches"});
  if (plan.bind.mode != BindMode::none) origins.put("bind", {"bind"});
  if (plan.warmup_rounds > 0) origins.put("warmup_rounds", {"warmup_rounds"});
  origins.put("warmup_steps", {"warmup_steps"}, workload != nullptr && workload->warmup_steps);
  const catalog::LimitSettings none;
  const catalog::LimitSettings& theirs = workload != nullptr ? workload->limits : none;
  origins.put("limits.time", {"limits", "time"}, theirs.time.has_value());
  origins.put("limits.stall", {"limits", "stall"}, theirs.stall.has_value());
  origins.put("limits.grace", {"limits", "grace"}, theirs.grace.has_value());
  origins.put("limits.output", {"limits", "output"}, theirs.output_bytes.has_value());
  return std::move(origins.out);
}

}  // namespace assay::plan
