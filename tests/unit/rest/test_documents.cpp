#include <cctype>
#include <set>

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/text.h"
#include "rest/schema.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;

// "GET /api/v1/jobs/{id}" of every route.
std::set<std::string> routes() {
  std::set<std::string> out;
  for (const Route& route : route_table())
    EXPECT_TRUE(out.insert(std::string(route.method) + " " + route.path).second)
        << route.method << " " << route.path << " is there twice";
  return out;
}

std::string deed_of(const Route& route) {
  if (route.who == Who::anyone) return "anyone";
  return route.who == Who::signed_in ? "signed in" : std::string(to_text(route.deed));
}

TEST(RouteTable, EveryRouteIsInTheOpenApiDocumentAndNothingElse) {
  std::set<std::string> described;
  const Json document = openapi();
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      described.insert(upper + " " + path);
    }
  EXPECT_EQ(described, routes());
}

TEST(RouteTable, TheOpenApiDocumentHasEveryStatusOfSuccess) {
  const Json responses = openapi()["paths"]["/api/v1/users/{name}"]["put"]["responses"];
  EXPECT_TRUE(responses.contains("200") && responses.contains("201")) << responses;
}

TEST(RouteTable, TheOpenApiDocumentIsWhole) {
  const Json document = openapi();
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_FALSE(document["info"]["title"].get<std::string>().empty());
  const std::string text = dump_line(document);
  std::set<std::string> wanted;
  const std::string mark = "#/components/schemas/";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const auto from = at + mark.size();
    wanted.insert(text.substr(from, text.find('"', from) - from));
  }
  for (const std::string& name : wanted)
    EXPECT_TRUE(document["components"]["schemas"].contains(name)) << name;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      EXPECT_FALSE(operation["summary"].get<std::string>().empty()) << path;
      EXPECT_TRUE(operation["responses"].contains("default")) << path;
      std::set<std::string> named;
      for (const Json& one : operation.value("parameters", Json::array()))
        if (one["in"] == "path") named.insert(one["name"].get<std::string>());
      for (const std::string& name : parameters_of(path)) EXPECT_TRUE(named.contains(name)) << path;
    }
}

TEST(RouteTable, EverySchemaOfARouteIsThere) {
  for (const Route& route : route_table())
    for (const std::string name : {route.answer, route.request}) {
      if (!name.empty() && name.find('/') == std::string::npos) {
        EXPECT_TRUE(schemas().contains(name)) << route.path << ": " << name;
      }
    }
}

TEST(RouteTable, WhatChangesSomethingIsNeverGet) {
  for (const Route& route : route_table())
    if (std::string_view(route.method) == "GET") {
      EXPECT_EQ(route.body, Body::none) << route.path;
    }
}

TEST(RouteTable, IsTheOneOfTheDocument) {
  // Rows: | GET /api/v1/jobs/{id} | read_job | … |
  std::set<std::string> documented;
  const std::string text = read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/platform-api.md");
  for (const std::string_view line : split(text, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() < 4) continue;
    const std::string_view route = trim(cells[1]);
    if (route.find(" /") == std::string_view::npos) continue;
    documented.insert(std::string(route) + " – " + std::string(trim(cells[2])));
  }
  std::set<std::string> known;
  for (const Route& route : route_table())
    known.insert(std::string(route.method) + " " + route.path + " – " + deed_of(route));
  EXPECT_EQ(documented, known);
}

TEST(SubmissionSchema, HasTheFieldsOfTheReader) {
  const Json schema = submission_schema();
  const Json fields = fields_to_json(jobs::Submission{.name = "x"});
  for (const auto& [key, value] : fields.items())
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
  EXPECT_EQ(schema["required"], Json::array({"name"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["launch"]["enum"], Json::array({"per-rank", "per-node", "head"}));
  EXPECT_EQ(schema["properties"]["mounts"]["items"]["required"], Json::array({"source", "target"}));
}

}  // namespace
}  // namespace assay::rest
