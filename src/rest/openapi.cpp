#include "core/text.h"
#include "core/version.h"
#include "rest/call.h"
#include "rest/schema.h"

namespace assay::rest {

namespace {

Json content_of(std::string_view what) {
  if (what.find('/') != std::string_view::npos)
    return {{std::string(what), {{"schema", {{"type", "string"}}}}}};
  return {
      {"application/json", {{"schema", {{"$ref", "#/components/schemas/" + std::string(what)}}}}}};
}

Json operation_of(const Route& route) {
  Json out = {{"summary", route.summary}};
  Json parameters = Json::array();
  for (const std::string& name : parameters_of(route.path))
    parameters.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  for (const Parameter& one : route.query)
    parameters.push_back({{"name", one.name},
                          {"in", "query"},
                          {"description", one.what},
                          {"schema", {{"type", one.type}}}});
  if (route.guarded)
    for (const auto& [name, what] :
         {std::pair("If-Match", "the etag of what the change is meant for"),
          std::pair("If-None-Match", "*: it is not to be there yet")})
      parameters.push_back({{"name", name},
                            {"in", "header"},
                            {"description", what},
                            {"schema", {{"type", "string"}}}});
  if (!parameters.empty()) out["parameters"] = parameters;
  if (route.body == Body::json)
    out["requestBody"] = {{"required", true}, {"content", content_of(route.request)}};
  if (route.body == Body::raw)
    out["requestBody"] = {{"required", true}, {"content", content_of("application/octet-stream")}};
  Json good = {{"description", "done"}};
  if (*route.answer != '\0') good["content"] = content_of(route.answer);
  out["responses"] = {{std::to_string(route.status), good},
                      {"default", {{"description", "refused"}, {"content", content_of("Error")}}}};
  if (route.guarded)
    out["responses"]["412"] = {
        {"description", "it was changed meanwhile; \"now\" is what there is"},
        {"content", content_of("Changed")}};
  if (route.made != 0) out["responses"][std::to_string(route.made)] = good;
  if (route.who == Who::anyone) out["security"] = Json::array();
  if (route.who == Who::may) out["x-deed"] = to_text(route.deed);
  return out;
}

serve::HttpResponse describe(Call& /*call*/) {
  return json_answer(openapi());
}

serve::HttpResponse describe_submission(Call& /*call*/) {
  return json_answer(submission_schema());
}

}  // namespace

Json openapi() {
  Json paths = Json::object();
  for (const Route& route : route_table())
    paths[route.path][to_lower(route.method)] = operation_of(route);
  Json components = Json::object();
  for (const auto& [name, schema] : schemas()) components[name] = schema;
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Assay's job platform"},
            {"version", version_string()},
            {"description",
             "PUT makes what its address names, or changes it: fields that the body does not name "
             "keep their values. A field with a list or an object is replaced as a whole. "
             "Templates and secrets have one content, which PUT replaces."}}},
          {"paths", paths},
          {"components",
           {{"schemas", components},
            {"securitySchemes",
             {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
              {"session", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "assay_session"}}},
              {"csrf", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-CSRF-Token"}}}}}}},
          {"security", Json::array({{{"token", Json::array()}},
                                    {{"session", Json::array()}, {"csrf", Json::array()}}})}};
}

std::vector<Route> description_routes() {
  return {{.method = "GET",
           .path = "/api/v1/schema/submission",
           .handler = describe_submission,
           .who = Who::anyone,
           .summary = "JSON Schema of a submission",
           .answer = "Any"},
          {.method = "GET",
           .path = "/api/openapi.json",
           .handler = describe,
           .who = Who::anyone,
           .summary = "This interface, as OpenAPI 3.1",
           .answer = "Any"}};
}

}  // namespace assay::rest
