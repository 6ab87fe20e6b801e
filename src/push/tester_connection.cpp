#include "push/tester_connection.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/text.h"
#include "http/url.h"

namespace assay::push {

namespace {

http::ClientOptions options_for(const Tester& tester) {
  http::ClientOptions options;
  options.ca_file = tester.ca_file;
  options.max_body = 64 << 20;
  return options;
}

}  // namespace

Connection::Connection(const Tester& tester, std::stop_token stop)
    : origin_(http::parse_url(tester.url, "the tester's address").origin),
      stop_(std::move(stop)),
      client_(options_for(tester)),
      token_(tester.token) {
  client_.hide(token_);
}

Connection::Answer Connection::ask(http::Request request) {
  request.origin = origin_;
  request.repeatable = true;  // its ids make every request of this interface repeatable
  request.set_header("Authorization", "Bearer " + token_);
  http::Exchange exchange;
  exchange.stop = stop_;
  http::Response response;
  try {
    response = client_.send(request, exchange);
  } catch (const Error& error) {
    throw Error(ErrorKind::launch, "the tester cannot be reached: " + error.message(),
                error.where().empty() ? origin_ : error.where(),
                error.advice().empty()
                    ? "is it running, and is the address right? The push goes on where it was "
                      "when it is repeated"
                    : error.advice());
  }
  Answer answer{response.status, parse_json_or_null(response.body), response.header("retry-after")};
  if (!answer.body.is_object())
    throw Error(
        ErrorKind::launch,
        fmt::format("the answer (status {}) is not that of an Assay tester", response.status),
        origin_, "give the address that 'assay serve' prints");
  return answer;
}

Connection::Answer Connection::ask(const std::string& method, const std::string& path,
                                   const Json& body) {
  http::Request request;
  request.method = method;
  request.path = path;
  if (!body.is_null()) {
    request.body = dump_line(body);
    request.set_header("Content-Type", "application/json");
  }
  return ask(std::move(request));
}

void Connection::refuse(const Answer& answer) const {
  const auto text = [&](const char* key) {
    return client_.redact(printable(text_at(object_at(answer.body, "error"), key)));
  };
  const std::string message = fmt::format("the tester answered: {} (status {}, {})",
                                          text("message"), answer.status, text("code"));
  ErrorKind kind = ErrorKind::environment;
  if (answer.status == 400) kind = ErrorKind::config;
  if (answer.status >= 500 && answer.status != 507) kind = ErrorKind::launch;
  throw Error(kind, message, origin_, text("advice"));
}

}  // namespace assay::push
