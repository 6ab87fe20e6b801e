#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::report::html {

namespace {

constexpr int kMaxDepth = 6;
constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxText = 400;

// What a reader looks for first; the rest follows as it stands.
constexpr std::array<std::string_view, 20> kFirst{
    "host",         "hostname",    "name",         "assay",   "version",    "revision", "model",
    "vendor",       "os",          "kernel",       "cpu",     "cores",      "threads",  "memory",
    "memory_bytes", "total_bytes", "accelerators", "devices", "suite_file", "overrides"};

std::size_t place_of(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kFirst, key) - kFirst.begin());
}

std::string cut(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + " …";
  return escape_markup(text);
}

std::string scalar(std::string_view key, const Json& value) {
  if (value.is_string())
    return value.get<std::string>().empty() ? "–" : cut(value.get<std::string>());
  if (value.is_null()) return "–";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number()) {
    const double number = value.get<double>();
    if (key.ends_with("_bytes") || key == "bytes") return escape_markup(format_bytes(number));
    if (value.is_number_integer()) return value.dump();
    return escape_markup(format_number(number));
  }
  return cut(dump_line(value));
}

std::string label_of(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  if (text.ends_with(" bytes")) text.resize(text.size() - 6);
  return escape_markup(text);
}

bool is_record(const Json& value) {
  return value.is_object() && !value.empty() && std::ranges::none_of(value, [](const Json& item) {
           return item.is_structured() && !item.empty();
         });
}

std::string tree(const Json& value, int depth);

// Objects of plain values with the same keys read best as one table (devices, disks, links).
std::string table_of(const Json& rows) {
  std::vector<std::string> keys;
  for (const Json& row : rows)
    for (const auto& item : row.items())
      if (std::ranges::find(keys, item.key()) == keys.end()) keys.push_back(item.key());
  if (keys.size() > 10) return {};
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string& key : keys) out += "<th>" + label_of(key) + "</th>";
  out += "</tr></thead><tbody>";
  std::size_t count = 0;
  for (const Json& row : rows) {
    if (++count > kMaxItems) break;
    out += "<tr>";
    for (const std::string& key : keys)
      out += "<td>" + (row.contains(key) ? scalar(key, row[key]) : std::string("–")) + "</td>";
    out += "</tr>";
  }
  out += "</tbody></table></div>";
  if (rows.size() > kMaxItems)
    out += fmt::format("<p class=\"more\">and {} more</p>", rows.size() - kMaxItems);
  return out;
}

std::string list_of(std::string_view key, const Json& items, int depth) {
  if (items.empty()) return "–";
  if (std::ranges::none_of(items, [](const Json& item) { return item.is_structured(); })) {
    std::string out;
    std::size_t count = 0;
    for (const Json& item : items) {
      if (++count > kMaxItems) return out + fmt::format(" and {} more", items.size() - kMaxItems);
      out += (out.empty() ? "" : ", ") + scalar(key, item);
    }
    return out;
  }
  if (std::ranges::all_of(items, is_record))
    if (std::string table = table_of(items); !table.empty()) return table;
  std::string out;
  std::size_t count = 0;
  for (const Json& item : items) {
    if (++count > kMaxItems) {
      out += fmt::format("<p class=\"more\">and {} more</p>", items.size() - kMaxItems);
      break;
    }
    std::string title = fmt::format("{} {}", label_of(key), count);
    for (const char* name : {"host", "hostname", "name"})
      if (item.is_object() && item.contains(name) && item[name].is_string()) {
        title = escape_markup(item[name].get<std::string>());
        break;
      }
    out += fmt::format("<details{}><summary>{}</summary>{}</details>", count == 1 ? " open" : "",
                       title, tree(item, depth + 1));
  }
  return out;
}

// Two or three plain values need no list of their own: "soft 1024 · hard 4096".
std::string inline_record(const Json& record) {
  std::string out;
  for (const auto& item : record.items())
    out += fmt::format("{}<span class=\"unit\">{}</span> {}", out.empty() ? "" : " · ",
                       label_of(item.key()), scalar(item.key(), item.value()));
  return out;
}

std::string tree(const Json& value, int depth) {
  if (depth > kMaxDepth) return "<code>" + cut(dump_line(value)) + "</code>";
  if (value.is_array()) return list_of("item", value, depth);
  if (!value.is_object()) return scalar("", value);
  if (value.empty()) return "–";
  if (depth > 0 && value.size() <= 3 && is_record(value) && dump_line(value).size() < 90)
    return inline_record(value);
  std::vector<std::string> keys;
  for (const auto& item : value.items()) keys.push_back(item.key());
  std::ranges::stable_sort(keys, {}, [](const std::string& key) { return place_of(key); });
  std::string out = "<dl class=\"kv\">";
  std::size_t count = 0;
  for (const std::string& key : keys) {
    if (++count > kMaxItems) {
      out += fmt::format("<dt></dt><dd>and {} more in <code>result.json</code></dd>",
                         keys.size() - kMaxItems);
      break;
    }
    const Json& item = value[key];
    const std::string content = item.is_array()    ? list_of(key, item, depth)
                                : item.is_object() ? tree(item, depth + 1)
                                                   : scalar(key, item);
    const bool wide =
        item.is_structured() && !item.empty() && content.find("<d") != std::string::npos;
    out += fmt::format("<dt{0}>{1}</dt><dd{0}>{2}</dd>", wide ? " class=\"wide\"" : "",
                       label_of(key), content);
  }
  return out + "</dl>";
}

const Json* find(const Json& object, std::initializer_list<const char*> names) {
  if (!object.is_object()) return nullptr;
  for (const char* name : names)
    if (const auto found = object.find(name); found != object.end() && !found->is_null())
      return &*found;
  return nullptr;
}

std::string name_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const Json* name = find(value, {"model", "name", "product", "pretty_name"});
  return name != nullptr && name->is_string() ? name->get<std::string>() : std::string();
}

constexpr std::array<std::string_view, 6> kConsoles{"",     "aspeed", "matrox",
                                                    "qemu", "vmware", "virtio"};

void add_devices(const Json& node, std::vector<std::string>& parts) {
  const Json* devices = find(node, {"devices", "accelerators"});
  if (devices == nullptr || !devices->is_array()) return;
  std::vector<std::pair<std::string, int>> kinds;
  for (const Json& device : *devices) {
    std::string name = name_of(device);
    // PCI knows the vendor only; the adapters of a console or a hypervisor do not train anything.
    const Json* vendor = find(device, {"vendor"});
    if (name.empty() && vendor != nullptr && vendor->is_string() &&
        std::ranges::find(kConsoles, vendor->get<std::string>()) == kConsoles.end())
      name = vendor->get<std::string>() + " device";
    if (name.empty()) continue;
    const auto found = std::ranges::find(kinds, name, &std::pair<std::string, int>::first);
    if (found == kinds.end())
      kinds.emplace_back(name, 1);
    else
      ++found->second;
  }
  for (const auto& [name, count] : kinds)
    parts.push_back(count == 1 ? name : fmt::format("{} × {}", count, name));
}

}  // namespace

std::string json_tree(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty())
             ? "<p class=\"more\">nothing recorded</p>"
             : tree(value, 0);
}

std::string machine_line(const Json& system) {
  const Json* nodes = find(system, {"nodes"});
  const Json* node = nodes != nullptr && nodes->is_array() && !nodes->empty()    ? &nodes->front()
                     : nodes != nullptr && nodes->is_object() && !nodes->empty() ? &nodes->front()
                                                                                 : &system;
  std::vector<std::string> parts;
  const std::size_t node_count = nodes != nullptr && nodes->is_structured() ? nodes->size() : 1;
  if (const Json* inner = find(*node, {"system", "info"}); inner != nullptr && inner->is_object())
    node = inner;
  const Json* host = find(*node, {"host", "hostname", "name"});
  if (node_count > 1)
    parts.push_back(fmt::format("{} nodes", node_count));
  else if (host != nullptr && !name_of(*host).empty())
    parts.push_back(name_of(*host));
  if (const Json* cpu = find(*node, {"cpu", "cpu_model"}); cpu != nullptr) {
    std::string text = name_of(*cpu);
    const Json* sockets = find(*cpu, {"sockets"});
    if (!text.empty() && sockets != nullptr && sockets->is_number_integer() && *sockets > 1)
      text = fmt::format("{} × {}", sockets->get<int>(), text);
    if (!text.empty()) parts.push_back(text);
    for (const char* count : {"cores", "threads"}) {
      const Json* number = find(*cpu, {count});
      if (number == nullptr || !number->is_number_integer()) continue;
      parts.push_back(fmt::format("{} {}", number->get<long long>(), count));
      break;
    }
  }
  const Json* memory = find(*node, {"memory_bytes", "memory"});
  if (memory != nullptr && memory->is_object()) memory = find(*memory, {"total_bytes", "total"});
  if (memory != nullptr && memory->is_number())
    parts.push_back(format_bytes(memory->get<double>()));
  add_devices(*node, parts);
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : " · ") + part;
  return escape_markup(out);
}

}  // namespace assay::report::html
