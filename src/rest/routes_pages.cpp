#include "rest/call.h"

namespace assay::rest {

namespace {

constexpr const char* kPagePolicy =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; object-src "
    "'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const char* type_of_file(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  if (name.ends_with(".json")) return "application/json";
  return "text/html; charset=utf-8";
}

serve::HttpResponse file(Call& call, std::string_view name) {
  for (const page::Asset& asset : call.context.pages) {
    if (asset.name != name) continue;
    serve::HttpResponse response;
    response.type = type_of_file(name);
    const std::string tag = "\"" + std::string(asset.sha256).substr(0, 16) + "\"";
    response.headers.emplace_back("ETag", tag);
    // Under its hash a file never changes; without, it is asked for again.
    const bool by_hash = call.asked("v") == asset.sha256;
    response.headers.emplace_back("Cache-Control",
                                  by_hash ? "public, max-age=31536000, immutable" : "no-cache");
    response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
    if (call.request.header("if-none-match") == tag)
      response.status = 304;
    else
      response.body = asset.text;
    return response;
  }
  throw not_found("there is no such page");
}

serve::HttpResponse first_page(Call& call) {
  return file(call, "index.html");
}

serve::HttpResponse static_file(Call& call) {
  return file(call, call.parameter(0));
}

}  // namespace

std::vector<Route> page_routes() {
  return {{.method = "GET",
           .path = "/",
           .handler = first_page,
           .who = Who::anyone,
           .summary = "The pages",
           .answer = "text/html"},
          {.method = "GET",
           .path = "/static/{name}",
           .handler = static_file,
           .who = Who::anyone,
           .summary = "Scripts and styles of the pages",
           .answer = "text/html"}};
}

}  // namespace assay::rest
