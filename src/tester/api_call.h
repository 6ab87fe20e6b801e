#pragma once

#include <string>
#include <vector>

#include "http/url.h"
#include "tester/api.h"

namespace assay::tester {

/// A request being handled by the API.
struct Api::Call {
  const serve::HttpRequest& request;
  std::string token;          ///< its name, or ""
  bool known_reader = false;  ///< has no token, but may read
  http::Query query{};
  serve::HttpServer::Respond respond{};
};

[[nodiscard]] serve::HttpResponse json_response(const Json& json, int status = 200);

}  // namespace assay::tester
