#include "launch/agents/preflight_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "page/table.h"
#include "page/text_width.h"

namespace assay::launch {

namespace {

using probe::Check;
using probe::Level;

constexpr std::size_t kHostsNamed = 8;

const char* color_of(Level level) {
  return level == Level::pass ? "32" : level == Level::warn ? "33" : "31";
}

const Check* find(const NodeChecks& node, const std::string& id) {
  const auto found = std::ranges::find(node.checks, id, &Check::id);
  return found == node.checks.end() ? nullptr : &*found;
}

// Every check that some host has, in the order in which hosts give them.
std::vector<std::string> check_ids(const std::vector<NodeChecks>& nodes) {
  std::vector<std::string> ids;
  for (const NodeChecks& node : nodes)
    for (const Check& check : node.checks)
      if (std::ranges::find(ids, check.id) == ids.end()) ids.push_back(check.id);
  return ids;
}

// Some checks are of one host alone, and a host that was not reached has few.
bool passed_wherever_asked(const std::vector<NodeChecks>& nodes, const std::string& id) {
  return std::ranges::all_of(nodes, [&](const NodeChecks& node) {
    const Check* check = find(node, id);
    return check == nullptr || check->level == Level::pass;
  });
}

page::Cell level_cell(Level level) {
  page::Cell cell(to_text(level));
  cell.color = color_of(level);
  return cell;
}

// Columns that do not fit go into a further table below.
std::string table(const std::vector<NodeChecks>& nodes, const std::vector<std::string>& columns,
                  const PreflightStyle& style) {
  std::size_t host_width = 4;
  for (const NodeChecks& node : nodes)
    host_width = std::max(host_width, page::columns_of(printable(node.host)));
  std::string out;
  for (std::size_t first = 0; first < columns.size();) {
    page::Table part{{{"host"}}, std::vector<page::Row>(nodes.size())};
    for (std::size_t i = 0; i < nodes.size(); ++i) part.rows[i].cells.emplace_back(nodes[i].host);
    std::size_t last = first;
    for (std::size_t width = host_width; last < columns.size(); ++last) {
      width += 2 + std::max<std::size_t>(4, columns[last].size());
      if (last > first && width > style.width) break;
      part.columns.push_back({columns[last]});
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Check* check = find(nodes[i], columns[last]);
        part.rows[i].cells.push_back(columns[last] == "all"
                                         ? level_cell(probe::worst(nodes[i].checks))
                                     : check == nullptr ? page::Cell("–")
                                                        : level_cell(check->level));
      }
    }
    const auto lines = page::text_lines(part, {.color = style.color});
    out += (first == 0 ? "" : "\n") + join(lines, "\n") + "\n";
    first = last;
  }
  return out;
}

std::string names_of(const std::vector<std::string>& hosts) {
  if (hosts.size() <= kHostsNamed) return join(hosts, ", ");
  return fmt::format("{} and {} more", join(std::span(hosts).first(kHostsNamed), ", "),
                     hosts.size() - kHostsNamed);
}

// One entry for all hosts that say the same.
struct Detail {
  const Check* check;
  std::vector<std::string> hosts;
};

std::string details(const std::vector<NodeChecks>& nodes, const std::vector<std::string>& ids,
                    const PreflightStyle& style) {
  std::vector<Detail> all;
  for (const std::string& id : ids)
    for (const NodeChecks& node : nodes) {
      const Check* check = find(node, id);
      if (check == nullptr || check->level == Level::pass) continue;
      const auto same = std::ranges::find_if(all, [&](const Detail& other) {
        return other.check->id == id && other.check->level == check->level &&
               other.check->seen == check->seen && other.check->advice == check->advice;
      });
      if (same == all.end())
        all.push_back({check, {printable(node.host)}});
      else
        same->hosts.push_back(printable(node.host));
    }
  std::size_t width = 0;
  for (const Detail& detail : all) width = std::max(width, detail.check->id.size());
  std::string out;
  for (const Detail& detail : all) {
    out +=
        fmt::format("{}  {:<{}}  {}: {}\n", level_text(detail.check->level, style.color),
                    detail.check->id, width, names_of(detail.hosts), printable(detail.check->seen));
    if (!detail.check->advice.empty())
      out += fmt::format("      {:<{}}  → {}\n", "", width, printable(detail.check->advice));
  }
  return out;
}

std::string one_host(const NodeChecks& node, const PreflightStyle& style) {
  std::size_t width = 0;
  for (const Check& check : node.checks) width = std::max(width, check.id.size());
  std::string out = printable(node.host) + "\n";
  for (const Check& check : node.checks) {
    out += fmt::format("{}  {:<{}}  {}\n", level_text(check.level, style.color), check.id, width,
                       printable(check.seen));
    if (check.level != Level::pass && !check.advice.empty())
      out += fmt::format("      {:<{}}  → {}\n", "", width, printable(check.advice));
  }
  return out;
}

}  // namespace

std::string level_text(Level level, bool color) {
  return page::paint(color, color_of(level), to_text(level));
}

std::string render_checks(const std::vector<NodeChecks>& nodes, const PreflightStyle& style) {
  if (nodes.size() == 1) return one_host(nodes.front(), style);
  const std::vector<std::string> ids = check_ids(nodes);
  std::vector<std::string> columns{"all"};
  std::vector<std::string> passed;
  for (const std::string& id : ids)
    (passed_wherever_asked(nodes, id) ? passed : columns).push_back(id);
  std::string out = table(nodes, columns, style);
  if (!passed.empty()) out += "PASS wherever asked: " + join(passed, ", ") + "\n";
  if (const std::string more = details(nodes, ids, style); !more.empty()) out += "\n" + more;
  return out;
}

Json to_json(const std::vector<NodeChecks>& nodes) {
  Json list = Json::array();
  for (const NodeChecks& node : nodes) {
    Json entry{
        {"node", node.node}, {"host", node.host}, {"level", to_text(probe::worst(node.checks))}};
    if (node.clock) entry["clock"] = to_json(*node.clock);
    entry["checks"] = Json::array();
    for (const Check& check : node.checks) entry["checks"].push_back(fields_to_json(check));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace assay::launch
