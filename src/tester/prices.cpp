#include "tester/prices.h"

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/text.h"

namespace assay::tester {

namespace {

double money(const config::Mapping& from, const char* key) {
  const config::Node* node = from.find(key);
  if (node == nullptr) return 0;
  const double value = node->number();
  if (value < 0 || value > 1e9) node->fail("a price is a number from 0 to 1e9");
  return value;
}

}  // namespace

std::vector<HourPrice> Prices::of(std::span<const std::string> hardware) const {
  std::vector<HourPrice> out;
  for (const std::string& name : hardware)
    for (const OfKind& one : kinds)
      if (to_lower(name).find(to_lower(one.kind)) != std::string::npos) {
        out.push_back({name, one.device_hour, one.node_hour});
        break;
      }
  return out;
}

Prices read_prices(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  const config::Node root = config::load_yaml(file);
  if (root.is_null()) return {};
  const config::Mapping top(root, "the tester's configuration", {"prices"});
  const config::Node* found = top.find("prices");
  if (found == nullptr) return {};
  const config::Mapping prices(*found, "prices", {"currency", "hardware"});
  Prices out{prices.at("currency").nonempty_text(), {}};
  if (out.currency.size() > 16 || printable(out.currency) != out.currency)
    prices.at("currency").fail("a currency has at most 16 bytes", "such as EUR");
  for (const config::Node& node : prices.at("hardware").items()) {
    const config::Mapping one(node, "a price", {"kind", "device_hour", "node_hour"});
    Prices::OfKind price{one.at("kind").nonempty_text(), money(one, "device_hour"),
                         money(one, "node_hour")};
    if (price.device_hour == 0 && price.node_hour == 0)
      node.fail("a price needs 'device_hour' or 'node_hour'", "such as device_hour: 2.50");
    out.kinds.push_back(std::move(price));
  }
  return out;
}

}  // namespace assay::tester
