#pragma once

#include <string>
#include <vector>

#include "http/url.h"
#include "serve/api.h"

namespace assay::serve {

/// A request on its way through the API.
struct Api::Call {
  const HttpRequest& request;
  std::string token;  ///< its name, or ""
  http::Query query{};
  HttpServer::Respond respond{};
};

[[nodiscard]] HttpResponse json_response(const Json& json, int status = 200);

}  // namespace assay::serve
