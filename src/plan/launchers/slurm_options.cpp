#include "plan/launchers/slurm_options.h"

#include "config/mapping.h"
#include "plan/safe_words.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

const std::vector<std::string>& SlurmOptions::keys() {
  static const std::vector<std::string> all{"partition",  "account",    "qos",       "reservation",
                                            "constraint", "nodelist",   "exclude",   "gres",
                                            "time",       "wait",       "exclusive", "shared",
                                            "extra",      "components", "mpi",       "step"};
  return all;
}

namespace {

constexpr int kMaxNodes = 100'000;

void read_plain(const Mapping& map, SlurmRequest& to) {
  SlurmRequest::each_plain(to, [&](const std::string& key, std::string& text) {
    if (const Node* value = map.find(key))
      text = read_safe_word(*value, key == "time" ? "a time" : key.c_str());
  });
}

std::vector<SlurmComponent> read_components(const Node& node) {
  std::vector<std::string> keys{"nodes", "extra"};
  SlurmRequest any;
  SlurmRequest::each_plain(any,
                           [&](const char* key, const std::string&) { keys.emplace_back(key); });
  std::vector<SlurmComponent> out;
  for (const Node& item : node.items()) {
    const Mapping map(item, "a component", keys);
    SlurmComponent& one = out.emplace_back();
    if (const Node* nodes = map.find("nodes"))
      one.nodes = static_cast<int>(nodes->integer(1, kMaxNodes));
    read_plain(map, one);
    if (const Node* extra = map.find("extra")) one.extra = extra->texts();
  }
  if (out.size() < 2)
    node.fail("a heterogeneous job has two components or more",
              "for nodes of one kind, give their options in 'slurm' itself");
  return out;
}

}  // namespace

SlurmOptions SlurmOptions::read(const Node& node) {
  const Mapping map(node, "slurm", keys());
  SlurmOptions out;
  read_plain(map, out);
  if (const Node* wait = map.find("wait"))
    out.wait = wait->duration(std::chrono::seconds(1), std::chrono::hours(24 * 30));
  if (const Node* value = map.find("exclusive")) out.exclusive = value->boolean();
  if (const Node* value = map.find("shared")) out.shared = value->boolean();
  if (const Node* extra = map.find("extra")) out.extra = extra->texts();
  if (const Node* components = map.find("components"))
    out.components = read_components(*components);
  if (const Node* mpi = map.find("mpi")) {
    if (!out.components.empty())
      mpi->fail("ranks of one srun do not span the components of a heterogeneous job",
                "leave 'mpi' out: agents start the ranks, on the nodes of all components");
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
