#include "rest/route.h"

namespace assay::rest {

const std::vector<Route>& route_table() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all;
    for (const auto part :
         {session_routes, oidc_routes, result_routes, array_routes, job_routes, schedule_routes,
          live_routes, cluster_routes, policy_routes, account_routes, secret_routes, record_routes,
          description_routes, page_routes, code_routes, door_routes}) {
      std::vector<Route> some = part();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return table;
}

std::string pattern_of(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    if (path.front() == '{') {
      out += "([^/]+)";
      path.remove_prefix(path.find('}') + 1);
    } else {
      out += path.front();
      path.remove_prefix(1);
    }
  }
  return out;
}

std::vector<std::string> parameters_of(std::string_view path) {
  std::vector<std::string> out;
  for (auto open = path.find('{'); open != std::string_view::npos; open = path.find('{')) {
    const auto close = path.find('}');
    out.emplace_back(path.substr(open + 1, close - open - 1));
    path.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace assay::rest
