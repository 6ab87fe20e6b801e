#include "agent/identity.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/guardian.h"
#include "agent/protocol.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/version.h"

namespace assay::agent {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first non-loopback address. Looks no name up: a static program cannot rely on the resolver,
// and names often lead to 127.0.1.1.
std::string interface_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || (entry->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr)
      return text.data();
  }
  return {};
}

// The address at which the controller's connection arrived, as the cluster uses that one.
std::string own_address() {
  const std::string connection = variable("SSH_CONNECTION");  // client, its port, server, its port
  const auto fields = split(connection, ' ');
  if (fields.size() == 4) return std::string(fields[2]);
  return interface_address();
}

}  // namespace

Hello make_hello(const std::string& component) {
  const std::string slurm_name = variable("SLURMD_NODENAME");
  Hello out;
  out.protocol = kProtocolVersion;
  out.version = version_string();
  out.pid = ::getpid();
  out.host = printable(slurm_name.empty() ? host_name() : slurm_name);
  out.home = printable(variable("HOME"));
  out.bindir = printable(program_folder().string());
  out.address = printable(own_address());
  out.boot_id = printable(trim(read_file_or_empty("/proc/sys/kernel/random/boot_id")));
  out.job = printable(variable("SLURM_JOB_ID"));
  // Slurm's own notation.
  if (!out.job.empty() && !component.empty()) out.job += "+" + component;
  out.processes = agent_processes();
  return out;
}

int free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!fd || ::bind(fd.get(), generic, length) != 0 ||
      ::getsockname(fd.get(), generic, &length) != 0)
    return 29500;
  return ntohs(address.sin_port);
}

}  // namespace assay::agent
