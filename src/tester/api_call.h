#pragma once

#include <string>
#include <vector>

#include "http/url.h"
#include "tester/api.h"

namespace assay::tester {

/// A request on its way through the API.
struct Api::Call {
  const serve::HttpRequest& request;
  std::string token;          ///< its name, or ""
  bool known_reader = false;  ///< without a token, but may read
  http::Query query{};
  serve::HttpServer::Respond respond{};
};

[[nodiscard]] serve::HttpResponse json_response(const Json& json, int status = 200);

}  // namespace assay::tester
