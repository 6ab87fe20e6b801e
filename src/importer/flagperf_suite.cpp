#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <yaml-cpp/yaml.h>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "core/version.h"
#include "importer/flagperf.h"
#include "importer/flagperf_launch.h"
#include "importer/flagperf_layout.h"

namespace assay::importer {

namespace {

namespace fs = std::filesystem;

/// Names and numeric addresses that may denote this machine.
std::vector<std::string> this_machine() {
  std::vector<std::string> out{"localhost", "127.0.0.1", "::1"};
  const std::string full = host_name();
  out.push_back(full);
  out.push_back(full.substr(0, full.find('.')));
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return out;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto length =
        static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    std::array<char, NI_MAXHOST> address{};
    if (getnameinfo(entry->ifa_addr, length, address.data(), address.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      out.emplace_back(address.data());
  }
  return out;
}

bool is_local(const FlagPerfCluster& cluster, const ImportOptions& options) {
  return cluster.hosts.size() == 1 && is_this_machine(cluster.hosts.front(), options.local_names);
}

std::string comment(std::string_view text, std::string_view indent = "") {
  std::string line = printable(text);
  std::ranges::replace(line, '\n', ' ');
  return fmt::format("{}# {}\n", indent, ellipsize(line, 300));
}

/// A float that every YAML reader recognizes as one, and that reads back exactly.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find('.') != std::string::npos) return text;
  const auto exponent = text.find('e');
  return exponent == std::string::npos ? text + ".0" : text.insert(exponent, ".0");
}

/// Unquoted only if no YAML reader could take it for anything but this text.
bool plain_word(const std::string& text) {
  static const std::set<std::string> kReserved{"null", "true", "false", "yes", "no", "on",
                                               "off",  "y",    "n",     "inf", "nan"};
  if (text.empty() || text.size() > 60 || kReserved.contains(to_lower(text))) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return letter(text.front()) && std::ranges::all_of(text, [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
         });
}

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (plain_word(text)) {
    out << text;
  } else {
    out << YAML::DoubleQuoted << text;
  }
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::Flow << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      out << YAML::Key;
      emit_text(out, key);
      out << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const Json& inner : value) emit(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    emit_text(out, value.get<std::string>());
  } else if (value.is_number_float()) {
    out << real_text(value.get<double>());
  } else if (value.is_number_integer()) {
    out << std::to_string(value.get<std::int64_t>());
  } else if (value.is_boolean()) {
    out << value.get<bool>();
  } else {
    out << YAML::Null;
  }
}

void emit_field(YAML::Emitter& out, const char* key, const Json& value) {
  out << YAML::Key << key << YAML::Value;
  emit(out, value);
}

/// Which of tokens and MFU the script prints: most of FlagScale's print only MFU, and a metric that
/// never comes would make every round incomplete. All, if it is not understood.
Json token_metrics(const fs::path& script) {
  struct Printed {
    const char* name;
    std::string_view text;
    const char* unit;
  };
  static constexpr std::array<Printed, 3> kPrinted{
      {{"tokens_per_device", "Tokens/p/s:", "tokens/s/device"},
       {"tokens_system", "System tokens per second:", "tokens/s"},
       {"mfu_printed", "MFU:", "1"}}};
  const std::string source = read_plain_file_or_empty(script);
  const auto prints = [&](const Printed& printed) {
    return source.find(printed.text) != std::string::npos;
  };
  const bool understood = std::ranges::any_of(kPrinted, prints);
  Json out = Json::object();
  for (const Printed& printed : kPrinted)
    if (!understood || prints(printed))
      out[printed.name] = Json{{"match", std::string(printed.text) + " *([0-9.eE+-]+)"},
                               {"unit", printed.unit},
                               {"better", "higher"}};
  return out;
}

/// A checkout has more than training/: names the parts that are not imported.
void name_other_parts(const fs::path& training, std::vector<Diagnostic>& diagnostics) {
  static constexpr std::array<std::pair<const char*, const char*>, 3> kParts{
      {{"base",
        "micro-benchmarks of devices; 'assay list workloads' has gemm, membw and allreduce"},
       {"inference", "inference is not what Assay measures"},
       {"operation", "single operators are not what Assay measures"}}};
  const fs::path root = training.parent_path();
  for (const auto& [name, why] : kParts) {
    std::error_code ec;
    std::size_t cases = 0;
    for (fs::directory_iterator at(root / name / "benchmarks", ec);
         !ec && at != fs::directory_iterator(); at.increment(ec))
      if (std::error_code ignored; at->is_directory(ignored)) ++cases;
    if (std::error_code missing; !fs::is_directory(root / name, missing)) continue;
    diagnostics.push_back(
        {(root / name).string(), 0, 0, Severity::note,
         fmt::format("left out{}: {}", cases == 0 ? "" : fmt::format(", {} benchmarks", cases),
                     why)});
  }
}

std::string indented(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += fmt::format("  {}\n", line);
  return out;
}

class SuiteWriter {
 public:
  SuiteWriter(const FlagPerfConfig& config, const ImportOptions& options,
              std::vector<Diagnostic>& diagnostics)
      : config_(config),
        options_(options),
        diagnostics_(diagnostics),
        local_(is_local(config.cluster, options)),
        here_{config.training, config.test.vendor},
        on_hosts_{options.training_on_hosts.empty() ? config.training : options.training_on_hosts,
                  config.test.vendor} {}

  std::string run() {
    std::string out = header();
    out += preamble();
    out += "cases:\n";
    for (const FlagPerfCase& item : config_.cases)
      if (item.skipped.empty()) out += one_case(item);
    return out;
  }

 private:
  void note(Severity severity, std::string message) {
    diagnostics_.push_back({(config_.training / "run_benchmarks/config/test_conf.py").string(), 0,
                            0, severity, std::move(message)});
  }

  std::string header() {
    std::string out = comment("Written by assay " + version_string() + " import flagperf, from " +
                              config_.training.string() + ".");
    out += comment(
        "It runs FlagPerf's own training scripts under Assay, on the hosts themselves: no "
        "container is started.");
    const FlagPerfTest& test = config_.test;
    std::vector<std::string> unused;
    const auto mention = [&](const char* name, const std::string& value) {
      if (!trim(value).empty()) unused.push_back(fmt::format("{} = \"{}\"", name, value));
    };
    mention("ACCE_CONTAINER_OPT", test.container_options);
    mention("SHM_SIZE", test.shm_size);
    mention("PIP_SOURCE", test.pip_source);
    mention("FLAGPERF_LOG_PATH", test.log_path);
    mention("FLAGPERF_LOG_LEVEL", test.log_level);
    if (!unused.empty()) out += comment("Settings of FlagPerf that do not apply here:");
    for (const std::string& line : unused) {
      out += comment("  " + line);
      note(Severity::note, "not taken over: " + line);
    }
    for (const FlagPerfCase& item : config_.cases)
      if (!item.skipped.empty())
        out += comment(fmt::format("Left out: {}: {}", item.key, item.skipped));
    return out;
  }

  std::string vendor() {
    const auto& known = options_.known_vendors;
    const std::string& name = config_.test.vendor;
    if (known.empty() || std::ranges::find(known, name) != known.end()) return name;
    note(Severity::warning, fmt::format("Assay has no vendor '{}'{}: devices are not sampled", name,
                                        did_you_mean(name, known)));
    return "cpu";
  }

  std::string preamble() {
    YAML::Emitter out;
    out << YAML::BeginMap;
    emit_field(out, "name",
               options_.name.empty() ? "flagperf-" + config_.test.vendor : options_.name);
    emit_field(out, "description", "Imported from FlagPerf");
    emit_field(out, "vendor", vendor());
    Json cluster{{"launcher", local_ ? "local" : "ssh"}};
    if (!local_) {
      cluster["hosts"] = config_.cluster.hosts;
      if (config_.cluster.ssh_port) cluster["ssh"] = Json{{"port", *config_.cluster.ssh_port}};
      check_path();
    }
    if (config_.cluster.master_port) cluster["master_port"] = *config_.cluster.master_port;
    emit_field(out, "cluster", cluster);
    emit_field(out, "telemetry", Json{{"interval", "1s"}});
    if (config_.test.clear_caches == true) emit_field(out, "defaults", Json{{"drop_caches", true}});
    out << YAML::EndMap;
    return std::string(out.c_str()) + "\n";
  }

  /// FlagPerf's hosts have a checkout at FLAGPERF_PATH, but the commands use the imported folder.
  void check_path() {
    if (!options_.training_on_hosts.empty() || config_.test.flagperf_path.empty()) return;
    const fs::path there = fs::path(config_.test.flagperf_path).lexically_normal();
    if (there == config_.training || there / "" == config_.training / "") return;
    note(Severity::warning,
         fmt::format("FLAGPERF_PATH is {}, but the commands use {}: every host needs the checkout "
                     "at that path",
                     there.string(), config_.training.string()));
  }

  std::string one_case(const FlagPerfCase& item) {
    const Launch launch = plan_launch(config_, item, here_, on_hosts_, options_.python, local_);
    std::string out;
    if (!item.not_literal.empty())
      out += comment(fmt::format("only Python knows these values of {}: {}", item.config_file,
                                 join(item.not_literal, ", ")),
                     "  ");
    for (const std::string& remark : launch.remarks) {
      out += comment(remark, "  ");
      diagnostics_.push_back({(here_.config_folder(item) / item.config_file).string(), 0, 0,
                              Severity::note, fmt::format("{}: {}", item.key, remark)});
    }
    YAML::Emitter yaml;
    yaml << YAML::BeginSeq << YAML::BeginMap;
    emit_field(yaml, "case",
               fmt::format("{}:{}:{}:{}:{}:{}", item.model, item.framework, item.hardware,
                           item.nodes, item.procs, item.repeats));
    emit_field(yaml, "launch", launch.mode);
    yaml << YAML::Key << "command" << YAML::Value << YAML::BeginSeq;
    for (const std::string& word : launch.command) emit_text(yaml, word);
    yaml << YAML::EndSeq;
    emit_field(yaml, "workdir", launch.workdir);
    if (!item.data.empty()) emit_field(yaml, "data", item.data);
    if (!launch.env.empty()) {
      yaml << YAML::Key << "env" << YAML::Value << YAML::BeginMap;
      for (const auto& [name, value] : launch.env) emit_field(yaml, name.c_str(), value);
      yaml << YAML::EndMap;
    }
    if (item.peak_flops) {
      yaml << YAML::Key << "peak_flops" << YAML::Value << real_text(*item.peak_flops);
    }
    if (launch.prints_tokens) {
      yaml << YAML::Key << "metrics" << YAML::Value << YAML::BeginMap;
      const Json metrics = token_metrics(here_.benchmark(item) / here_.script(item));
      for (const auto& [name, metric] : metrics.items()) emit_field(yaml, name.c_str(), metric);
      yaml << YAML::EndMap;
    }
    // The LLM scripts write their progress to their own files, so silence does not mean a stall.
    emit_field(yaml, "limits", Json{{"stall", launch.prints_tokens ? "0s" : "1h"}});
    if (!item.config.empty()) {
      yaml << YAML::Key << "declared" << YAML::Value << YAML::BeginMap;
      for (const auto& [name, value] : item.config.items()) {
        yaml << YAML::Key;
        emit_text(yaml, name);
        yaml << YAML::Value;
        emit(yaml, value);
      }
      yaml << YAML::EndMap;
    }
    yaml << YAML::EndMap << YAML::EndSeq;
    if (!yaml.good())
      throw Error(ErrorKind::internal, "the suite could not be written: " + yaml.GetLastError(),
                  "case " + item.key);
    return out + indented(yaml.c_str());
  }

  const FlagPerfConfig& config_;
  const ImportOptions& options_;
  std::vector<Diagnostic>& diagnostics_;
  bool local_;
  Layout here_;
  Layout on_hosts_;
};

}  // namespace

bool is_this_machine(const std::string& host, const std::vector<std::string>& local_names) {
  const auto names = local_names.empty() ? this_machine() : local_names;
  return std::ranges::find(names, host) != names.end();
}

std::string render_suite(const FlagPerfConfig& config, const ImportOptions& options,
                         std::vector<Diagnostic>& diagnostics) {
  return SuiteWriter(config, options, diagnostics).run();
}

FlagPerfImport import_flagperf(const fs::path& dir, const ImportOptions& options) {
  FlagPerfImport out;
  out.config = read_flagperf(dir, out.diagnostics, options);
  name_other_parts(out.config.training, out.diagnostics);
  out.suite_yaml = render_suite(out.config, options, out.diagnostics);
  for (const FlagPerfCase& item : out.config.cases) {
    if (item.skipped.empty()) {
      out.imported.push_back(item.key);
    } else {
      out.skipped.emplace_back(item.key, item.skipped);
    }
  }
  return out;
}

}  // namespace assay::importer
