#include "report/html_system.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "page/table.h"
#include "report/html_parts.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

constexpr int kMaxDepth = 6;
constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxText = 400;

// The entries that readers look for first; the others keep their own order.
constexpr std::array<std::string_view, 20> kFirst{
    "host",         "hostname",    "name",         "assay",   "version",    "revision", "model",
    "vendor",       "os",          "kernel",       "cpu",     "cores",      "threads",  "memory",
    "memory_bytes", "total_bytes", "accelerators", "devices", "suite_file", "overrides"};

std::size_t place_of(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kFirst, key) - kFirst.begin());
}

std::string cut(const std::string& text) {
  return text.size() > kMaxText ? text.substr(0, kMaxText) + " …" : text;
}

std::string scalar(std::string_view key, const Json& value) {
  if (value.is_string())
    return value.get<std::string>().empty() ? "–" : cut(value.get<std::string>());
  if (value.is_null()) return "–";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number()) {
    const double number = value.get<double>();
    if (key.ends_with("_bytes") || key == "bytes") return format_bytes(number);
    return value.is_number_integer() ? value.dump() : format_number(number);
  }
  return cut(dump_line(value));
}

std::string label_of(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  if (text.ends_with(" bytes")) text.resize(text.size() - 6);
  return text;
}

Html and_more(std::size_t count) {
  return count > kMaxItems ? remark(markup("and {} more", count - kMaxItems)) : Html();
}

bool is_record(const Json& value) {
  return value.is_object() && !value.empty() && std::ranges::none_of(value, [](const Json& item) {
           return item.is_structured() && !item.empty();
         });
}

Html tree(const Json& value, int depth);

// Plain objects with the same keys read best as one table (devices, disks, links).
Html table_of(const Json& rows) {
  std::vector<std::string> keys;
  for (const Json& row : rows)
    for (const auto& item : row.items())
      if (std::ranges::find(keys, item.key()) == keys.end()) keys.push_back(item.key());
  if (keys.size() > 10) return {};
  page::Table table;
  for (const std::string& key : keys) table.columns.push_back({label_of(key)});
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxItems); ++i) {
    page::Row& row = table.rows.emplace_back();
    for (const std::string& key : keys)
      row.cells.emplace_back(rows[i].contains(key) ? scalar(key, rows[i][key]) : "–");
  }
  return page::scrolling(page::to_html(table)) + and_more(rows.size());
}

Html list_of(std::string_view key, const Json& items, int depth) {
  if (items.empty()) return Html("–");
  const std::size_t shown = std::min(items.size(), kMaxItems);
  if (std::ranges::none_of(items, [](const Json& item) { return item.is_structured(); })) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < shown; ++i) parts.push_back(scalar(key, items[i]));
    const std::size_t more = items.size() - shown;
    return Html::text(join(parts, ", ") + (more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  if (std::ranges::all_of(items, is_record))
    if (Html table = table_of(items); !table.empty()) return table;
  Html out;
  for (std::size_t i = 0; i < shown; ++i) {
    const Json& item = items[i];
    std::string title = fmt::format("{} {}", label_of(key), i + 1);
    for (const char* name : {"host", "hostname", "name"})
      if (item.is_object() && item.contains(name) && item[name].is_string()) {
        title = item[name].get<std::string>();
        break;
      }
    out += details(title, tree(item, depth + 1), "", i == 0);
  }
  return out + and_more(items.size());
}

// Two or three plain values do not need a list: "soft 1024 · hard 4096".
Html inline_record(const Json& record) {
  Html out;
  for (const auto& item : record.items())
    out += markup("{}<span class=\"unit\">{}</span> {}", out.empty() ? "" : " · ",
                  label_of(item.key()), scalar(item.key(), item.value()));
  return out;
}

Html tree(const Json& value, int depth) {
  if (depth > kMaxDepth) return markup("<code>{}</code>", cut(dump_line(value)));
  if (value.is_array()) return list_of("item", value, depth);
  if (!value.is_object()) return Html::text(scalar("", value));
  if (value.empty()) return Html("–");
  if (depth > 0 && value.size() <= 3 && is_record(value) && dump_line(value).size() < 90)
    return inline_record(value);
  std::vector<std::string> keys;
  for (const auto& item : value.items()) keys.push_back(item.key());
  std::ranges::stable_sort(keys, {}, [](const std::string& key) { return place_of(key); });
  std::vector<KeyValue> entries;
  for (std::size_t i = 0; i < std::min(keys.size(), kMaxItems); ++i) {
    const Json& item = value[keys[i]];
    Html content = item.is_array()    ? list_of(keys[i], item, depth)
                   : item.is_object() ? tree(item, depth + 1)
                                      : Html::text(scalar(keys[i], item));
    const bool wide =
        item.is_structured() && !item.empty() && content.str().find("<d") != std::string::npos;
    entries.push_back({label_of(keys[i]), std::move(content), wide});
  }
  if (keys.size() > kMaxItems)
    entries.push_back(
        {"", markup("and {} more in <code>result.json</code>", keys.size() - kMaxItems)});
  return key_values(entries);
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
    // PCI only knows the vendor; console and hypervisor adapters do no training.
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

Html json_tree(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty())
             ? remark(Html("nothing recorded"))
             : markup("<div translate=\"no\">{}</div>", tree(value, 0));
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
  return join(parts, " · ");
}

}  // namespace assay::report::html
