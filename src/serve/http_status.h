#pragma once

#include <string>
#include <string_view>

#include "serve/http_server.h"
#include "serve/request_head.h"

namespace assay::serve {

/// "Not Found" for 404; "Unknown" for a status that this server does not give.
[[nodiscard]] std::string_view reason_of(int status);

/// The bytes of a whole answer, with its status line, after which the connection is closed: for
/// connections that the server's library does not answer on.
[[nodiscard]] std::string answer_bytes(const HttpResponse& response);

/// The same for a request that the parser does not give us.
[[nodiscard]] std::string raw_answer(const HeadFault& fault);

}  // namespace assay::serve
