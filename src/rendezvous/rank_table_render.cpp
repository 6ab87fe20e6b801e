#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "rendezvous/rank_table.h"
#include "rendezvous/rank_table_reader.h"

namespace assay::rendezvous {

namespace {

constexpr const char* kCloudGroup = "job";

const char* status_of(const RankTable& table) {
  return table.completed ? "completed" : "initializing";
}

Json device_json(const TableDevice& device) {
  Json json{{"device_id", std::to_string(device.id)}};
  if (!device.ips.empty()) json["device_ip"] = join(device.ips, ",");
  return json;
}

Json render_server_list(const RankTable& table, bool super_pods) {
  Json servers = Json::array();
  for (const TableServer& server : table.servers) {
    Json devices = Json::array();
    for (const TableDevice& device : server.devices) {
      Json json = device_json(device);
      if (super_pods) json["super_device_id"] = device.super_device_id;
      json["rank_id"] = std::to_string(device.rank);
      for (const auto& [key, value] : device.options) json[key] = value;
      devices.push_back(std::move(json));
    }
    Json json{{"server_id", server.id}};
    if (!server.host_ip.empty()) json["host_ip"] = server.host_ip;
    if (!server.container_ip.empty()) json["container_ip"] = server.container_ip;
    json["device"] = std::move(devices);
    servers.push_back(std::move(json));
  }
  Json json{{"version", super_pods ? "1.2" : "1.0"},
            {"server_count", std::to_string(table.servers.size())},
            {"server_list", std::move(servers)}};
  if (super_pods) {
    Json pods = Json::array();
    for (const TableServer& server : table.servers) {
      const auto same = [&](const Json& pod) { return pod["super_pod_id"] == server.super_pod; };
      auto pod = std::ranges::find_if(pods, same);
      if (pod == pods.end()) {
        pods.push_back({{"super_pod_id", server.super_pod}, {"server_list", Json::array()}});
        pod = pods.end() - 1;
      }
      (*pod)["server_list"].push_back({{"server_id", server.id}});
    }
    json["super_pod_list"] = std::move(pods);
  }
  json["status"] = status_of(table);
  return json;
}

Json render_cloud(const RankTable& table) {
  Json instances = Json::array();
  for (std::size_t i = 0; i < table.servers.size(); ++i) {
    Json devices = Json::array();
    for (const TableDevice& device : table.servers[i].devices)
      devices.push_back(device_json(device));
    instances.push_back({{"pod_name", pod_name(table, i)},
                         {"server_id", table.servers[i].id},
                         {"devices", std::move(devices)}});
  }
  Json group{{"group_name", table.group_name.value_or(kCloudGroup)},
             {"device_count", std::to_string(table.device_count())},
             {"instance_count", std::to_string(table.servers.size())},
             {"instance_list", std::move(instances)}};
  return {{"status", status_of(table)},
          {"group_count", "1"},
          {"group_list", Json::array({std::move(group)})}};
}

Json render_lab(const RankTable& table) {
  Json instances = Json::array();
  for (const TableServer& server : table.servers)
    for (const TableDevice& device : server.devices)
      instances.push_back({{"devices", Json::array({device_json(device)})},
                           {"rank_id", std::to_string(device.rank)},
                           {"server_id", server.id}});
  const std::string count = std::to_string(table.device_count());
  Json group{{"device_num", count},
             {"server_num", std::to_string(table.servers.size())},
             {"group_name", table.group_name.value_or("")},
             {"instance_count", count},
             {"instance_list", std::move(instances)}};
  return {{"board_id", table.lab.board_id},
          {"chip_info", table.lab.chip_info},
          {"deploy_mode", "lab"},
          {"group_count", "1"},
          {"group_list", Json::array({std::move(group)})},
          {"para_plane_nic_location", "device"},
          {"para_plane_nic_name", table.lab.nic_names},
          {"para_plane_nic_num", std::to_string(table.lab.nic_names.size())},
          {"status", status_of(table)}};
}

void require_super_pods(const RankTable& table, const std::string& where) {
  for (const TableServer& server : table.servers) {
    const bool devices =
        std::ranges::none_of(server.devices, &std::string::empty, &TableDevice::super_device_id);
    if (!server.super_pod.empty() && devices) continue;
    throw Error(ErrorKind::config,
                fmt::format("the form 1.2 needs the super-pod of every server and the "
                            "super_device_id of every device; the server '{}' has {}",
                            printable(server.id),
                            server.super_pod.empty() ? "no super-pod" : "not all of them"),
                where,
                "make the table from a suite whose hosts have super_pod and super_device_ids, or "
                "use the form 1.0");
  }
}

// The cloud form has no ranks: HCCL assigns them by server_id, as text, and device id.
void require_cloud_order(const RankTable& table, const std::string& where) {
  RankTable assigned = table;
  assign_cloud_ranks(assigned);
  for (std::size_t i = 0; i < table.servers.size(); ++i)
    for (std::size_t k = 0; k < table.servers[i].devices.size(); ++k) {
      const int rank = table.servers[i].devices[k].rank;
      const int theirs = assigned.servers[i].devices[k].rank;
      if (rank == theirs) continue;
      throw Error(
          ErrorKind::config,
          fmt::format("the cloud form has no ranks; HCCL would give device {} of the "
                      "server '{}' the rank {}, but here it has {}",
                      table.servers[i].devices[k].id, printable(table.servers[i].id), theirs, rank),
          where,
          "HCCL sorts servers by server_id as text (10.0.0.10 before 10.0.0.9): list the "
          "hosts in that order, or use the form 1.0");
    }
}

}  // namespace

std::string pod_name(const RankTable& table, std::size_t index) {
  const TableServer& server = table.servers.at(index);
  if (!server.pod_name.empty()) return server.pod_name;
  const std::string group = table.group_name.value_or(kCloudGroup);
  return fmt::format("{}-worker-{}", group.empty() ? kCloudGroup : group, index);
}

Json render_rank_table(const RankTable& table, TableForm form, const CheckOptions& options,
                       const std::string& where) {
  Json json;
  if (form == TableForm::v1_2) require_super_pods(table, where);
  if (form == TableForm::cloud) require_cloud_order(table, where);
  switch (form) {
    case TableForm::v1_0:
    case TableForm::v1_2:
      json = render_server_list(table, form == TableForm::v1_2);
      break;
    case TableForm::cloud:
      json = render_cloud(table);
      break;
    case TableForm::lab:
      json = render_lab(table);
      break;
  }
  require_readable(read_rank_table(json, options), where);
  return json;
}

std::vector<std::string> lost_in(const RankTable& table, TableForm form) {
  std::vector<std::string> lost;
  const auto any = [&](auto&& has) { return std::ranges::any_of(table.servers, has); };
  const bool servers = form == TableForm::v1_0 || form == TableForm::v1_2;
  if (form != TableForm::v1_2 && any([](const TableServer& s) { return !s.super_pod.empty(); }))
    lost.emplace_back("super-pods and super_device_ids");
  if (form != TableForm::cloud && any([](const TableServer& s) { return !s.pod_name.empty(); }))
    lost.emplace_back("pod names");
  if (servers) return lost;
  if (any([](const TableServer& s) { return !s.host_ip.empty(); })) lost.emplace_back("host_ip");
  if (any([](const TableServer& s) { return !s.container_ip.empty(); }))
    lost.emplace_back("container_ip");
  if (any([](const TableServer& s) {
        return std::ranges::any_of(s.devices, [](const auto& d) { return !d.options.empty(); });
      }))
    lost.emplace_back("ports, protocols and backup IPs of devices");
  return lost;
}

}  // namespace assay::rendezvous
