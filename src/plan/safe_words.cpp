#include "plan/safe_words.h"

#include <algorithm>

namespace assay::plan {

using config::Node;

std::string read_safe_word(const Node& node, const char* what) {
  std::string word = node.nonempty_text();
  const bool odd = std::ranges::any_of(word, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '\'' || c == '"';
  });
  if (odd || word[0] == '-')
    node.fail(std::string(what) +
              " must not begin with '-' or contain spaces, quotes or control "
              "characters, got " +
              node.describe());
  return word;
}

std::string read_host_name(const Node& node) {
  std::string name = read_safe_word(node, "a host name");
  if (name.find('/') != std::string::npos || name.size() > 253)
    node.fail("not a host name: " + node.describe());
  // ssh would take "[::1]" or "node1:22" for a host's name. A bare IPv6 address is fine.
  const auto colon = name.find(':');
  const bool with_port =
      colon != std::string::npos && name.find(':', colon + 1) == std::string::npos;
  if (name.find_first_of("[]") != std::string::npos || with_port)
    node.fail("a host name with a port or in brackets: " + node.describe(),
              "{name: node1, port: 2222, user: bench}; an IPv6 address has no brackets here");
  return name;
}

}  // namespace assay::plan
