// The rules common to all forms of rank tables.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/address.h"
#include "core/text.h"
#include "rendezvous/rank_table_reader.h"

namespace assay::rendezvous {

using Severity = Finding::Severity;

namespace {

class Checker {
 public:
  Checker(const TableDraft& draft, const CheckOptions& options, Findings& findings)
      : draft_(draft),
        findings_(findings),
        max_devices_(options.max_devices > 0         ? options.max_devices
                     : draft.form == TableForm::v1_2 ? 16
                                                     : 8) {}

  void run() {
    check_ids();
    check_ips();
    if (draft_.form != TableForm::cloud) check_ranks();
    if (draft_.table.completed && !draft_.dropped) check_equal_servers();
    if (findings_.empty() || std::ranges::all_of(findings_, [](const Finding& finding) {
          return finding.severity == Severity::note;
        }))
      note_habits();
  }

 private:
  void invalid(std::string path, std::string message, std::string advice = {}) {
    findings_.push_back(
        {Severity::invalid, std::move(path), std::move(message), std::move(advice)});
  }

  template <class F>
  void for_each_device(F&& visit) {
    for (std::size_t i = 0; i < draft_.table.servers.size(); ++i)
      for (std::size_t k = 0; k < draft_.table.servers[i].devices.size(); ++k)
        visit(draft_.table.servers[i], draft_.table.servers[i].devices[k],
              draft_.places[i].devices[k]);
  }

  void check_ids() {
    for (std::size_t i = 0; i < draft_.table.servers.size(); ++i) {
      std::map<int, std::string> seen;
      const TableServer& server = draft_.table.servers[i];
      for (std::size_t k = 0; k < server.devices.size(); ++k) {
        const int id = server.devices[k].id;
        const std::string path = draft_.places[i].devices[k].device + ".device_id";
        if (id >= max_devices_)
          invalid(path, fmt::format("is {}, it must be from 0 to {}", id, max_devices_ - 1),
                  "for servers with more devices: --max-devices N");
        const auto [first, fresh] = seen.try_emplace(id, path);
        if (!fresh)
          invalid(path, fmt::format("device {} of the server \"{}\" is also at {}", id,
                                    ellipsize(printable(server.id), 64), first->second));
      }
    }
  }

  void check_ips() {
    const bool several = draft_.table.servers.size() > 1;
    std::map<std::string, std::string> seen;
    std::optional<std::size_t> usual;
    for_each_device([&](const TableServer& server, const TableDevice& device,
                        const DevicePlace& place) {
      const std::string path = place.device + ".device_ip";
      for (const std::string& ip : device.ips) {
        if (!is_ip_address(ip)) {
          invalid(path, fmt::format("\"{}\" is not an IP address", ellipsize(printable(ip), 60)));
          continue;
        }
        const auto [first, fresh] = seen.try_emplace(ip, path);
        if (!fresh)
          invalid(path, fmt::format("{} is also that of {}", ip, first->second),
                  "every device has an IP of its own: see /etc/hccn.conf of its server");
      }
      if (!draft_.table.completed) return;
      if (device.ips.empty() && several && server.host_ip.empty()) {
        invalid(path, "is missing: with more than one server every device needs its IP",
                "take it from /etc/hccn.conf of the server (address_" + std::to_string(device.id) +
                    "), or from hccn_tool -i " + std::to_string(device.id) + " -ip -g");
        return;
      }
      if (!usual) usual = device.ips.size();
      if (*usual != device.ips.size())
        invalid(path, fmt::format("has {} IPs, the first device has {}: all must have as many",
                                  device.ips.size(), *usual));
    });
  }

  void check_ranks() {
    std::map<int, std::string> seen;
    const auto count = static_cast<int>(draft_.table.device_count());
    for_each_device([&](const TableServer&, const TableDevice& device, const DevicePlace& place) {
      const auto [first, fresh] = seen.try_emplace(device.rank, place.rank);
      if (!fresh)
        invalid(place.rank, fmt::format("rank {} is also at {}", device.rank, first->second),
                "rank = number of the server × devices per server + device");
      else if (device.rank >= count && draft_.table.completed && !draft_.dropped)
        invalid(place.rank,
                fmt::format("is {}, but {} devices have the ranks 0 to {}", device.rank, count,
                            count - 1),
                "ranks are consecutive and begin with 0");
    });
    if (!draft_.table.completed || draft_.dropped) return;
    std::vector<std::string> missing;
    for (int rank = 0; rank < count && missing.size() < 9; ++rank)
      if (!seen.contains(rank)) missing.push_back(std::to_string(rank));
    if (missing.empty()) return;
    if (missing.size() == 9) missing.back() = "…";
    invalid({}, fmt::format("no device has rank {}", join(missing, ", ")),
            "ranks are consecutive and begin with 0");
  }

  void check_equal_servers() {
    const auto& servers = draft_.table.servers;
    for (std::size_t i = 1; i < servers.size(); ++i)
      if (servers[i].devices.size() != servers[0].devices.size())
        invalid(draft_.places[i].server,
                fmt::format("the server \"{}\" has {} devices, \"{}\" has {}: all servers must "
                            "have as many",
                            ellipsize(printable(servers[i].id), 64), servers[i].devices.size(),
                            ellipsize(printable(servers[0].id), 64), servers[0].devices.size()));
  }

  /// The needs of an Ascend 910 server with eight devices, and the assumptions of launchers.
  void note_habits() {
    const auto& servers = draft_.table.servers;
    if (max_devices_ == 8 && servers.size() == 1) {
      const auto& devices = servers[0].devices;
      const std::size_t count = devices.size();
      const auto low = std::ranges::count_if(devices, [](const auto& d) { return d.id < 4; });
      if (count != 1 && count != 2 && count != 4 && count != 8)
        findings_.push_back(
            {Severity::note,
             draft_.places[0].server,
             fmt::format("an Ascend 910 server uses 1, 2, 4 or 8 devices, not {}", count),
             {}});
      else if (count < 8 && low != 0 && static_cast<std::size_t>(low) != count)
        findings_.push_back({Severity::note,
                             draft_.places[0].server,
                             "devices 0-3 and 4-7 of an Ascend 910 server are separate meshes; "
                             "these devices are of both",
                             {}});
    }
    for (std::size_t i = 0; i < servers.size(); ++i) {
      if (servers[i].devices.empty()) continue;
      const auto [low, high] = std::ranges::minmax(servers[i].devices, {}, &TableDevice::rank);
      if (static_cast<std::size_t>(high.rank - low.rank) + 1 != servers[i].devices.size())
        findings_.push_back({Severity::note,
                             draft_.places[i].server,
                             fmt::format("the ranks of the server \"{}\" are not consecutive; "
                                         "launchers count node × devices + device",
                                         ellipsize(printable(servers[i].id), 64)),
                             {}});
    }
  }

  const TableDraft& draft_;
  Findings& findings_;
  int max_devices_;
};

}  // namespace

void check_devices(const TableDraft& draft, const CheckOptions& options, Findings& findings) {
  Checker(draft, options, findings).run();
}

}  // namespace assay::rendezvous
