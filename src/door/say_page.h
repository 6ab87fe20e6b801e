#pragma once

#include <exception>
#include <string>

#include "serve/http_server.h"

namespace assay::door {

/// What is said to a browser at an endpoint's site in place of the application.
struct Notice {
  int status = 502;
  std::string what{};    ///< "Jupyter has ended: exit 1"
  std::string advice{};  ///< empty: none
  std::string detail{};  ///< lines of a log
};

/// A page of its own: no scripts, nothing from elsewhere, not kept. `languages`: as the browser's
/// Accept-Language has them; all but the detail, which is a program's, is in the one of those that
/// Assay speaks and the reader prefers.
[[nodiscard]] serve::HttpResponse notice_page(const Notice& notice, const std::string& languages);

/// What is said where an answer failed: 404 for what was asked wrongly, 503 where the server cannot
/// answer now, and 500 for all else, without its words, which are for the log.
[[nodiscard]] serve::HttpResponse failure_page(const std::exception& error,
                                               const std::string& languages);

}  // namespace assay::door
