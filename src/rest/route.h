#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/permissions.h"
#include "serve/http_server.h"

namespace assay::rest {

struct Call;

/// What of a request says whose the thing is that it is about.
enum class Of {
  cluster,  ///< nobody's: what the table of permissions says about foreign things counts
  self,     ///< the caller's own, or the handler leaves out or refuses what is not
  job,      ///< the first parameter is a job's number; one that the caller may not read is 404
  user,     ///< the first parameter is a user's name
  scope     ///< the first parameter is own, team:NAME or all
};

enum class Who { anyone, signed_in, may };

/// How the body of a request comes.
enum class Body { none, json, raw };

struct Parameter {
  const char* name;
  const char* type;  ///< "integer", "string", "boolean"
  const char* what;
};

/// One row of the table: what is dispatched, checked and described.
struct Route {
  const char* method;
  const char* path;  ///< "/api/v1/jobs/{id}"
  serve::HttpResponse (*handler)(Call& call);
  Who who = Who::may;
  jobs::Deed deed = jobs::Deed::list_jobs;  ///< that is asked for, where who is may
  Of of = Of::cluster;
  const char* summary = "";
  const char* answer = "";   ///< a schema's name, or a media type; empty: none
  const char* request = "";  ///< a schema's name
  Body body = Body::none;
  std::size_t max_body = 64U << 10;
  std::vector<Parameter> query{};
  int status = 200;      ///< of success
  int made = 0;          ///< of success that has made something, where that is told apart
  bool asks = false;     ///< nothing is done: it is not in the audit log
  bool guarded = false;  ///< it takes If-Match and If-None-Match: see change_guard.h
};

/// All of them; of two that fit a path the first counts.
[[nodiscard]] const std::vector<Route>& route_table();

/// "/api/v1/jobs/([^/]+)": for HttpOptions::routes, and as requests have it.
[[nodiscard]] std::string pattern_of(std::string_view path);

/// Names between braces, in order.
[[nodiscard]] std::vector<std::string> parameters_of(std::string_view path);

// One file each; route_table.cpp puts them together.
[[nodiscard]] std::vector<Route> session_routes();
[[nodiscard]] std::vector<Route> oidc_routes();
[[nodiscard]] std::vector<Route> job_routes();
[[nodiscard]] std::vector<Route> array_routes();
[[nodiscard]] std::vector<Route> schedule_routes();
[[nodiscard]] std::vector<Route> live_routes();
[[nodiscard]] std::vector<Route> result_routes();
[[nodiscard]] std::vector<Route> cluster_routes();
[[nodiscard]] std::vector<Route> policy_routes();
[[nodiscard]] std::vector<Route> code_routes();
[[nodiscard]] std::vector<Route> door_routes();
[[nodiscard]] std::vector<Route> account_routes();
[[nodiscard]] std::vector<Route> secret_routes();
[[nodiscard]] std::vector<Route> record_routes();
[[nodiscard]] std::vector<Route> description_routes();
[[nodiscard]] std::vector<Route> page_routes();

}  // namespace assay::rest
