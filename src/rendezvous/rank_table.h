#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/json.h"
#include "core/time.h"

namespace assay::rendezvous {

/// The forms of rank tables that HCCL reads (docs/rendezvous.md).
enum class TableForm {
  v1_0,   ///< server_list, version "1.0"
  v1_2,   ///< as 1.0, with super-pods
  cloud,  ///< group_list without ranks: HCCL sorts by server_id and device_id
  lab,    ///< group_list with one instance per device, for MindSpore 0.x
};

constexpr auto enum_names(TableForm /*value*/) {
  using enum TableForm;
  return std::to_array<EnumName<TableForm>>(
      {{v1_0, "1.0"}, {v1_2, "1.2"}, {cloud, "cloud"}, {lab, "lab"}});
}

struct TableDevice {
  int id = 0;                    ///< of the device on its server
  int rank = 0;                  ///< 0 … number of devices - 1
  std::vector<std::string> ips;  ///< empty if a single server needs none
  std::string super_device_id;   ///< unique in its super-pod; form 1.2
  /// Fields of the forms 1.x only: device_port, host_port, backup_device_ip, …
  std::map<std::string, std::string> options;
};

struct TableServer {
  std::string id;
  std::string host_ip;       ///< forms 1.x, optional
  std::string container_ip;  ///< forms 1.x, optional
  std::string pod_name;      ///< form cloud; empty: "<group>-worker-<i>"
  std::string super_pod;     ///< form 1.2
  std::vector<TableDevice> devices;
};

/// The lab form's settings apart from the devices; the defaults are those of an Atlas 800 (arm).
struct LabSettings {
  std::string board_id = "0x0020";  ///< "0x0000" on x86
  std::string chip_info = "910";
  std::vector<std::string> nic_names{"eth0", "eth1", "eth2", "eth3",
                                     "eth4", "eth5", "eth6", "eth7"};
};

/// A cluster's devices and their ranks, independent of any form.
struct RankTable {
  bool completed = true;  ///< false: "initializing", not yet usable and perhaps incomplete
  std::vector<TableServer> servers;
  std::optional<std::string> group_name;  ///< forms cloud and lab; empty: the form's default
  LabSettings lab;

  [[nodiscard]] std::size_t device_count() const noexcept;
};

/// A finding about a rank table.
struct Finding {
  enum class Severity {
    invalid,     ///< HCCL refuses the table, or ranks would not find each other
    repairable,  ///< HCCL refuses it, but the meaning is clear: rewriting repairs it
    note,        ///< worth knowing
  };
  Severity severity = Severity::invalid;
  std::string path;  ///< in the JSON: "server_list[0].device[3].device_ip"; empty: the whole file
  std::string message;
  std::string advice;
};

/// "path: message (advice)".
[[nodiscard]] std::string to_string(const Finding& finding);

struct CheckOptions {
  int max_devices = 0;  ///< per server; 0: 16 for form 1.2, else 8
};

struct TableReading {
  TableForm form = TableForm::v1_0;
  RankTable table;
  std::vector<Finding> findings;

  [[nodiscard]] bool readable() const noexcept;  ///< nothing is invalid
  [[nodiscard]] bool valid() const noexcept;     ///< HCCL accepts the file as it is
};

/// Recognizes the form and reads the table; every violation of its rules is a finding. Never
/// throws for bad content. A table that is still initializing may be incomplete, but not wrong.
[[nodiscard]] TableReading read_rank_table(const Json& json, const CheckOptions& options = {});

/// The same for text: invalid JSON, a repeated key or excessive nesting is an Error of kind config
/// at `where`.
[[nodiscard]] TableReading parse_rank_table(std::string_view text, const std::string& where,
                                            const CheckOptions& options = {});

/// The largest file that is read.
inline constexpr std::size_t kMaxRankTableBytes = 64U << 20;

/// Like parse_rank_table. With a `wait`, a missing or initializing file is read again until it is
/// completed or the time is over; the last state is then returned (or thrown).
[[nodiscard]] TableReading load_rank_table(const std::filesystem::path& path,
                                           const CheckOptions& options = {},
                                           Nanoseconds wait = Nanoseconds(0));

/// Throws an Error of kind config that lists what makes the table unreadable, if anything.
void require_readable(const TableReading& reading, const std::string& where);

/// A server for a new table.
struct ServerSpec {
  std::string id;
  std::vector<std::string> device_ips;  ///< of devices 0, 1, …; "a,b" for a device with two
  std::string super_pod{};
  std::vector<std::string> super_device_ids{};
};

/// A table of devices 0 … devices-1 on every server; rank = index of the server × devices + device.
/// Throws Error of kind config if a server has some device IPs, but too few.
[[nodiscard]] RankTable make_rank_table(const std::vector<ServerSpec>& servers, int devices);

/// The table in a form, verified by reading it back. Throws Error of kind config at `where` if it
/// lacks what the form needs (super-pods for 1.2, ranks in HCCL's order for cloud) or breaks a
/// rule.
[[nodiscard]] Json render_rank_table(const RankTable& table, TableForm form,
                                     const CheckOptions& options = {},
                                     const std::string& where = {});

/// Parts of this table that a form cannot express, for people: "super-pods", "host_ip of servers".
[[nodiscard]] std::vector<std::string> lost_in(const RankTable& table, TableForm form);

/// The cloud form's pod name for server `index`, which is its RANK_ID.
[[nodiscard]] std::string pod_name(const RankTable& table, std::size_t index);

}  // namespace assay::rendezvous
