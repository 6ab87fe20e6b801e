#include "launch/cloud/cloud_job_state.h"

#include "core/json.h"
#include "core/regular_file.h"
#include "core/run_layout.h"

namespace assay::launch {

std::optional<JobState> load_job_state(const std::filesystem::path& round_dir) {
  const Json json = parse_json_or_null(read_regular_file_or_empty(round_dir / layout::kJob));
  if (!json.is_object()) return std::nullopt;
  try {
    JobState state;
    state.name = json.at("name").get<std::string>();
    state.id = json.at("id").get<std::string>();
    state.over = json.at("over").get<bool>();
    state.running = json.at("running").get<bool>();
    state.code = json.value("code", "");
    state.logs = json.value("logs", "");
    state.sync_start_ns = json.at("sync_start_ns").get<std::int64_t>();
    state.created_ns = json.at("created_ns").get<std::int64_t>();
    int node = 0;
    for (const auto& bytes : json.at("mirrored"))
      state.mirrored[node++] = bytes.get<std::uint64_t>();
    node = 0;
    for (const auto& bytes : json.value("earlier", Json::array()))
      state.earlier[node++] = bytes.get<std::uint64_t>();
    return state;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void save_job_state(const std::filesystem::path& round_dir, const JobState& state) {
  Json mirrored = Json::array();
  Json earlier = Json::array();
  for (const auto& [node, bytes] : state.mirrored) {
    mirrored.push_back(bytes);
    const auto at = state.earlier.find(node);
    earlier.push_back(at == state.earlier.end() ? 0 : at->second);
  }
  make_directories(round_dir);
  write_file_atomic(round_dir / layout::kJob,
                    dump_pretty({{"name", state.name},
                                 {"id", state.id},
                                 {"over", state.over},
                                 {"running", state.running},
                                 {"code", state.code},
                                 {"logs", state.logs},
                                 {"sync_start_ns", state.sync_start_ns},
                                 {"created_ns", state.created_ns},
                                 {"mirrored", std::move(mirrored)},
                                 {"earlier", std::move(earlier)}}),
                    /*sync=*/false);
}

}  // namespace assay::launch
