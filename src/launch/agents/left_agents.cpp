#include "launch/agents/left_agents.h"

#include "core/json_access.h"
#include "store/journal_event.h"

namespace assay::launch {

namespace {

std::vector<Json> starts_since_end(const std::vector<Json>& journal) {
  std::vector<Json> out;
  for (const Json& event : journal) {
    const auto kind = store::event_of(event);
    if (kind == store::JournalEvent::run_end) out.clear();
    if (kind == store::JournalEvent::agent_start) out.push_back(event);
  }
  return out;
}

}  // namespace

AgentsByHost left_agents(const std::vector<Json>& journal) {
  AgentsByHost out;
  for (const Json& event : starts_since_end(journal))
    for (const Json& process : list_at(event, "processes"))
      if (process.is_string()) out[text_at(event, "host")].insert(process.get<std::string>());
  return out;
}

std::set<std::string> left_jobs(const std::vector<Json>& journal) {
  std::set<std::string> out;
  for (const Json& event : starts_since_end(journal))
    if (std::string job = text_at(event, "job"); !job.empty()) out.insert(std::move(job));
  return out;
}

}  // namespace assay::launch
