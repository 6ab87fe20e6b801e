#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fnmatch.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "importer/flagperf.h"
#include "importer/flagperf_layout.h"
#include "pyliteral/python_literals.h"

namespace assay::importer {

namespace {

namespace fs = std::filesystem;
using pyliteral::Entry;
using pyliteral::Module;
using pyliteral::NotLiteral;
using pyliteral::parse_python_file;
using pyliteral::Setting;
using pyliteral::Value;
using Kind = Value::Kind;

constexpr std::string_view kClusterConf = "run_benchmarks/config/cluster_conf.py";
constexpr std::string_view kTestConf = "run_benchmarks/config/test_conf.py";

/// Reads a module's settings by name and type; missing or odd ones are reported by place.
class Settings {
 public:
  Settings(const fs::path& file, std::vector<Diagnostic>& diagnostics)
      : module_(parse_python_file(file, file.string())) {
    for (const Diagnostic& diagnostic : module_.diagnostics) {
      if (diagnostic.severity == Severity::error)
        throw Error(ErrorKind::config, diagnostic.message, assay::place(diagnostic),
                    "Python does not accept this file either; correct it first");
      diagnostics.push_back(diagnostic);
    }
  }

  [[nodiscard]] std::string where(const Setting& setting) const {
    return fmt::format("{}:{}:{}", setting.file, setting.place.line, setting.place.column);
  }

  /// Returns nullptr if the file lacks the setting; throws if it is not a literal.
  [[nodiscard]] const Setting* find(std::string_view name) const {
    const auto odd = std::ranges::find(module_.not_literal, name, &NotLiteral::name);
    if (odd != module_.not_literal.end())
      throw Error(
          ErrorKind::config,
          fmt::format("{} is {}, which is not read without running Python", name, odd->what),
          fmt::format("{}:{}:{}", odd->file, odd->place.line, odd->place.column),
          fmt::format("write {} as a literal", name));
    return module_.find(name);
  }

  [[nodiscard]] const Setting& need(std::string_view name, std::string_view advice) const {
    const Setting* setting = find(name);
    if (setting == nullptr) {
      std::vector<std::string> known;
      for (const Setting& candidate : module_.settings) known.push_back(candidate.name);
      throw Error(ErrorKind::config, fmt::format("{} is missing", name) + did_you_mean(name, known),
                  module_.file, std::string(advice));
    }
    return *setting;
  }

  /// The settings that are not in `known`.
  [[nodiscard]] std::vector<Setting> others(std::initializer_list<std::string_view> known) const {
    std::vector<Setting> out;
    for (const Setting& setting : module_.settings)
      if (std::ranges::find(known, setting.name) == known.end()) out.push_back(setting);
    return out;
  }

  [[nodiscard]] std::string text_or_empty(std::string_view name) const {
    const Setting* setting = find(name);
    if (setting == nullptr || setting->value.kind == Kind::none) return {};
    if (!setting->value.is_text()) wrong(*setting, "a string");
    return setting->value.text;
  }

  [[nodiscard]] std::optional<int> port(std::string_view name) const {
    const Setting* setting = find(name);
    if (setting == nullptr || setting->value.kind == Kind::none) return std::nullopt;
    const auto number = setting->value.kind == Kind::integer || setting->value.is_text()
                            ? parse_number<int>(trim(display(setting->value)))
                            : std::nullopt;
    if (!number || *number < 1 || *number > 65535) wrong(*setting, "a port from 1 to 65535");
    return number;
  }

  [[nodiscard]] std::vector<std::string> texts(const Setting& setting) const {
    if (setting.value.kind != Kind::list && setting.value.kind != Kind::tuple)
      wrong(setting, "a list of strings");
    std::vector<std::string> out;
    for (const Value& item : setting.value.items) {
      if (!item.is_text() && item.kind != Kind::integer) wrong(setting, "a list of strings");
      out.push_back(display(item));
    }
    return out;
  }

  [[noreturn]] void wrong(const Setting& setting, std::string_view expected) const {
    throw Error(
        ErrorKind::config,
        fmt::format("{} must be {}, got a {}: {}", setting.name, expected, type_name(setting.value),
                    ellipsize(printable(display(setting.value)), 80)),
        where(setting));
  }

 private:
  Module module_;
};

}  // namespace

FlagPerfCluster read_flagperf_cluster(const fs::path& file, std::vector<Diagnostic>& diagnostics) {
  const Settings settings(file, diagnostics);
  FlagPerfCluster out;
  const Setting& hosts =
      settings.need("HOSTS", "HOSTS = [\"10.1.2.3\"], or [\"127.0.0.1\"] for this machine");
  for (const std::string& host : settings.texts(hosts)) {
    const std::string name(trim(host));
    if (name.empty()) settings.wrong(hosts, "a list of host names");
    if (std::ranges::find(out.hosts, name) != out.hosts.end()) {
      diagnostics.push_back({hosts.file, hosts.place.line, hosts.place.column, Severity::warning,
                             fmt::format("the host {} is listed twice; once is enough", name)});
      continue;
    }
    out.hosts.push_back(name);
  }
  if (out.hosts.empty()) settings.wrong(hosts, "a list with at least one host");
  if (const Setting* ports = settings.find("HOSTS_PORTS")) {
    for (const std::string& port : settings.texts(*ports))
      if (!trim(port).empty()) out.hosts_ports.emplace_back(trim(port));
  }
  out.master_port = settings.port("MASTER_PORT");
  out.ssh_port = settings.port("SSH_PORT");
  for (const Setting& other : settings.others({"HOSTS", "HOSTS_PORTS", "MASTER_PORT", "SSH_PORT"}))
    diagnostics.push_back(
        {other.file, other.place.line, other.place.column, Severity::note,
         fmt::format("{} is not a setting that FlagPerf knows here", printable(other.name))});
  return out;
}

namespace {

/// Splits a case key; if it is not one, sets `skipped` to the reason.
FlagPerfCase parse_key(const Entry& entry) {
  FlagPerfCase out;
  out.place = entry.key.place;
  out.key = display(entry.key);
  if (!entry.key.is_text()) {
    out.skipped = fmt::format("the key is a {}, not a string", type_name(entry.key));
    return out;
  }
  const auto fields = split(out.key, ':');
  if (fields.size() < 6) {
    out.skipped =
        fmt::format("the key has {} fields, it needs model:framework:hardware:nodes:procs:repeats",
                    fields.size());
    return out;
  }
  out.model = fields[0];
  out.framework = fields[1];
  out.family = std::string(fields[1].substr(0, fields[1].find('_')));
  out.hardware = fields[2];
  for (std::size_t i = 0; i < 3; ++i) {
    const bool odd = fields[i].empty() || std::ranges::any_of(fields[i], [](char c) {
                       return static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '\x7f';
                     });
    if (odd || fields[i] == "." || fields[i] == "..") {
      out.skipped =
          fmt::format("'{}' cannot be a model, framework or hardware name", printable(fields[i]));
      return out;
    }
  }
  int* const counts[] = {&out.nodes, &out.procs, &out.repeats};
  const char* const names[] = {"nodes", "procs", "repeats"};
  constexpr int kMax[] = {100'000, 4096, 1000};  // the limits of a suite
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = parse_number<int>(trim(fields[i + 3]));
    if (!number || *number < 1 || *number > kMax[i]) {
      out.skipped = fmt::format("{} must be a whole number from 1 to {}, got '{}'", names[i],
                                kMax[i], printable(fields[i + 3]));
      return out;
    }
    *counts[i] = *number;
  }
  if (entry.value.is_text()) {
    out.data = entry.value.text;
  } else if (entry.value.kind != Kind::none) {
    out.skipped = fmt::format("the data path must be a string, got a {}", type_name(entry.value));
  }
  return out;
}

/// Names the vendors that have this case's file, for a case of a vendor other than VENDOR.
std::string elsewhere(const fs::path& training, const FlagPerfCase& item) {
  std::vector<std::string> vendors;
  std::error_code error;
  for (fs::directory_iterator it(training, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(
            it->path() / (item.model + "-" + item.family) / "config" / item.config_file, ignored))
      vendors.push_back(it->path().filename().string());
  }
  std::ranges::sort(vendors);
  return vendors.empty() ? "" : fmt::format("; VENDOR would have to be {}", join(vendors, " or "));
}

std::vector<std::string> config_files(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("config_") && name.ends_with(".py")) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

/// FlagPerf's own checks of a case, in its order; the first failure is the reason.
std::string check_case(const Layout& layout, const FlagPerfCase& item, std::size_t hosts) {
  std::error_code ignored;
  const auto relative = [&](const fs::path& path) {
    return path.lexically_relative(layout.training).string();
  };
  const fs::path benchmark = layout.benchmark(item);
  if (!fs::is_directory(benchmark, ignored))
    return fmt::format("there is no {}", relative(benchmark));
  const fs::path config = layout.config_folder(item);
  if (!fs::is_regular_file(config / item.config_file, ignored)) {
    std::string hint = elsewhere(layout.training, item);
    if (hint.empty()) hint = did_you_mean(item.config_file, config_files(config));
    return fmt::format("there is no {}{}", relative(config / item.config_file), hint);
  }
  if (static_cast<std::size_t>(item.nodes) > hosts)
    return fmt::format("it needs {} nodes, HOSTS has {}", item.nodes, hosts);
  const std::string script = layout.script(item);
  if (script.empty())
    return fmt::format("the framework '{}' is not known to the import", printable(item.family));
  if (!fs::is_regular_file(benchmark / script, ignored))
    return fmt::format("there is no {}", relative(benchmark / script));
  return {};
}

/// Adds the settings of the vendor's file. Returns the reason to leave the case out, or nothing.
std::string read_vendor_file(const Layout& layout, FlagPerfCase& item,
                             std::vector<Diagnostic>& diagnostics) {
  const fs::path path = layout.config_folder(item) / item.config_file;
  Module module;
  try {
    module = parse_python_file(path);
  } catch (const Error& error) {
    return error.message();
  }
  diagnostics.insert(diagnostics.end(), module.diagnostics.begin(), module.diagnostics.end());
  if (!module.syntax_ok) {
    const auto first =
        std::ranges::find(module.diagnostics, Severity::error, &Diagnostic::severity);
    return fmt::format("Python does not accept {}",
                       first == module.diagnostics.end() ? path.string() : to_string(*first));
  }
  for (const Setting& setting : module.settings) {
    if (setting.name.starts_with("__")) continue;
    item.config[setting.name] = to_json(setting.value);
  }
  for (const NotLiteral& name : module.not_literal) item.not_literal.push_back(name.name);
  if (const Setting* peak = module.find("theoryflops")) {
    const double flops = peak->value.number();
    if (peak->value.is_number() && std::isfinite(flops) && flops > 0) {
      item.peak_flops = flops;
    } else {
      diagnostics.push_back({peak->file, peak->place.line, peak->place.column, Severity::warning,
                             "theoryflops is not a number above 0: no MFU for this case"});
    }
  }
  return {};
}

/// The vendor given by --vendor, which must have a folder.
std::string checked_vendor(const fs::path& training, const std::string& wanted) {
  std::vector<std::string> known;
  std::error_code ec;
  for (fs::directory_iterator at(training, ec); !ec && at != fs::directory_iterator();
       at.increment(ec)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored) && name != "benchmarks" && name != "run_benchmarks" &&
        !name.starts_with('.') && name != "utils")
      known.push_back(name);
  }
  std::ranges::sort(known);
  if (std::ranges::find(known, wanted) == known.end())
    throw Error(ErrorKind::config,
                fmt::format("no vendor '{}'{}", printable(wanted), did_you_mean(wanted, known)),
                "--vendor", "vendors of the checkout: " + join(known, ", "));
  return wanted;
}

/// CASES, or the choice of --cases: globs select from CASES, a complete key stands for itself.
std::vector<Entry> chosen_cases(const std::vector<Entry>& all,
                                const std::vector<std::string>& wanted) {
  if (wanted.empty()) return all;
  std::vector<Entry> out;
  for (const std::string& text : wanted) {
    const auto equals = text.find('=');
    const std::string key = text.substr(0, equals);
    const std::size_t before = out.size();
    for (const Entry& entry : all)
      if (equals == std::string::npos && entry.key.is_text() &&
          ::fnmatch(key.c_str(), entry.key.text.c_str(), 0) == 0)
        out.push_back(entry);
    if (out.size() > before) continue;
    if (std::ranges::count(key, ':') < 5 || key.find_first_of("*?[") != std::string::npos) {
      std::vector<std::string> keys;
      for (const Entry& entry : all) keys.push_back(display(entry.key));
      throw Error(ErrorKind::config, fmt::format("no case matches '{}'", printable(text)),
                  "--cases",
                  "cases: " + join(keys, ", ") +
                      "; or a key of your own, model:framework:hardware:nodes:procs:repeats=DATA");
    }
    out.push_back({Value::of_text(key), equals == std::string::npos
                                            ? Value{}
                                            : Value::of_text(text.substr(equals + 1))});
  }
  return out;
}

}  // namespace

fs::path find_training(const fs::path& dir) {
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(dir, error);
  const fs::path& root = error ? dir : absolute;
  for (const fs::path& candidate : {root / "training", root}) {
    std::error_code ignored;
    if (fs::is_directory(candidate / "run_benchmarks", ignored)) return candidate;
  }
  std::error_code ignored;
  throw Error(ErrorKind::config,
              fs::is_directory(root, ignored)
                  ? "this is not a FlagPerf checkout: it has no training/run_benchmarks folder"
                  : "there is no such folder",
              dir.string(), "give the root of the checkout, or its training folder");
}

FlagPerfConfig read_flagperf(const fs::path& dir, std::vector<Diagnostic>& diagnostics,
                             const ImportOptions& options) {
  FlagPerfConfig out;
  out.training = find_training(dir);
  out.cluster = read_flagperf_cluster(out.training / kClusterConf, diagnostics);

  const Settings settings(out.training / kTestConf, diagnostics);
  if (options.vendor.empty()) {
    const Setting& vendor = settings.need("VENDOR", "VENDOR = \"nvidia\"");
    out.test.vendor = trim(settings.text_or_empty("VENDOR"));
    if (out.test.vendor.empty() || out.test.vendor.find('/') != std::string::npos)
      settings.wrong(vendor, "the name of a vendor");
  } else {
    out.test.vendor = checked_vendor(out.training, options.vendor);
  }
  out.test.container_options = settings.text_or_empty("ACCE_CONTAINER_OPT");
  out.test.visible_devices_env = trim(settings.text_or_empty("ACCE_VISIBLE_DEVICE_ENV_NAME"));
  out.test.pip_source = settings.text_or_empty("PIP_SOURCE");
  out.test.flagperf_path = settings.text_or_empty("FLAGPERF_PATH");
  out.test.log_path = settings.text_or_empty("FLAGPERF_LOG_PATH");
  out.test.log_level = settings.text_or_empty("FLAGPERF_LOG_LEVEL");
  out.test.shm_size = settings.text_or_empty("SHM_SIZE");
  if (const Setting* clear = settings.find("CLEAR_CACHES"))
    out.test.clear_caches = clear->value.truth();

  const Setting& cases =
      settings.need("CASES", "CASES = {\"resnet50:pytorch_1.8:A100:1:8:1\": \"/data/imagenet\"}");
  if (cases.value.kind != Kind::dict) settings.wrong(cases, "a dict of case key and data path");
  const Layout layout{out.training, out.test.vendor};
  std::set<std::string> keys;
  for (const Entry& entry : chosen_cases(cases.value.entries, options.cases)) {
    FlagPerfCase item = parse_key(entry);
    const std::string suite_key = fmt::format("{}:{}:{}:{}:{}:{}", item.model, item.framework,
                                              item.hardware, item.nodes, item.procs, item.repeats);
    if (item.skipped.empty() && !keys.insert(suite_key).second)
      item.skipped = "another entry is the same case (fields after the sixth do not count)";
    if (item.skipped.empty()) {
      item.config_file = fmt::format("config_{}x{}x{}.py", item.hardware, item.nodes, item.procs);
      item.skipped = check_case(layout, item, out.cluster.hosts.size());
    }
    if (item.skipped.empty()) item.skipped = read_vendor_file(layout, item, diagnostics);
    if (!item.skipped.empty())
      diagnostics.push_back(
          {cases.file, item.place.line, item.place.column, Severity::warning,
           fmt::format("the case {} is left out: {}", printable(item.key), item.skipped)});
    out.cases.push_back(std::move(item));
  }
  if (std::ranges::none_of(out.cases, [](const FlagPerfCase& c) { return c.skipped.empty(); })) {
    std::string reasons;
    for (const FlagPerfCase& item : out.cases)
      reasons += fmt::format("\n  {}: {}", printable(item.key), item.skipped);
    throw Error(ErrorKind::config,
                out.cases.empty() ? std::string("CASES is empty: there is nothing to import")
                                  : "no case of CASES can be run:" + reasons,
                settings.where(cases),
                "FlagPerf's run.py drops such cases too; take the case keys from the config_*.py "
                "files below training/" +
                    out.test.vendor);
  }
  return out;
}

}  // namespace assay::importer
