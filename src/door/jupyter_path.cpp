#include "door/jupyter_path.h"

#include <algorithm>

#include "core/text.h"
#include "http/url.h"

namespace assay::door {

std::string jupyter_path(const serve::HttpRequest& request) {
  constexpr std::string_view kContents = "/api/contents/";
  if (request.method != "GET" || !request.path.starts_with(kContents)) return request.path;
  // Classic pages give the type, JupyterLab says whether it wants the content.
  const http::Query query = http::parse_query(request.query);
  if (std::ranges::none_of(query, [](const auto& one) {
        return (one.first == "type" || one.first == "content") && !one.second.empty();
      }))
    return request.path;
  std::vector<std::string> parts;
  for (const std::string_view part : split(request.path, '/'))
    parts.emplace_back(part == "checkpoints" ? "%63heckpoints" : part);
  return join(parts, "/");
}

}  // namespace assay::door
