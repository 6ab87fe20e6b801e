#include "agent/messages.h"

#include "core/error.h"

namespace assay::agent {

Json to_json(const RoundRequest& request) {
  Json ranks = Json::array();
  for (const RankRequest& rank : request.ranks)
    ranks.push_back({{"rank", rank.rank},
                     {"local_rank", rank.local_rank},
                     {"argv", rank.argv},
                     {"env", rank.env},
                     {"cleanup", rank.cleanup}});
  Json sources = Json::array();
  for (const telemetry::DeviceSource& source : request.sources)
    sources.push_back(telemetry::to_json(source));
  return {{"type", "round"},
          {"id", request.id},
          {"directory", request.directory.string()},
          {"fresh", request.fresh},
          {"workdir", request.workdir},
          {"files", request.files},
          {"env", request.env},
          {"ranks", std::move(ranks)},
          {"time_limit_ns", request.time_limit.count()},
          {"stall_limit_ns", request.stall_limit.count()},
          {"grace_ns", request.grace.count()},
          {"output_limit", request.output_limit},
          {"telemetry_interval_ns", request.telemetry_interval.count()},
          {"sources", std::move(sources)},
          {"case", request.case_name},
          {"round", request.round},
          {"metrics", request.metrics}};
}

RoundRequest round_request_from_json(const Json& json) {
  try {
    RoundRequest request;
    const auto duration = [&](const char* key) {
      return Nanoseconds(json.at(key).get<std::int64_t>());
    };
    request.id = json.at("id");
    request.directory = json.at("directory").get<std::string>();
    request.fresh = json.value("fresh", false);
    request.workdir = json.at("workdir");
    json.at("files").get_to(request.files);
    json.at("env").get_to(request.env);
    for (const Json& entry : json.at("ranks")) {
      RankRequest rank;
      entry.at("rank").get_to(rank.rank);
      entry.at("local_rank").get_to(rank.local_rank);
      entry.at("argv").get_to(rank.argv);
      entry.at("env").get_to(rank.env);
      rank.cleanup = entry.value("cleanup", std::vector<std::string>{});
      if (rank.argv.empty()) throw Error(ErrorKind::internal, "a rank without a command");
      request.ranks.push_back(std::move(rank));
    }
    request.time_limit = duration("time_limit_ns");
    request.stall_limit = duration("stall_limit_ns");
    request.grace = duration("grace_ns");
    request.output_limit = json.at("output_limit");
    request.telemetry_interval = duration("telemetry_interval_ns");
    for (const Json& source : json.at("sources"))
      request.sources.push_back(telemetry::device_source_from_json(source, "round request"));
    request.case_name = json.value("case", "");
    request.round = json.value("round", 0);
    request.metrics = json.value("metrics", "");
    return request;
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::internal, std::string("malformed round request: ") + e.what());
  }
}

Json to_json(const probe::CheckOptions& options) {
  return {{"type", "probe"},
          {"out_dir", options.out_dir.string()},
          {"required_disk_bytes", options.required_disk_bytes},
          {"required_memory_bytes", options.required_memory_bytes},
          {"procs", options.procs},
          {"vendor", options.vendor},
          {"device_query", options.device_query},
          {"device_pattern", options.device_pattern},
          {"container_runtime", options.container_runtime},
          {"timeout_ns", options.timeout.count()}};
}

probe::CheckOptions check_options_from_json(const Json& json) {
  try {
    probe::CheckOptions options;
    options.out_dir = json.at("out_dir").get<std::string>();
    json.at("required_disk_bytes").get_to(options.required_disk_bytes);
    json.at("required_memory_bytes").get_to(options.required_memory_bytes);
    json.at("procs").get_to(options.procs);
    json.at("vendor").get_to(options.vendor);
    json.at("device_query").get_to(options.device_query);
    json.at("device_pattern").get_to(options.device_pattern);
    json.at("container_runtime").get_to(options.container_runtime);
    options.timeout = Nanoseconds(json.at("timeout_ns").get<std::int64_t>());
    return options;
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::internal, std::string("malformed probe request: ") + e.what());
  }
}

}  // namespace assay::agent
