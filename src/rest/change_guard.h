#pragma once

#include <string>

#include "rest/call.h"

namespace assay::rest {

/// What can be changed of a thing, by which two people who change it do not overwrite each other.
/// In quotes, as If-Match has it; a part of it for each field, so that who comes too late is told
/// which of them have changed.
[[nodiscard]] std::string etag_of(const Json& changeable);

/// Throws Refusal 412 where a request says by If-Match or If-None-Match what it was made for, and
/// the thing is another now. `changeable`: what there is now, null: nothing. Who calls holds
/// Context::settings until what is there was changed.
void check_unchanged(const Call& call, const Json& changeable);

}  // namespace assay::rest
