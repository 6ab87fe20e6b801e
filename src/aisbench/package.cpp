#include "aisbench/package.h"

#include <cctype>
#include <ctime>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/pattern.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::aisbench {

namespace fs = std::filesystem;

namespace {

fs::path existing(const std::vector<fs::path>& candidates) {
  std::error_code ec;
  for (const fs::path& path : candidates)
    if (fs::is_regular_file(path, ec)) return path;
  return {};
}

const Pattern& run_type_line() {
  static const Pattern kLine(
      R"((?:^|\n)[ \t]*(?:export[ \t]+|declare[ \t]+)?RUNTYPE=["']?([A-Za-z0-9_]+)["']?)");
  return kLine;
}

// "Tester_Server-IP" and "testerserverip" are the same key.
std::string bare(std::string_view key) {
  std::string out;
  for (const char c : key)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

const Json* find_key(const Json& config, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const auto& item : config.items())
      if (!item.value().is_object() && bare(item.key()) == name) return &item.value();
    for (const auto& group : config.items())
      if (group.value().is_object())
        for (const auto& item : group.value().items())
          if (!item.value().is_structured() && bare(item.key()) == name) return &item.value();
  }
  return nullptr;
}

}  // namespace

Package open_package(const fs::path& dir) {
  std::error_code ec;
  Package package;
  for (const fs::path& base : {dir, dir / ".."}) {
    if (!fs::is_regular_file(base / "code/benchmark.sh", ec)) continue;
    package.base = fs::canonical(base);
    break;
  }
  if (package.base.empty())
    throw Error(
        ErrorKind::usage,
        fs::is_directory(dir, ec) ? "there is no code/benchmark.sh" : "there is no such folder",
        dir.string(), "give the folder of an unpacked ais-bench workload package");
  package.code = package.base / "code";
  package.benchmark = package.code / "benchmark.sh";
  package.run_type = run_type_of(read_plain_file(package.benchmark));
  package.config_json = existing({package.base / "config/config.json", package.code / "config.json",
                                  package.code / "config/config.json"});
  package.system_json = existing({package.base / "config/system.json", package.code / "system.json",
                                  package.code / "config/system.json"});
  for (const fs::path& place : {package.code, package.base / "dependencies/logging", package.base})
    for (const char* name : {"libais_utils.so", "libset_result.so"})
      if (fs::exists(place / name, ec)) package.closed_libraries.push_back(place / name);
  return package;
}

std::string run_type_of(std::string_view benchmark_sh) {
  const auto matches = run_type_line().search_all(benchmark_sh);
  return matches.empty() ? "" : std::string(matches.back()[1].value_or(""));
}

std::optional<std::string> with_run_type(std::string_view benchmark_sh,
                                         const std::string& run_type) {
  std::string out;
  const char* from = benchmark_sh.data();
  for (const auto& match : run_type_line().search_all(benchmark_sh)) {
    const std::string_view value = match[1].value_or("");
    out.append(from, value.data());
    out += run_type;
    from = value.data() + value.size();
  }
  if (out.empty()) return std::nullopt;
  out.append(from, benchmark_sh.data() + benchmark_sh.size());
  return out;
}

TestInfo read_test_info(const Json& config, const std::string& where) {
  if (!config.is_object())
    throw Error(ErrorKind::config, "config.json is not a JSON object", where);
  TestInfo info;
  const auto text = [&](const std::vector<std::string>& names, std::string& into) {
    const Json* value = find_key(config, names);
    if (value == nullptr || value->is_null()) return false;
    if (!value->is_string() && !value->is_number_integer())
      throw Error(ErrorKind::config, "'" + names.front() + "' must be text", where);
    const std::string given = value->is_string() ? value->get<std::string>() : dump_line(*value);
    if (trim(given).empty()) return false;
    into = printable(trim(given));
    return true;
  };
  info.has_test_id = text({"testid", "id"}, info.test_id);
  text({"mode"}, info.mode);
  text({"model"}, info.model);
  text({"divsion", "division"}, info.division);
  text({"scenario"}, info.scenario);
  text({"testobjecttype", "objecttype"}, info.object_type);
  const bool url = text({"testerserverurl", "testerurl", "url"}, info.tester_url);
  const bool ip = text({"testerserverip", "testerip", "serverip", "ip", "testerserverhost", "host"},
                       info.tester_ip);
  std::string port;
  if (text({"testerserverport", "testerport", "serverport", "port"}, port)) {
    const auto number = parse_number<int>(port, 1, 65535);
    if (!number)
      throw Error(ErrorKind::config, "the tester's port is from 1 to 65535, not '" + port + "'",
                  where);
    info.tester_port = *number;
  }
  info.has_tester = url || ip;
  return info;
}

std::string config_info_line(const TestInfo& info) {
  return fmt::format(
      "get ConfigInfo testid:{}, Mode:{}, Model:{}, Divsion:{}, Scenario:{}, test_object_type:{}, "
      "tester_server_ip:{}, tester_server_port:{}",
      info.test_id, info.mode, info.model, info.division, info.scenario, info.object_type,
      info.tester_ip, info.tester_port);
}

std::string stub_line(std::int64_t wall_ns, std::string_view level, std::string_view text) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm t{};
  ::localtime_r(&seconds, &t);
  return fmt::format("[{}-{}-{} {}:{}:{}][{}]{}\n", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec, level, text);
}

}  // namespace assay::aisbench
