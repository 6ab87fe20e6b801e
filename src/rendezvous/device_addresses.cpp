#include "rendezvous/device_addresses.h"

#include <optional>

#include <fmt/format.h>

#include "core/address.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::rendezvous {

namespace {

constexpr int kMaxDeviceId = 4095;

std::optional<int> device_id(std::string_view text) {
  return parse_number<int>(text, 0, kMaxDeviceId);
}

}  // namespace

std::map<int, std::string> parse_hccn_conf(std::string_view text, const std::string& where) {
  constexpr std::string_view kKey = "address_";
  std::map<int, std::string> out;
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw.substr(0, raw.find('#')));
    if (!line.starts_with(kKey)) continue;
    const std::string place = fmt::format("{}:{}", where, number);
    const auto equals = line.find('=');
    if (equals == std::string_view::npos)
      throw Error(ErrorKind::config, "the setting has no value", place, "address_0=192.168.10.1");
    const std::string_view key = trim(line.substr(0, equals));
    const auto id = device_id(key.substr(kKey.size()));
    if (!id)
      throw Error(ErrorKind::config,
                  "'" + ellipsize(printable(key), 60) + "' does not end in the number of a device",
                  place, "address_0=192.168.10.1");
    const std::string ip(trim(line.substr(equals + 1)));
    if (!is_ip_address(ip))
      throw Error(ErrorKind::config,
                  fmt::format("the address of device {} is not an IP address: '{}'", *id,
                              ellipsize(printable(ip), 60)),
                  place);
    const auto [first, fresh] = out.try_emplace(*id, ip);
    if (!fresh && first->second != ip)
      throw Error(ErrorKind::config,
                  fmt::format("device {} has two addresses, {} and {}", *id, first->second, ip),
                  place, "keep the one that 'hccn_tool -i N -ip -g' shows");
  }
  if (out.empty())
    throw Error(ErrorKind::config, "there is no device address in it (address_0=…)", where,
                "set the addresses with 'hccn_tool -i N -ip -s address A netmask M'");
  return out;
}

std::string parse_hccn_tool(std::string_view output, const std::string& where) {
  for (const std::string_view raw : split(output, '\n')) {
    const std::string_view line = trim(raw);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != "ipaddr") continue;
    std::string ip(trim(line.substr(colon + 1)));
    if (is_ip_address(ip)) return ip;
  }
  throw Error(ErrorKind::environment,
              "it shows no device IP: '" + ellipsize(printable(trim(output)), 200) + "'", where,
              "set it with 'hccn_tool -i N -ip -s address A netmask M'");
}

std::vector<std::string> device_list(const std::map<int, std::string>& addresses, int devices,
                                     const std::string& where) {
  const int count = devices > 0 ? devices : static_cast<int>(addresses.size());
  std::vector<std::string> out;
  for (int id = 0; id < count; ++id) {
    const auto found = addresses.find(id);
    if (found == addresses.end())
      throw Error(ErrorKind::config, fmt::format("there is no address of device {}", id), where,
                  fmt::format("add address_{}=…, or ask for fewer devices", id));
    out.push_back(found->second);
  }
  return out;
}

std::vector<std::string> query_hccn_tool(int devices, const std::string& tool, Nanoseconds limit) {
  CommandOptions options;
  options.timeout = limit;
  std::vector<std::string> out;
  for (int id = 0; id < devices; ++id) {
    const std::vector<std::string> argv{tool, "-i", std::to_string(id), "-ip", "-g"};
    const std::string where = shell_join(argv);
    const CommandResult result = run_command(argv, options);
    if (result.not_found)
      throw Error(ErrorKind::environment, "the program is not there", where,
                  "it belongs to the Ascend driver; or give --hccn-conf or --device-ips");
    if (result.timed_out)
      throw Error(ErrorKind::environment, fmt::format("no answer within {:.0f} s", seconds(limit)),
                  where, "the device or its driver hangs");
    if (!result.status.ok())
      throw Error(ErrorKind::environment,
                  "failed with " + to_string(result.status) + ": " +
                      ellipsize(printable(trim(result.out + result.err)), 200),
                  where);
    out.push_back(parse_hccn_tool(result.out, where));
  }
  return out;
}

}  // namespace assay::rendezvous
