#include "client/job_forms.h"

#include <vector>

#include <fmt/format.h>

#include "core/job_variables.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::client {

namespace {

/// Fields whose option has another name.
constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
    {"suite", "SUITE"},      {"device_type", "--device-type"}, {"whole_nodes", "--whole-nodes"},
    {"mounts", "--mount"},   {"endpoints", "--endpoint"},      {"retries", "--retries"},
    {"secrets", "--secret"},
};
constexpr std::string_view kSame[] = {"name",    "command",     "launch", "nodes", "procs",
                                      "devices", "image",       "queue",  "time",  "priority",
                                      "env",     "preemptible", "after",  "array", "team"};

std::string endpoint_text(const jobs::Endpoint& endpoint) {
  if (endpoint.kind != jobs::EndpointKind::port) return std::string(to_text(endpoint.kind));
  return fmt::format("{}={}", endpoint.name, endpoint.port.value_or(0));
}

}  // namespace

std::string as_command(const jobs::Submission& job, const std::string& team,
                       const std::string& suite_file) {
  const jobs::Submission plain;
  std::vector<std::string> words{"assay", "submit"};
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  const auto number = [&](const char* option, int value, int usual) {
    if (value != usual) add(option, std::to_string(value));
  };
  if (job.suite.empty())
    add("--command", job.command);
  else
    words.push_back(suite_file);
  add("--name", job.name);
  if (job.launch != plain.launch) add("--launch", std::string(to_text(job.launch)));
  number("--nodes", job.nodes, plain.nodes);
  number("--procs", job.procs, plain.procs);
  if (job.devices) add("--devices", std::to_string(*job.devices));
  if (!job.device_type.empty()) add("--device-type", job.device_type);
  if (job.whole_nodes) words.emplace_back("--whole-nodes");
  if (!job.image.empty()) add("--image", job.image);
  if (job.queue != plain.queue) add("--queue", job.queue);
  if (job.priority) add("--priority", std::to_string(*job.priority));
  if (job.preemptible) words.emplace_back("--preemptible");
  if (job.time) add("--time", duration_text(job.time->value));
  number("--retries", job.retries.count, 0);
  for (const auto& [name, value] : job.env) add("--env", name + "=" + value);
  for (const auto& [variable, name] : job.secrets)
    add("--secret", variable == name ? name : name + "=" + variable);
  for (const jobs::Mount& mount : job.mounts)
    add("--mount", mount.source + ":" + mount.target + (mount.read_only ? ":ro" : ""));
  for (const jobs::Endpoint& endpoint : job.endpoints) add("--endpoint", endpoint_text(endpoint));
  for (const jobs::JobId id : job.after) add("--after", std::to_string(id));
  if (!job.array.empty()) add("--array", job.array);
  if (!team.empty()) add("--team", team);
  return shell_join(words);
}

std::string as_curl(const jobs::Submission& job, const std::string& server, const std::string& team,
                    const std::string& code) {
  Json body = fields_to_json(job);
  if (!team.empty()) body["team"] = team;
  if (!code.empty()) body["code"] = code;
  return fmt::format(
      "curl -sS -X POST {} \\\n"
      "  -H \"Authorization: Bearer $ASSAY_TOKEN\" -H 'Content-Type: application/json' \\\n"
      "  --data-raw {}\n",
      shell_quote(server + "/api/v1/jobs"), shell_quote(dump_line(body)));
}

std::string option_of(const std::string& field) {
  if (field == fmt::format("env.{}", kKeepOpenVariable)) return kKeepOption;
  const std::string name = field.substr(0, field.find_first_of(".[:"));
  for (const auto& [known, option] : kOptions)
    if (known == name) return std::string(option);
  for (const std::string_view known : kSame)
    if (known == name) return "--" + name;
  return field;
}

}  // namespace assay::client
