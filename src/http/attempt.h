#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <curl/curl.h>

#include "http/client.h"

namespace assay::http {

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

/// The result of one attempt.
struct Outcome {
  CURLcode code = CURLE_OK;
  std::string cause;      ///< libcurl's message unless code is CURLE_OK
  bool was_sent = false;  ///< part of the request may have reached the server
  std::exception_ptr thrown;
  Response response;
};

/// Sends `request` once on `handle`, which keeps its connection. Allocates its buffers once per
/// request. Ends at `deadline_ns` of the monotonic clock.
[[nodiscard]] Outcome attempt(CURL* handle, const ClientOptions& options, const Request& request,
                              const Exchange& exchange, std::int64_t deadline_ns);

}  // namespace assay::http
