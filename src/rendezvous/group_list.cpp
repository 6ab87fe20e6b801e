// Rank tables with a group_list: the cloud form (one instance per server, no ranks) and the lab
// form of MindSpore 0.x (one instance per device).
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/text.h"
#include "rendezvous/rank_table_reader.h"

namespace assay::rendezvous {

namespace {

class GroupReader {
 public:
  GroupReader(const Cursor& root, TableDraft& draft) : root_(root), draft_(draft) {}

  void read() {
    const bool lab = draft_.form == TableForm::lab;
    if (draft_.table.completed || root_.has("group_list")) read_groups(lab);
    if (lab) read_lab_settings();
    if (lab)
      root_.note_unknown({"board_id", "chip_info", "deploy_mode", "group_count", "group_list",
                          "para_plane_nic_location", "para_plane_nic_name", "para_plane_nic_num",
                          "status"});
    else
      root_.note_unknown({"status", "group_count", "group_list"});
  }

 private:
  void read_groups(bool lab) {
    const std::vector<Cursor> groups = root_.objects("group_list");
    root_.expect_size("group_count", "group_list", "groups in group_list", true);
    if (draft_.table.completed && root_.has_list("group_list") && groups.empty())
      root_.invalid("group_list", "has no groups");
    if (groups.size() > 1)
      root_.note("group_list",
                 fmt::format("has {} groups; their devices are taken as one world", groups.size()));
    std::set<std::string> names;
    for (const Cursor& group : groups) {
      const std::string name = group.text("group_name");
      if (group.has("group_name") && !names.insert(name).second)
        group.invalid("group_name", "\"" + ellipsize(printable(name), 64) + "\" is there twice");
      if (!draft_.table.group_name) draft_.table.group_name = name;
      lab ? read_lab_group(group) : read_cloud_group(group);
    }
  }

  std::size_t server_index(const std::string& id, const std::string& path) {
    const auto [found, fresh] = servers_.try_emplace(id, draft_.table.servers.size());
    if (fresh) {
      draft_.table.servers.emplace_back().id = id;
      draft_.places.push_back({path, {}});
    }
    return found->second;
  }

  std::string read_server_id(const Cursor& cursor) {
    std::string id = cursor.text("server_id");
    if (cursor.has("server_id") && trim(id).empty()) cursor.invalid("server_id", "is empty");
    if (id.size() >= 64)
      cursor.invalid("server_id",
                     fmt::format("has {} characters, at most 63 are allowed", id.size()));
    return id;
  }

  void add_device(std::size_t server, TableDevice device, DevicePlace place) {
    draft_.table.servers[server].devices.push_back(std::move(device));
    draft_.places[server].devices.push_back(std::move(place));
  }

  void read_cloud_group(const Cursor& group) {
    const std::vector<Cursor> instances = group.objects("instance_list");
    group.expect_size("instance_count", "instance_list", "instances in instance_list", true);
    if (draft_.table.completed && group.has_list("instance_list") && instances.empty())
      group.invalid("instance_list", "has no instances");
    std::size_t devices = 0;
    for (const Cursor& instance : instances) {
      const std::string id = read_server_id(instance);
      const std::string pod = instance.text("pod_name");
      if (instance.has("pod_name") && pod.empty()) instance.invalid("pod_name", "is empty");
      if (!pod.empty() && !pods_.insert(pod).second)
        instance.invalid("pod_name", "\"" + ellipsize(printable(pod), 64) + "\" is there twice",
                         "HCCL tells processes apart by it: RANK_ID is the pod's name");
      const bool again = servers_.contains(id);
      const std::size_t server = server_index(id, instance.path());
      if (again)
        instance.note("server_id", fmt::format("the server \"{}\" has several instances; they are "
                                               "taken together",
                                               ellipsize(printable(id), 64)));
      else
        draft_.table.servers[server].pod_name = pod;
      const std::vector<Cursor> items = instance.objects("devices");
      if (draft_.table.completed && instance.has_list("devices") && items.empty())
        instance.invalid("devices", "has no devices");
      devices += items.size();
      for (const Cursor& item : items) {
        TableDevice device;
        item.note_unknown({"device_id", "device_ip"});
        if (read_device(item, device))
          add_device(server, std::move(device), {item.path(), item.path()});
        else
          draft_.dropped = true;
      }
      instance.note_unknown({"pod_name", "server_id", "devices"});
    }
    group.expect_count("device_count", devices, "devices in the group", true);
    group.note_unknown({"group_name", "device_count", "instance_count", "instance_list"});
  }

  void read_lab_group(const Cursor& group) {
    const std::vector<Cursor> instances = group.objects("instance_list");
    group.expect_size("instance_count", "instance_list", "instances in instance_list", true);
    group.expect_size("device_num", "instance_list", "instances in instance_list", true);
    if (draft_.table.completed && group.has_list("instance_list") && instances.empty())
      group.invalid("instance_list", "has no instances");
    std::set<std::string> ids;
    for (const Cursor& instance : instances) {
      const std::string id = read_server_id(instance);
      ids.insert(id);
      const auto rank = instance.number("rank_id");
      const std::vector<Cursor> items = instance.objects("devices");
      if (instance.has_list("devices") && items.size() != 1)
        instance.invalid("devices", fmt::format("has {} devices, it must have 1: its rank is that "
                                                "of one device",
                                                items.size()));
      instance.note_unknown({"devices", "rank_id", "server_id"});
      if (items.empty() || !rank) {
        draft_.dropped = true;
        continue;
      }
      TableDevice device;
      device.rank = *rank;
      items.front().note_unknown({"device_id", "device_ip"});
      if (read_device(items.front(), device))
        add_device(server_index(id, instance.path()), std::move(device),
                   {items.front().path(), instance.path_of("rank_id")});
      else
        draft_.dropped = true;
    }
    group.expect_count("server_num", ids.size(), "servers among the instances", true);
    group.note_unknown(
        {"device_num", "server_num", "group_name", "instance_count", "instance_list"});
  }

  void read_lab_settings() {
    LabSettings& lab = draft_.table.lab;
    const std::string mode = root_.text("deploy_mode");
    if (mode != "lab" && !mode.empty())
      root_.note("deploy_mode", "is \"" + ellipsize(printable(mode), 40) + "\", usual is \"lab\"");
    lab.board_id = root_.text("board_id");
    if (!lab.board_id.empty() && lab.board_id != "0x0020" && lab.board_id != "0x0000")
      root_.note("board_id", "is \"" + ellipsize(printable(lab.board_id), 40) +
                                 "\", known are 0x0020 (arm) "
                                 "and 0x0000 (x86)");
    lab.chip_info = root_.text("chip_info");
    const std::string location = root_.text("para_plane_nic_location");
    if (location != "device" && !location.empty())
      root_.invalid("para_plane_nic_location", "must be \"device\" on an Ascend 910, got \"" +
                                                   ellipsize(printable(location), 40) + "\"");
    lab.nic_names = root_.texts("para_plane_nic_name");
    // One generator of such tables writes a number here, which HCCL accepts.
    Findings own;
    root_.with(own).expect_count("para_plane_nic_num", lab.nic_names.size(),
                                 "names in para_plane_nic_name", true);
    for (Finding& finding : own)
      if (finding.severity != Finding::Severity::repairable)
        root_.findings().push_back(std::move(finding));
  }

  const Cursor& root_;
  TableDraft& draft_;
  std::map<std::string, std::size_t> servers_;
  std::set<std::string> pods_;
};

}  // namespace

void read_group_list(const Cursor& root, TableDraft& draft) {
  GroupReader(root, draft).read();
  if (draft.form == TableForm::cloud) assign_cloud_ranks(draft.table);
}

void assign_cloud_ranks(RankTable& table) {
  std::vector<TableServer*> servers;
  for (TableServer& server : table.servers) servers.push_back(&server);
  std::ranges::sort(servers, {}, [](const TableServer* server) { return server->id; });
  int rank = 0;
  for (TableServer* server : servers) {
    std::vector<TableDevice*> devices;
    for (TableDevice& device : server->devices) devices.push_back(&device);
    std::ranges::stable_sort(devices, {}, &TableDevice::id);
    for (TableDevice* device : devices) device->rank = rank++;
  }
}

}  // namespace assay::rendezvous
