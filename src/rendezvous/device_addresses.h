#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace assay::rendezvous {

/// The addresses in /etc/hccn.conf: device id → IP, from lines "address_<id>=<ip>". Ignores other
/// settings (netmask, gateway, …), empty lines and comments (#). Pure. Throws Error of kind config
/// at "where:line" for a value that is not an address, an id that is not a number, or two addresses
/// for one device, and at `where` if there is no address at all.
[[nodiscard]] std::map<int, std::string> parse_hccn_conf(std::string_view text,
                                                         const std::string& where);

/// The address in the output of `hccn_tool -i N -ip -g` ("ipaddr:192.168.10.1"). Pure. Throws Error
/// of kind environment that quotes the output if it has none.
[[nodiscard]] std::string parse_hccn_tool(std::string_view output, const std::string& where);

/// The addresses of devices 0 … devices-1 in order. Throws Error of kind config at `where` for a
/// device without one. `devices` 0 means all, which must start at 0 without gaps.
[[nodiscard]] std::vector<std::string> device_list(const std::map<int, std::string>& addresses,
                                                   int devices, const std::string& where);

/// Asks hccn_tool on this machine for devices 0 … devices-1. Throws Error of kind environment if
/// the tool is missing, fails, or takes longer than `limit` for one device.
[[nodiscard]] std::vector<std::string> query_hccn_tool(
    int devices, const std::string& tool = "hccn_tool",
    Nanoseconds limit = std::chrono::seconds(10));

}  // namespace assay::rendezvous
