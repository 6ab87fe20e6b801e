#include "plan/launchers/slurm_options.h"

#include "config/mapping.h"
#include "plan/safe_words.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

const std::vector<std::string>& SlurmOptions::keys() {
  static const std::vector<std::string> all{"partition",  "account",  "qos",       "reservation",
                                            "constraint", "nodelist", "exclude",   "gres",
                                            "time",       "wait",     "exclusive", "shared",
                                            "extra",      "mpi",      "step"};
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
  if (const Node* mpi = map.find("mpi")) {
    out.mpi = read_safe_word(*mpi, "a plugin of srun's --mpi");
    if (out.mpi == "none") out.mpi.clear();
    if (!out.mpi.empty() && !out.shared)
      mpi->fail("'mpi' needs files that all nodes see",
                "leave 'shared: false' out: the ranks' configuration lies in the run directory");
  }
  if (const Node* step = map.find("step")) {
    if (out.mpi.empty()) step->fail("'step' is for ranks that srun starts", "give 'mpi' too");
    out.step = step->texts();
  }
  return out;
}

}  // namespace assay::plan
