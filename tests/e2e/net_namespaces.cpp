#include "e2e/net_namespaces.h"

#include <charconv>
#include <fstream>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "e2e/ssh_hosts.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

namespace {

constexpr int kNumbers = 250;
constexpr int kPort = 22;

bool ip(std::vector<std::string> words) {
  words.insert(words.begin(), "ip");
  return run_command(words).status.ok();
}

std::string bridge(int number) {
  return "asy" + std::to_string(number);
}

/// The bridge's alias is the process that made it: whether that lives no more.
bool is_stale(int number) {
  const std::string text = read_file_or_empty("/sys/class/net/" + bridge(number) + "/ifalias");
  const std::string_view digits = trim(text);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  return error == std::errc{} && pid > 0 && !alive(pid);
}

}  // namespace

NetNamespaces::NetNamespaces(int hosts) : hosts_(hosts) {
  if (::getuid() != 0) missing_ = needs::root("to make network namespaces");
  if (!find_program("ip")) missing_ = needs::package("iproute2");
  if (!missing_.empty()) return;
  // Making the bridge claims its number, and so the subnet, from other tests that run now.
  for (int i = 0; i < kNumbers && number_ < 0; ++i) {
    const int candidate = (::getpid() + i) % kNumbers;
    if (is_stale(candidate)) {
      number_ = candidate;
      remove();
    }
    const bool made = ip({"link", "add", bridge(candidate), "type", "bridge"});
    number_ = made ? candidate : -1;
    if (!made && i == 0 && !fs::exists("/sys/class/net/" + bridge(candidate))) break;
  }
  if (number_ < 0) {
    missing_ = needs::system("network namespaces are not allowed");
    return;
  }
  bool ok = ip({"link", "set", bridge(number_), "alias", std::to_string(::getpid())}) &&
            ip({"addr", "add", address(254) + "/24", "dev", bridge(number_)}) &&
            ip({"link", "set", bridge(number_), "up"});
  for (int host = 1; host <= hosts && ok; ++host) {
    (void)ip({"netns", "del", name(host)});
    ok = ip({"netns", "add", name(host)}) &&
         ip({"link", "add", interface(host), "type", "veth", "peer", "name", "eth0", "netns",
             name(host)}) &&
         ip({"link", "set", interface(host), "master", bridge(number_), "up"}) &&
         ip({"-n", name(host), "link", "set", "lo", "up"}) &&
         ip({"-n", name(host), "addr", "add", address(host) + "/24", "dev", "eth0"}) &&
         ip({"-n", name(host), "link", "set", "eth0", "up"});
  }
  if (!ok) missing_ = needs::system("network namespaces cannot be made");
}

NetNamespaces::~NetNamespaces() {
  if (number_ >= 0) remove();
}

void NetNamespaces::remove() {
  // Of a test that was killed, only the interfaces tell how many hosts it had.
  for (const auto& entry : fs::directory_iterator("/sys/class/net")) {
    const std::string link = entry.path().filename();
    if (!link.starts_with(bridge(number_) + "-")) continue;
    (void)ip({"link", "del", link});
    (void)ip({"netns", "del", link});
  }
  (void)ip({"link", "del", bridge(number_)});
}

std::string NetNamespaces::address(int host) const {
  return "10.231." + std::to_string(number_) + "." + std::to_string(host);
}

std::string NetNamespaces::name(int host) const {
  return interface(host);
}

std::string NetNamespaces::interface(int host) const {
  return bridge(number_) + "-" + std::to_string(host);
}

std::vector<std::string> NetNamespaces::prefix(int host) const {
  return {"ip", "netns", "exec", name(host)};
}

std::uint64_t NetNamespaces::sent_by_controller() const {
  const std::string text =
      read_file_or_empty("/sys/class/net/" + bridge(number_) + "/statistics/tx_bytes");
  return parse_number<std::uint64_t>(trim(text)).value_or(0);
}

void NetNamespaces::cut(int host) {
  EXPECT_TRUE(ip({"link", "set", interface(host), "nomaster"}));
}

void NetNamespaces::restore(int host) {
  EXPECT_TRUE(ip({"link", "set", interface(host), "master", bridge(number_)}));
}

void NetNamespaces::drop(int from, int to) {
  // Frames to a machine that does not exist are dropped by the bridge without a word.
  EXPECT_TRUE(ip({"-n", name(from), "neigh", "replace", address(to), "lladdr", "02:00:00:00:00:01",
                  "dev", "eth0", "nud", "permanent"}));
}

void NetNamespaces::refuse(int from, int to) {
  EXPECT_TRUE(ip({"-n", name(from), "route", "replace", "unreachable", address(to)}));
}

void NetNamespaces::allow(int from, int to) {
  (void)ip({"-n", name(from), "neigh", "del", address(to), "dev", "eth0"});
  (void)ip({"-n", name(from), "route", "del", "unreachable", address(to)});
}

NamespaceHosts::NamespaceHosts(const fs::path& folder, int hosts, Home home, Sys sys)
    : folder_(folder / "hosts"), net_(hosts), missing_(missing_for_ssh()) {
  if (missing_.empty()) missing_ = net_.missing();
  if (!missing_.empty()) return;
  fs::create_directories(cache());
  make_ssh_files(folder_, kPort);
  const std::string key = read_file(folder_ / "host_key.pub");
  std::ofstream known(folder_ / "known_hosts");
  for (int host = 1; host <= hosts; ++host) known << net_.address(host) << " " << key;
  known.close();
  fs::create_directories(own());
  std::string mounts = "mount --bind \"$0\" \"$1\" && ";
  if (home == Home::shared) {
    fs::create_directories(this->home() / "root");
    fs::create_directories(bin());
    std::ofstream(folder_ / "passwd") << "root:x:0:0:root:/home/root:/bin/bash\nsshd:x:100:65534::"
                                         "/run/sshd:/usr/sbin/nologin\n";
    mounts += fmt::format(
        "mount --bind {0}/home /home && mount --bind {0}/bin /usr/local/bin && "
        "mount --bind {0}/passwd /etc/passwd && ",
        folder_.string());
  }
  for (int number = 1; number <= hosts; ++number) {
    fs::create_directories(own_of(number));
    // `ip netns exec` gives mounts of their own, too.
    std::vector<std::string> prefix = net_.prefix(number);
    if (sys == Sys::machine)
      prefix = {"nsenter", "--net=/run/netns/" + net_.name(number), "unshare", "--mount"};
    for (const std::string& word :
         {std::string("/bin/sh"), std::string("-c"), mounts + "shift && exec \"$@\"",
          own_of(number).string(), own().string()})
      prefix.push_back(word);
    daemons_.push_back(
        start_sshd(folder_, folder_ / ("sshd" + std::to_string(number) + ".log"), prefix));
  }
  for (int host = 1; host <= hosts && missing_.empty(); ++host)
    if (!eventually([&] { return takes_connections(net_.address(host), kPort); }))
      missing_ =
          needs::repair("the sshd of a namespace: " +
                        read_file_or_empty(folder_ / ("sshd" + std::to_string(host) + ".log")));
}

void NamespaceHosts::set_environment(int number, const std::string& variables) {
  std::ofstream(folder_ / "sshd_config", std::ios::app)
      << "Match LocalAddress " << net_.address(number) << "\nSetEnv " << variables << "\n";
  const fs::path log = folder_ / ("sshd" + std::to_string(number) + ".log");
  const auto times_started = [&log] {
    const std::string words = read_file_or_empty(log);
    int times = 0;
    for (auto at = words.find("Server listening"); at != std::string::npos;
         at = words.find("Server listening", at + 1))
      ++times;
    return times;
  };
  const int before = times_started();
  send_signal(daemons_.at(static_cast<std::size_t>(number - 1)), SIGHUP);
  EXPECT_TRUE(eventually([&] { return times_started() > before; }, std::chrono::seconds(20)));
}

NamespaceHosts::~NamespaceHosts() {
  for (const pid_t daemon : daemons_) kill_sshd(daemon);
}

std::string NamespaceHosts::ssh_to(int number, const std::string& command) const {
  return "ssh -n -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o "
         "UserKnownHostsFile=" +
         (folder_ / "known_hosts").string() + " -i " + (folder_ / "user_key").string() + " -p " +
         std::to_string(kPort) + " " + net_.address(number) + " \"" + command + "\"";
}

std::string NamespaceHosts::cluster(const std::string& more) const {
  std::string text = "cluster:\n  launcher: ssh\n  hosts:\n";
  for (int i = 1; i <= net_.size(); ++i)
    text += "    - {name: " + host(i) + ", address: " + net_.address(i) + "}\n";
  return text + "  " + ssh_settings(folder_, kPort, cache(), more);
}

}  // namespace assay::e2e
