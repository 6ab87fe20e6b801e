#include "plan/launchers/ssh_options.h"

#include <algorithm>
#include <set>

#include "core/text.h"
#include "plan/safe_words.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

// Options as for `ssh -o`, "Name=value". Refuses those that the suite has a key for or Assay must
// decide: ssh would silently ignore them.
std::vector<std::string> read_ssh_options(const Node& node) {
  static const std::set<std::string> kOwn{
      "batchmode",           "connecttimeout", "controlmaster",
      "controlpath",         "controlpersist", "identityfile",
      "identitiesonly",      "port",           "proxyjump",
      "remotecommand",       "requesttty",     "serveralivecountmax",
      "serveraliveinterval", "sessiontype",    "stricthostkeychecking",
      "updatehostkeys",      "user",           "userknownhostsfile"};
  std::vector<std::string> options;
  for (const Node& item : node.items()) {
    std::string text = item.nonempty_text();
    const std::string name = to_lower(text.substr(0, text.find('=')));
    const bool letters = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    });
    if (!letters || name.size() + 1 >= text.size() || text.find('\n') != std::string::npos)
      item.fail("not an option of ssh: " + item.describe(),
                "Name=value, as in options: [Compression=no]");
    if (kOwn.contains(name))
      item.fail("the option " + text.substr(0, name.size()) + " cannot be given here",
                "Assay sets it; see the other keys of ssh");
    options.push_back(std::move(text));
  }
  return options;
}

}  // namespace

void read_ssh_access(const Mapping& map, SshAccess& access) {
  if (const Node* user = map.find("user")) access.user = read_safe_word(*user, "a user name");
  if (const Node* port = map.find("port")) access.port = static_cast<int>(port->integer(1, 65535));
  if (const Node* identity = map.find("identity")) access.identity = identity->nonempty_text();
  if (const Node* jump = map.find("jump")) access.jump = read_safe_word(*jump, "a jump host");
}

const std::vector<std::string>& SshOptions::keys() {
  static const std::vector<std::string> all{"user",
                                            "port",
                                            "identity",
                                            "jump",
                                            "config",
                                            "known_hosts",
                                            "accept_new_keys",
                                            "user_control",
                                            "connect_timeout",
                                            "cache",
                                            "bundles",
                                            "options"};
  return all;
}

SshOptions SshOptions::read(const Node& node) {
  const Mapping map(node, "ssh", keys());
  SshOptions out;
  read_ssh_access(map, out);
  if (const Node* config = map.find("config")) out.config = config->nonempty_text();
  if (const Node* hosts = map.find("known_hosts")) out.known_hosts = hosts->nonempty_text();
  if (const Node* accept = map.find("accept_new_keys")) out.accept_new_keys = accept->boolean();
  if (const Node* control = map.find("user_control")) out.user_control = control->boolean();
  if (const Node* own = map.find("options")) out.options = read_ssh_options(*own);
  if (const Node* timeout = map.find("connect_timeout"))
    out.connect_timeout_s =
        static_cast<int>(std::chrono::ceil<std::chrono::seconds>(
                             timeout->duration(std::chrono::seconds(1), std::chrono::minutes(10)))
                             .count());
  if (const Node* cache = map.find("cache")) {
    out.cache = read_safe_word(*cache, "a folder");
    if (!out.cache.starts_with('/') && !out.cache.starts_with("~/"))
      cache->fail("the cache must be an absolute path, or begin with ~/, got " + cache->describe());
  }
  out.bundles = *parse_enum<SshBundles>(map.choice("bundles", {"auto", "tree", "direct"}));
  return out;
}

}  // namespace assay::plan
