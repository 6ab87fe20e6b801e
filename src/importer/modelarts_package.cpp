#include "importer/modelarts_package.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/pattern.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "core/version.h"
#include "pyliteral/python_literals.h"

namespace assay::importer {

namespace fs = std::filesystem;

namespace {

using pyliteral::Entry;
using pyliteral::Module;
using pyliteral::NotLiteral;
using pyliteral::parse_python;
using pyliteral::Setting;
using pyliteral::Value;
using Kind = Value::Kind;
constexpr std::size_t kMaxJobName = 24;

std::string in_quotes(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The first that exists, or an empty path.
fs::path first_of(const std::vector<fs::path>& candidates) {
  std::error_code ec;
  for (const fs::path& path : candidates)
    if (fs::exists(path, ec)) return path;
  return {};
}

/// A shell file's settings, as far as they can be read without running it.
struct ShellSettings {
  std::map<std::string, std::string> values;  ///< from lines `export K=V`
  std::map<std::string, int> unread;          ///< set otherwise, with the last line that does
};

ShellSettings read_settings(const fs::path& file) {
  // Allows nothing after the value, and nothing in it that the shell would replace.
  static const Pattern kExport(
      R"x(^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(?:"([^"$`\\]*)"|'([^']*)')x"
      R"x(|([^\s#"'$`\\;&|()<>]*))\s*(?:;\s*)?(?:#.*)?$)x");
  static const Pattern kSet(R"((?:^|[\s;&|(])([A-Za-z_][A-Za-z0-9_]*)=)");
  static const Pattern kUnset(R"((?:^|[\s;&|(])unset\s+(?:-v\s+)?([A-Za-z_][A-Za-z0-9_]*))");
  ShellSettings out;
  const std::string text = read_plain_file(file);
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).starts_with('#')) continue;
    if (const auto match = kExport.search(line)) {
      const std::string name((*match)[1].value_or(""));
      out.values[name] = std::string((*match)[2]   ? *(*match)[2]
                                     : (*match)[3] ? *(*match)[3]
                                                   : (*match)[4].value_or(""));
      out.unread.erase(name);
      continue;
    }
    for (const Pattern* pattern : {&kSet, &kUnset})
      for (const auto& match : pattern->search_all(line))
        out.unread[std::string(match[1].value_or(""))] = number;
  }
  return out;
}

/// EasyDict is a dict with attribute access, built from literals.
std::string without_easydict(std::string source) {
  static const Pattern kImport(R"(from\s+easydict\s+import\s+EasyDict(?:\s+as\s+([A-Za-z_]\w*))?)");
  const auto match = kImport.search(source);
  if (!match) return source;
  const std::string name((*match)[1] ? std::string(*(*match)[1]) : "EasyDict");
  for (std::size_t at = source.find(name + "("); at != std::string::npos;
       at = source.find(name + "(", at + 5)) {
    const bool whole = at == 0 || (std::isalnum(static_cast<unsigned char>(source[at - 1])) == 0 &&
                                   source[at - 1] != '_' && source[at - 1] != '.');
    if (whole) source.replace(at, name.size(), "dict");
  }
  return source;
}

class Package {
 public:
  explicit Package(const fs::path& dir) : dir_(dir) {
    config_ = first_of({dir / "modelarts_config.py", dir / "config/modelarts_config.py",
                        dir / "code/config/modelarts_config.py"});
    if (config_.empty())
      throw Error(ErrorKind::config, "there is no modelarts_config.py", dir.string(),
                  "give the folder of an ais-bench package for ModelArts");
    module_ = parse_python(without_easydict(read_plain_file(config_)), config_.string());
    for (const Diagnostic& diagnostic : module_.diagnostics)
      if (diagnostic.severity == Severity::error)
        throw Error(ErrorKind::config, diagnostic.message, place(diagnostic),
                    "Python does not accept this file either; correct it first");
  }

  ModelArtsImport import() {
    read_shell();
    access_ = &dictionary("access_config");
    session_ = &dictionary(v1() ? "session_config" : "session_config_v2");
    refuse_secrets();
    out_.suite_yaml = render();
    read_tester();
    return std::move(out_);
  }

 private:
  void note(Severity severity, int line, const std::string& message) {
    out_.diagnostics.push_back({config_.string(), line, 0, severity, message});
  }

  /// MODELARTS_VERSION, which is V1 unless config.sh sets it.
  [[nodiscard]] bool v1() const { return version_ == "V1"; }

  void read_shell() {
    const fs::path file = first_of({config_.parent_path() / "config.sh"});
    if (file.empty()) return;
    const ShellSettings settings = read_settings(file);
    for (const char* name : {"MODELARTS_VERSION", "SINGLESERVER_MODE"})
      if (const auto at = settings.unread.find(name); at != settings.unread.end())
        throw Error(
            ErrorKind::config,
            fmt::format("what {} is set to cannot be read without running the script", name),
            fmt::format("{}:{}", file.string(), at->second),
            fmt::format("write it on a line of its own: export {}=VALUE", name));
    for (const auto& [name, line] : settings.unread) note_unused(file, name);
    for (const auto& [name, value] : settings.values) {
      if (name == "MODELARTS_VERSION")
        version_ = value == "V2" ? "V2" : "V1";
      else if (name == "SINGLESERVER_MODE")
        single_server_ = is_on(value, file);
      else
        note_unused(file, name);
    }
  }
  void note_unused(const fs::path& file, const std::string& name) {
    out_.diagnostics.push_back(
        {file.string(), 0, 0, Severity::note, name + " is not used by jobs on ModelArts"});
  }

  /// ais-bench uses "True"; any other word must have been meant as something.
  bool is_on(const std::string& value, const fs::path& file) {
    if (value != "True" && value != "False" && !value.empty())
      out_.diagnostics.push_back(
          {file.string(), 0, 0, Severity::warning,
           fmt::format("SINGLESERVER_MODE is '{}', not 'True': it is off", printable(value))});
    return value == "True";
  }

  /// Information for the tester has no place in a suite.
  void read_tester() {
    const fs::path code = config_.parent_path().parent_path();
    const fs::path file = first_of(
        {config_.parent_path() / "config.json", code / "config.json", dir_ / "config/config.json"});
    if (file.empty()) return;
    const Json json = parse_json(read_plain_file(file), file.string());
    std::string names;
    for (const auto& item : json.items()) names += (names.empty() ? "" : ", ") + item.key();
    out_.diagnostics.push_back(
        {file.string(), 0, 0, Severity::note,
         "the test's identity and the tester's address are left out: " + printable(names)});
  }

  const Value& dictionary(const std::string& name) {
    for (const NotLiteral& odd : module_.not_literal)
      if (odd.name == name)
        throw Error(
            ErrorKind::config,
            fmt::format("{} is {}, which is not read without running Python", name, odd.what),
            fmt::format("{}:{}", config_.string(), odd.place.line),
            "write it as a dict of literals");
    const Setting* setting = module_.find(name);
    if (setting == nullptr || setting->value.kind != Kind::dict)
      throw Error(ErrorKind::config, name + " is missing, or no dict", config_.string());
    return setting->value;
  }

  static const Value* member(const Value& dict, std::string_view name) {
    for (const Entry& entry : dict.entries)
      if (entry.key.is_text() && entry.key.text == name) return &entry.value;
    return nullptr;
  }
  /// Returns "" for None, empty and missing values.
  static std::string text(const Value& dict, std::string_view name) {
    const Value* value = member(dict, name);
    if (value == nullptr || value->kind == Kind::none || value->is_container()) return {};
    return display(*value);
  }
  std::string need(const Value& dict, std::string_view name) {
    std::string value = text(dict, name);
    if (value.empty())
      throw Error(ErrorKind::config, fmt::format("{} is missing or empty", name), config_.string());
    return value;
  }

  void refuse_secrets() {
    for (const char* name : {"access_key", "secret_access_key"})
      if (const Value* value = member(*access_, name); value != nullptr && value->truth())
        note(Severity::warning, value->place.line,
             fmt::format("{} is not copied: give it in the environment, or in a file that only you "
                         "can read (cluster.modelarts.credentials), and remove it here",
                         name));
  }

  std::string endpoints() {
    const std::string iam = text(*access_, "iam_endpoint");
    std::string obs = text(*access_, "obs_endpoint");
    std::string modelarts = text(*access_, "modelarts_endpoint");
    if (iam.empty() || obs.empty() || modelarts.empty())  // ais-bench needs all three or none
      return "    region: " + in_quotes(need(*access_, "region_name")) + "\n";
    for (std::string* url : {&obs, &modelarts})
      if (url->find("://") == std::string::npos) *url = "https://" + *url;
    return fmt::format("    endpoint: {}\n    obs_endpoint: {}\n", in_quotes(modelarts),
                       in_quotes(obs));
  }

  int instances() {
    const Value* count = member(*session_, "train_instance_count");
    if (count == nullptr || count->kind == Kind::none) return 1;
    if (count->kind != Kind::integer || count->integer < 1 || count->integer > 100'000)
      throw Error(ErrorKind::config, "train_instance_count must be a whole number from 1 on",
                  fmt::format("{}:{}", config_.string(), count->place.line));
    return static_cast<int>(count->integer);
  }

  /// modelarts.kat1.8xlarge has eight.
  int devices(const std::string& flavor) {
    static const Pattern kSize(R"(\.([0-9]*)xlarge$)");
    if (const auto match = kSize.search(flavor)) {
      const std::string digits((*match)[1].value_or(""));
      return digits.empty() ? 1 : std::clamp(std::stoi(digits.substr(0, 3)), 1, 64);
    }
    note(Severity::warning, 0,
         fmt::format("how many devices an instance has is not known from '{}': check `procs`",
                     printable(flavor)));
    return 8;
  }

  std::string command(const std::string& boot) {
    std::string out = "[" + in_quotes(boot);
    const Value* list = member(*session_, "parameters");
    if (list == nullptr) list = member(*session_, "hyperparameters");
    if (list == nullptr) return out + "]";
    for (const Value& item : list->items) {
      if (item.kind != Kind::dict) continue;
      std::string name = text(item, "name");
      if (name.empty()) name = text(item, "label");
      out += ", " + in_quotes("--" + name + "=" + text(item, "value"));
    }
    return out + "]";
  }

  /// An id; with interface v1, a name and a version.
  std::string engine() {
    std::string version = need(*session_, "framework_version");
    if (!v1()) return version;
    const std::string name = text(*session_, "framework_type");
    return (name.empty() ? "Ascend-Powered-Engine" : name) + "/" + version;
  }

  /// The vendor of the instances' devices, judging by the service's names for them.
  std::string vendor(const std::string& flavor) {
    const std::string names = to_lower(text(*session_, "framework_type") + " " +
                                       text(*session_, "framework_version") + " " + flavor);
    for (const char* mark : {"ascend", "cann", ".kat", "snt9"})
      if (names.find(mark) != std::string::npos) return "ascend";
    for (const char* mark : {"cuda", ".p100", ".v100", ".a100", ".p4", ".t4", "pnv1", "nvidia"})
      if (names.find(mark) != std::string::npos) return "nvidia";
    return "cpu";
  }

  std::string render() {
    std::string code_dir = need(*session_, "code_dir");
    if (!code_dir.ends_with('/')) code_dir += '/';
    const std::string boot = need(*session_, "boot_file");
    if (!boot.starts_with(code_dir))
      throw Error(ErrorKind::config, "boot_file is not in code_dir", config_.string());
    const std::size_t slash = code_dir.find('/', 1);
    if (!code_dir.starts_with('/') || slash == std::string::npos)
      throw Error(ErrorKind::config, "code_dir must be /BUCKET/FOLDER/", config_.string());
    const std::string prefix = code_dir.substr(slash + 1);
    std::string job = need(*session_, "job_name");
    if (job.size() > kMaxJobName) {
      job.resize(kMaxJobName);
      note(Severity::note, 0, "job_name is cut: the run's id goes after it");
    }
    const fs::path code = first_of({config_.parent_path().parent_path() / "code"});
    if (code.empty())
      note(Severity::warning, 0, "the model's code (code/code) is not there: set `code`");
    if (const std::string out = text(*session_, "out_base_url"); !out.empty())
      note(Severity::note, 0,
           "out_base_url is not used: every job writes to a place of its own below `prefix`");
    const std::string flavor = text(*session_, "train_instance_type");
    const std::string pool = text(*session_, "pool_id");
    std::string out = fmt::format(
        "# Written by assay {} import modelarts, from {}.\n"
        "name: {}\nvendor: {}\ntelemetry: {{enabled: false}}\ncluster:\n  launcher: modelarts\n"
        "  modelarts:\n{}    project: {}\n    bucket: {}\n",
        version_string(), printable(config_.string()), in_quotes(job), vendor(flavor), endpoints(),
        in_quotes(need(*access_, "project_id")), in_quotes(code_dir.substr(1, slash - 1)));
    if (!prefix.empty()) out += "    prefix: " + in_quotes(prefix) + "\n";
    if (v1()) out += "    api: v1\n";
    out += fmt::format("    code: {}\n    engine: {}\n",
                       in_quotes(code.empty() ? "code" : fs::absolute(code).string()),
                       in_quotes(engine()));
    if (!flavor.empty()) out += "    flavor: " + in_quotes(flavor) + "\n";
    if (!pool.empty()) out += "    pool: " + in_quotes(pool) + "\n";
    out += "    job_name: " + in_quotes(job) + "\n";
    if (const std::string data = text(*session_, "inputs"); !data.empty())
      out += "    inputs: {data_url: " + in_quotes(data) + "}\n";
    if (const std::string nas = text(*session_, "nas_share_addr"); !nas.empty())
      out += fmt::format("    volumes: [{{server: {}, path: {}}}]\n", in_quotes(nas),
                         in_quotes(need(*session_, "nas_mount_path")));
    if (single_server_) out += "    single_server: true\n";
    out += fmt::format("cases:\n  - name: {}\n    nodes: {}\n    procs: {}\n    command: {}\n",
                       in_quotes(job), instances(), devices(flavor),
                       command(boot.substr(code_dir.size())));
    return out;
  }

  fs::path dir_;
  fs::path config_;
  Module module_;
  std::string version_ = "V1";
  bool single_server_ = false;
  const Value* access_ = nullptr;
  const Value* session_ = nullptr;
  ModelArtsImport out_;
};

}  // namespace

ModelArtsImport import_modelarts(const fs::path& dir) {
  return Package(dir).import();
}

}  // namespace assay::importer
