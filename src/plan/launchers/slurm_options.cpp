#include "plan/launchers/slurm_options.h"

#include "config/mapping.h"
#include "plan/safe_words.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

const std::vector<std::string>& SlurmOptions::keys() {
  static const std::vector<std::string> all{
      "partition", "account", "qos",       "reservation", "constraint", "nodelist", "exclude",
      "gres",      "time",    "exclusive", "wait",        "shared",     "extra"};
  return all;
}

SlurmOptions SlurmOptions::read(const Node& node) {
  const Mapping map(node, "slurm", keys());
  SlurmOptions out;
  each_plain(out, [&](const std::string& key, std::string& text) {
    if (const Node* value = map.find(key))
      text = read_safe_word(*value, key == "time" ? "a time" : key.c_str());
  });
  if (const Node* wait = map.find("wait"))
    out.wait = wait->duration(std::chrono::seconds(1), std::chrono::hours(24 * 30));
  if (const Node* value = map.find("exclusive")) out.exclusive = value->boolean();
  if (const Node* value = map.find("shared")) out.shared = value->boolean();
  if (const Node* extra = map.find("extra")) out.extra = extra->texts();
  return out;
}

}  // namespace assay::plan
