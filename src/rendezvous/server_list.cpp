// Rank tables of forms 1.0 and 1.2: a list of servers with their devices.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/address.h"
#include "core/text.h"
#include "rendezvous/rank_table_reader.h"

namespace assay::rendezvous {

namespace {

constexpr std::array kPorts{"device_port", "host_port", "backup_device_port", "device_vnic_port"};

void read_options(const Cursor& cursor, TableDevice& device) {
  for (const char* key : kPorts) {
    if (!cursor.has(key)) continue;
    const auto port = cursor.number(key, 65535);
    if (!port) continue;
    if (*port == 0) cursor.invalid(key, "must be a port from 1 to 65535, got 0");
    device.options[key] = std::to_string(*port);
  }
  const auto choice = [&](const char* key, std::string_view a, std::string_view b) {
    if (!cursor.has(key)) return;
    std::string value = cursor.text(key);
    if (value != a && value != b)
      cursor.invalid(
          key, fmt::format("must be {} or {}, got \"{}\"", a, b, ellipsize(printable(value), 40)));
    device.options[key] = std::move(value);
  };
  choice("net_position", "host", "device");
  choice("net_protocol", "rdma", "tcp");
  if (!cursor.has("backup_device_ip")) return;
  std::string ips = cursor.text("backup_device_ip");
  for (const std::string_view ip : split(ips, ','))
    if (!is_ip_address(std::string(trim(ip))))
      cursor.invalid("backup_device_ip",
                     fmt::format("\"{}\" is not an IP address", ellipsize(printable(ip), 60)));
  device.options["backup_device_ip"] = std::move(ips);
}

void read_devices(const Cursor& cursor, TableDraft& draft, TableServer& server,
                  ServerPlace& place) {
  const bool super_pods = draft.form == TableForm::v1_2;
  for (const Cursor& item : cursor.objects("device")) {
    TableDevice device;
    const bool usable = read_device(item, device);
    const auto rank = item.number("rank_id");
    if (rank) device.rank = *rank;
    read_options(item, device);
    if (super_pods || item.has("super_device_id"))
      device.super_device_id = item.text("super_device_id");
    if (super_pods && item.has("super_device_id") && device.super_device_id.empty())
      item.invalid("super_device_id", "is empty");
    item.note_unknown({"device_id", "device_ip", "rank_id", "device_port", "host_port",
                       "backup_device_ip", "backup_device_port", "device_vnic_port", "net_position",
                       "net_protocol", "super_device_id", "device_logical_id"});
    if (!usable || !rank) {
      draft.dropped = true;
      continue;
    }
    server.devices.push_back(std::move(device));
    place.devices.push_back({item.path(), item.path_of("rank_id")});
  }
}

/// Generators write "reserve" for unknown values.
std::string read_address(const Cursor& cursor, const char* key) {
  std::string value = cursor.text_or_empty(key);
  if (value.empty() || value == "reserve") return {};
  if (!is_ip_address(value))
    cursor.invalid(key,
                   fmt::format("\"{}\" is not an IP address", ellipsize(printable(value), 60)));
  return value;
}

/// Requires every server in exactly one super-pod, with unique super_device_ids in each.
void read_super_pods(const Cursor& root, TableDraft& draft) {
  std::map<std::string, std::size_t> servers;
  for (std::size_t i = 0; i < draft.table.servers.size(); ++i)
    servers.emplace(draft.table.servers[i].id, i);
  std::set<std::string> pods;
  for (const Cursor& pod : root.objects("super_pod_list")) {
    const std::string id = pod.text("super_pod_id");
    pod.note_unknown({"super_pod_id", "server_list"});
    if (id.empty()) {
      if (pod.has("super_pod_id")) pod.invalid("super_pod_id", "is empty");
      continue;
    }
    if (!pods.insert(id).second)
      pod.invalid("super_pod_id", "\"" + printable(id) + "\" is there twice");
    const std::vector<Cursor> members = pod.objects("server_list");
    if (pod.has_list("server_list") && members.empty())
      pod.invalid("server_list", "is empty", "leave such a super-pod out");
    for (const Cursor& member : members) {
      const std::string name = member.text("server_id");
      const auto found = servers.find(name);
      if (found == servers.end()) {
        member.invalid("server_id", "\"" + ellipsize(printable(name), 64) +
                                        "\" is not in the table's server_list");
        continue;
      }
      std::string& owner = draft.table.servers[found->second].super_pod;
      if (!owner.empty())
        member.invalid("server_id", fmt::format("the server \"{}\" is in super-pod \"{}\" already",
                                                printable(name), printable(owner)));
      owner = id;
    }
  }
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < draft.table.servers.size(); ++i) {
    const TableServer& server = draft.table.servers[i];
    if (server.super_pod.empty()) {
      root.findings().push_back({Finding::Severity::invalid, draft.places[i].server,
                                 "the server \"" + printable(server.id) + "\" is in no super-pod",
                                 "list it in super_pod_list"});
      continue;
    }
    for (std::size_t k = 0; k < server.devices.size(); ++k) {
      const std::string& id = server.devices[k].super_device_id;
      if (id.empty()) continue;
      const std::string path = draft.places[i].devices[k].device + ".super_device_id";
      const auto [first, fresh] = seen.try_emplace(server.super_pod + '\n' + id, path);
      if (!fresh)
        root.findings().push_back({Finding::Severity::invalid,
                                   path,
                                   fmt::format("{} is also that of {} in the same super-pod",
                                               printable(id), first->second),
                                   {}});
    }
  }
}

}  // namespace

void read_server_list(const Cursor& root, TableDraft& draft) {
  const bool super_pods = draft.form == TableForm::v1_2;
  const std::vector<Cursor> servers = draft.table.completed || root.has("server_list")
                                          ? root.objects("server_list")
                                          : std::vector<Cursor>{};
  root.expect_size("server_count", "server_list", "servers in server_list", false);
  if (draft.table.completed && root.has_list("server_list") && servers.empty())
    root.invalid("server_list", "has no servers");
  std::map<std::string, std::string> ids;
  for (const Cursor& cursor : servers) {
    TableServer server;
    ServerPlace place{cursor.path(), {}};
    server.id = cursor.text("server_id");
    if (cursor.has("server_id") && trim(server.id).empty()) cursor.invalid("server_id", "is empty");
    if (server.id.size() >= 64)
      cursor.invalid("server_id",
                     fmt::format("has {} characters, at most 63 are allowed", server.id.size()));
    const auto [first, fresh] = ids.try_emplace(server.id, cursor.path());
    if (!fresh && !server.id.empty())
      cursor.invalid("server_id", fmt::format("\"{}\" is also that of {}",
                                              ellipsize(printable(server.id), 64), first->second));
    server.host_ip = read_address(cursor, "host_ip");
    server.container_ip = read_address(cursor, "container_ip");
    read_devices(cursor, draft, server, place);
    if (draft.table.completed && cursor.has_list("device") && place.devices.empty() &&
        !draft.dropped)
      cursor.invalid("device", "has no devices");
    cursor.note_unknown({"server_id", "host_ip", "host_nic_ip", "container_ip", "device",
                         "hardware_type", "server_ip"});
    draft.table.servers.push_back(std::move(server));
    draft.places.push_back(std::move(place));
  }
  if (super_pods && (draft.table.completed || root.has("super_pod_list")))
    read_super_pods(root, draft);
  if (!super_pods && root.has("super_pod_list"))
    root.note("super_pod_list", "is ignored in a table of version 1.0",
              "write \"version\": \"1.2\" if the super-pods count");
  root.note_unknown({"version", "server_count", "server_list", "status", "super_pod_list",
                     "server_group_list", "hardware_type"});
}

}  // namespace assay::rendezvous
