#pragma once

#include <string>
#include <string_view>

#include "serve/request_head.h"

namespace assay::serve {

/// "Not Found" for 404; "Unknown" for a status that this server does not give.
[[nodiscard]] std::string_view reason_of(int status);

/// A whole answer, for a request that the parser does not give us.
[[nodiscard]] std::string raw_answer(const HeadFault& fault);

}  // namespace assay::serve
