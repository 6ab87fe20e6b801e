#pragma once

#include "lang/language.h"
#include "serve/http_server.h"

namespace assay::rest {

/// What the server says for people in a JSON answer (why a job waits, what happened to it, what is
/// wrong with a request) in their language; data stays as it is.
void translate(serve::HttpResponse& response, lang::Language language);

}  // namespace assay::rest
