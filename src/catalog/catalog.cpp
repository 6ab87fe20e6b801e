#include "catalog/catalog.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "config/yaml.h"
#include "core/error.h"
#include "core/host.h"
#include "core/pattern.h"

namespace assay::catalog {

namespace fs = std::filesystem;

namespace {

void add_yaml_files(const fs::path& folder, std::map<std::string, fs::path>& files) {
  std::error_code ec;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec))
    if (it->path().extension() == ".yaml") files[it->path().stem().string()] = it->path();
  if (ec)
    throw Error(ErrorKind::environment, "cannot read the folder: " + ec.message(), folder.string(),
                "the configuration folder needs vendors/, workloads/ and rules/");
}

template <class Item>
const Item* find_named(const std::vector<Item>& items, const std::string& name) {
  const auto found = std::ranges::find(items, name, &Item::name);
  return found == items.end() ? nullptr : &*found;
}

template <class Item>
std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

bool is_conf_dir(const fs::path& folder) {
  std::error_code ec;
  return fs::is_directory(folder / "vendors", ec);
}

}  // namespace

const Hardware* Vendor::find_hardware(const std::string& hardware_name) const {
  const auto found = hardware.find(hardware_name);
  return found == hardware.end() ? nullptr : &found->second;
}

const Hardware* Vendor::hardware_of_device(const std::string& device_name) const {
  const Hardware* match = nullptr;
  for (const auto& [type_name, type] : hardware) {
    std::string pattern = type.device_name;
    if (pattern.empty()) {
      for (const char c : type_name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) pattern += '\\';
        pattern += c;
      }
      pattern = "\\b" + pattern + "\\b";
    }
    if (!Pattern(pattern).found_in(device_name)) continue;
    if (match != nullptr) return nullptr;
    match = &type;
  }
  return match;
}

bool ConfigOverride::matches(const std::string& vendor_name, const std::string& hardware_name,
                             int node_count, int proc_count) const {
  return (vendor.empty() || vendor == vendor_name) &&
         (hardware.empty() || hardware == hardware_name) && (nodes == 0 || nodes == node_count) &&
         (procs == 0 || procs == proc_count);
}

int ConfigOverride::specificity() const {
  return (vendor.empty() ? 0 : 1) + (hardware.empty() ? 0 : 1) + (nodes == 0 ? 0 : 1) +
         (procs == 0 ? 0 : 1);
}

const Vendor* Catalog::find_vendor(const std::string& name) const {
  return find_named(vendors, name);
}

const Workload* Catalog::find_workload(const std::string& name) const {
  return find_named(workloads, name);
}

std::vector<std::string> Catalog::vendor_names() const {
  return names_of(vendors);
}

std::vector<std::string> Catalog::workload_names() const {
  return names_of(workloads);
}

std::map<std::string, fs::path> conf_files(const ConfDirs& conf_dirs, const std::string& part) {
  std::map<std::string, fs::path> files;
  for (std::size_t i = 0; i < conf_dirs.size(); ++i) {
    std::error_code ec;
    // Assay's own folder may lack options and suites; the other folders may lack anything.
    const bool needed = i == 0 && (part == "vendors" || part == "workloads" || part == "rules");
    if (needed || fs::is_directory(conf_dirs[i] / part, ec))
      add_yaml_files(conf_dirs[i] / part, files);
  }
  return files;
}

// The result is the same on every machine, no matter where conf/ is installed.
std::string conf_name(const ConfDirs& conf_dirs, const fs::path& file) {
  if (conf_dirs.empty() || file.parent_path().parent_path() == conf_dirs.front())
    return (fs::path("conf") / file.parent_path().filename() / file.filename()).string();
  return file.string();
}

Catalog load_catalog(const ConfDirs& conf_dirs) {
  Catalog catalog;
  catalog.conf_dirs = conf_dirs;
  catalog.standard = shipped_rules();
  const auto each = [&](const char* part, const auto& load) {
    for (const auto& [name, file] : conf_files(conf_dirs, part))
      load(file, conf_name(conf_dirs, file));
  };
  each("vendors", [&](const fs::path& file, const std::string& shown) {
    catalog.vendors.push_back(load_vendor(file, shown));
  });
  OptionSets options;
  each("options",
       [&](const fs::path& file, const std::string& shown) { load_options(file, shown, options); });
  each("workloads", [&](const fs::path& file, const std::string& shown) {
    catalog.workloads.push_back(load_workload(file, shown, options));
  });
  std::map<std::string, fs::path> folder_of_rule;
  // Reads Assay's own rules first, so that changes by a site or user replace them.
  for (const fs::path& folder : conf_dirs)
    each("rules", [&](const fs::path& file, const std::string& shown) {
      if (file.parent_path().parent_path() != folder) return;
      for (Rule& rule : load_rules(file, shown)) {
        const auto same = std::ranges::find(catalog.rules, rule.id, &Rule::id);
        if (same != catalog.rules.end() && folder_of_rule[rule.id] == folder)
          throw Error(ErrorKind::config, "the rule '" + rule.id + "' exists twice", rule.origin,
                      "it is also defined at " + same->origin);
        folder_of_rule[rule.id] = folder;
        if (same != catalog.rules.end())
          *same = std::move(rule);
        else
          catalog.rules.push_back(std::move(rule));
      }
    });
  std::ranges::sort(catalog.vendors, {}, &Vendor::name);
  std::ranges::sort(catalog.workloads, {}, &Workload::name);
  return catalog;
}

ConfDirs find_conf_dirs() {
  const char* given = std::getenv("ASSAY_CONF");
  ConfDirs out{find_conf_dir(program_folder() / "assay", given)};
  if (given != nullptr && *given != '\0') return out;
  ConfDirs over{"/etc/assay"};
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config == '/')
    over.push_back(fs::path(config) / "assay");
  else if (home != nullptr && *home == '/')
    over.push_back(fs::path(home) / ".config" / "assay");
  std::error_code ec;
  for (const fs::path& folder : over)
    if (fs::is_directory(folder, ec)) out.push_back(folder);
  return out;
}

fs::path find_conf_dir(const fs::path& executable, const char* assay_conf) {
  if (assay_conf != nullptr && *assay_conf != '\0') {
    if (is_conf_dir(assay_conf)) return assay_conf;
    throw Error(ErrorKind::environment, "ASSAY_CONF is not a configuration folder", assay_conf,
                "it must be the folder that holds vendors/, workloads/ and rules/");
  }
  fs::path installed = executable.parent_path().parent_path() / "share/assay/conf";
  if (is_conf_dir(installed)) return installed;
  // Programs that are started by others are in libexec/assay.
  fs::path beside = executable.parent_path().parent_path().parent_path() / "share/assay/conf";
  if (is_conf_dir(beside)) return beside;
  for (fs::path folder = executable.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (is_conf_dir(folder / "conf")) return folder / "conf";
    if (folder == folder.parent_path()) break;
  }
  throw Error(ErrorKind::environment, "the configuration folder conf/ was not found",
              executable.string(),
              "looked for " + installed.string() + ", " + beside.string() +
                  " and for conf/vendors in the folders above; set ASSAY_CONF to the folder");
}

std::string expand_some(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out.append(2, c);
      ++i;
      continue;
    }
    const auto close = c == '{' ? text.find('}', i) : std::string::npos;
    if (close != std::string::npos) {
      const auto found = values.find(text.substr(i + 1, close - i - 1));
      if (found != values.end()) {
        for (const char v : found->second) out.append(v == '{' || v == '}' ? 2 : 1, v);
        i = close;
        continue;
      }
    }
    out += c;
  }
  return out;
}

}  // namespace assay::catalog
