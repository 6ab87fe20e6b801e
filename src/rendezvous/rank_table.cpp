#include "rendezvous/rank_table.h"

#include <algorithm>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_error.h"
#include "core/text.h"
#include "rendezvous/rank_table_reader.h"

namespace assay::rendezvous {

using Severity = Finding::Severity;

namespace {

// Deeper than any rank table, yet safe for the stack of recursive JSON functions.
constexpr int kMaxDepth = 32;
constexpr std::size_t kFindingsShown = 20;

/// Requires unique keys in every object: of two, HCCL and other readers take different ones.
Json parse_strictly(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth)
      throw Error(ErrorKind::config, "nested too deeply for a rank table", where);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw Error(ErrorKind::config,
                  "the key '" + ellipsize(printable(parsed.get<std::string>()), 60) +
                      "' is there twice in one object",
                  where, "which of the two counts is not defined: remove one");
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    const JsonFlaw flaw = flaw_of(error, text);
    throw Error(ErrorKind::config, "not valid JSON: " + flaw.what, flaw.place(where),
                "a rank table is a JSON file; it may be cut short");
  }
}

/// The form by HCCL's rule, `version`, and for forms without it by their distinguishing keys.
std::optional<TableForm> recognize(const Cursor& root) {
  if (!root.has("version")) {
    if (root.has("deploy_mode")) return TableForm::lab;
    if (root.has("server_list")) {
      root.invalid("version", "is missing",
                   "add \"version\": \"1.0\": without it HCCL looks for a "
                   "group_list");
      return TableForm::v1_0;
    }
    return TableForm::cloud;
  }
  const std::string version = root.text("version");
  if (version == "1.0") return TableForm::v1_0;
  if (version == "1.2") return TableForm::v1_2;
  if (version == "1.1")
    root.invalid("version", "1.1 is for heterogeneous clusters, which Assay does not know",
                 "known: 1.0, 1.2, or a group_list without a version");
  else if (!version.empty())
    root.invalid("version", "\"" + ellipsize(printable(version), 40) + "\" is not known",
                 "known: 1.0, 1.2, or a group_list without a version");
  return std::nullopt;
}

void read_status(const Cursor& root, RankTable& table) {
  const std::string status = root.text("status");
  table.completed = status != "initializing";
  if (status != "completed" && status != "initializing" && !status.empty())
    root.invalid(
        "status",
        "must be completed or initializing, got \"" + ellipsize(printable(status), 40) + "\"",
        "HCCL waits forever for another value");
}

bool unfinished(const TableReading& reading) {
  return reading.readable() && !reading.table.completed;
}

}  // namespace

std::size_t RankTable::device_count() const noexcept {
  std::size_t count = 0;
  for (const TableServer& server : servers) count += server.devices.size();
  return count;
}

std::string to_string(const Finding& finding) {
  std::string text =
      finding.path.empty() ? finding.message : fmt::format("{}: {}", finding.path, finding.message);
  if (!finding.advice.empty()) text += fmt::format(" ({})", finding.advice);
  return text;
}

bool TableReading::readable() const noexcept {
  return std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::invalid; });
}

bool TableReading::valid() const noexcept {
  return std::ranges::all_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::note; });
}

TableReading read_rank_table(const Json& json, const CheckOptions& options) {
  TableReading out;
  const Cursor root(json, {}, out.findings);
  if (!json.is_object()) {
    root.invalid({}, "a rank table is a JSON object");
    return out;
  }
  TableDraft draft;
  read_status(root, draft.table);
  const auto form = recognize(root);
  if (!form) return out;
  draft.form = *form;
  if (*form == TableForm::v1_0 || *form == TableForm::v1_2)
    read_server_list(root, draft);
  else
    read_group_list(root, draft);
  check_devices(draft, options, out.findings);
  out.form = draft.form;
  out.table = std::move(draft.table);
  return out;
}

TableReading parse_rank_table(std::string_view text, const std::string& where,
                              const CheckOptions& options) {
  return read_rank_table(parse_strictly(text, where), options);
}

TableReading load_rank_table(const std::filesystem::path& path, const CheckOptions& options,
                             Nanoseconds wait) {
  const auto load = [&] {
    std::error_code ec;
    if (!std::filesystem::is_regular_file(path, ec))
      throw Error(
          ErrorKind::config,
          std::filesystem::exists(path, ec) ? "not a regular file" : "there is no such file",
          path.string());
    if (std::filesystem::file_size(path, ec) > kMaxRankTableBytes)
      throw Error(ErrorKind::config, "too large for a rank table (64 MiB at most)", path.string());
    return parse_rank_table(read_file(path), path.string(), options);
  };
  constexpr auto kPause = std::chrono::milliseconds(200);
  const std::int64_t end = mono_now_ns() + wait.count();
  for (;;) {
    // Writers that do not replace the file atomically briefly leave a part of it.
    const bool last = mono_now_ns() + Nanoseconds(kPause).count() > end;
    try {
      TableReading reading = load();
      if (last || !unfinished(reading)) return reading;
    } catch (const Error&) {
      if (last) throw;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void require_readable(const TableReading& reading, const std::string& where) {
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const Finding& finding : reading.findings) {
    if (finding.severity != Severity::invalid) continue;
    if (lines.size() < kFindingsShown)
      lines.push_back(to_string(finding));
    else
      ++more;
  }
  if (lines.empty()) return;
  if (more > 0) lines.push_back(fmt::format("… and {} more", more));
  throw Error(ErrorKind::config, "the rank table is not valid:\n  " + join(lines, "\n  "), where,
              "docs/rendezvous.md has the rules");
}

RankTable make_rank_table(const std::vector<ServerSpec>& servers, int devices) {
  RankTable table;
  int rank = 0;
  for (const ServerSpec& spec : servers) {
    const auto enough = [&](const std::vector<std::string>& values, const char* what) {
      if (!values.empty() && values.size() < static_cast<std::size_t>(devices))
        throw Error(ErrorKind::config,
                    fmt::format("the server '{}' has {} {} for {} devices", printable(spec.id),
                                values.size(), what, devices),
                    {}, fmt::format("give one for every device, or none"));
    };
    enough(spec.device_ips, "device IPs");
    enough(spec.super_device_ids, "super_device_ids");
    TableServer server;
    server.id = spec.id;
    server.super_pod = spec.super_pod;
    for (int id = 0; id < devices; ++id) {
      const auto index = static_cast<std::size_t>(id);
      TableDevice device;
      device.id = id;
      device.rank = rank++;
      if (!spec.device_ips.empty())
        for (const std::string_view ip : split(spec.device_ips[index], ','))
          device.ips.emplace_back(trim(ip));
      if (!spec.super_device_ids.empty()) device.super_device_id = spec.super_device_ids[index];
      server.devices.push_back(std::move(device));
    }
    table.servers.push_back(std::move(server));
  }
  return table;
}

}  // namespace assay::rendezvous
