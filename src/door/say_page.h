#pragma once

#include <exception>
#include <string>

#include "serve/http_server.h"

namespace assay::door {

/// Shown to a browser at an endpoint's site instead of the application.
struct Notice {
  int status = 502;
  std::string what{};    ///< "Jupyter has ended: exit 1"
  std::string advice{};  ///< empty: none
  std::string detail{};  ///< lines of a log
};

/// A self-contained page: no scripts, nothing loaded, not cached. `languages` is the browser's
/// Accept-Language; everything except the detail, which comes from a program, is in the one of
/// Assay's languages that the reader prefers.
[[nodiscard]] serve::HttpResponse notice_page(const Notice& notice, const std::string& languages);

/// The page for a failed answer: 404 for a wrong request, 503 if the server cannot answer now, and
/// 500 for everything else, without its message, which is for the log.
[[nodiscard]] serve::HttpResponse failure_page(const std::exception& error,
                                               const std::string& languages);

}  // namespace assay::door
