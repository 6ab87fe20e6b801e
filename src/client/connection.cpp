#include "client/connection.h"

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "core/timed_stop.h"
#include "core/units.h"

namespace assay::client {

namespace {

constexpr std::size_t kProblemsShown = 20;

http::ClientOptions options_of(const Server& server) {
  http::ClientOptions options;
  options.ca_file = server.ca_file;
  // Somebody waits for the answer: a server that is down is said within seconds.
  options.retry.attempts = 4;
  options.retry.max_pause = std::chrono::seconds(2);
  options.retry.max_retry_after = std::chrono::seconds(30);
  return options;
}

ErrorKind kind_of(int status, const std::string& code) {
  if (status == 401 || status == 403 || status == 429 || status == 507 || code == "no_room")
    return ErrorKind::environment;
  return status >= 500 ? ErrorKind::launch : ErrorKind::usage;
}

std::vector<jobs::Problem> problems_in(const Json& error) {
  std::vector<jobs::Problem> problems;
  for (const Json& problem : list_at(error, "problems"))
    problems.push_back(
        {printable(text_at(problem, "path")), printable(text_at(problem, "message"))});
  return problems;
}

}  // namespace

Connection::Connection(Server server, std::stop_token stop)
    : server_(std::move(server)), stop_(std::move(stop)), client_(options_of(server_)) {
  client_.hide(server_.token);
}

http::Request Connection::request_of(const Ask& ask) const {
  http::Request request;
  request.method = ask.method;
  request.origin = server_.url;
  request.path = "/api/v1" + ask.path;
  request.query = ask.query;
  request.headers = ask.headers;
  request.repeatable = ask.repeatable || (ask.method != "POST" && ask.method != "PATCH");
  if (!server_.token.empty()) request.set_header("Authorization", "Bearer " + server_.token);
  if (!ask.bytes.empty()) {
    request.set_header("Content-Type", "application/octet-stream");
    request.body = ask.bytes;
  } else if (!ask.body.is_null()) {
    request.set_header("Content-Type", "application/json");
    request.body = dump_line(ask.body);
  }
  return request;
}

http::Response Connection::exchange(const Ask& ask, http::Exchange exchange) const {
  const TimedStop deadline(exchange.stop,
                           ask.limit.count() == 0 ? std::nullopt : std::optional(ask.limit));
  exchange.stop = deadline.token();
  try {
    return client_.send(request_of(ask), exchange);
  } catch (const Error& error) {
    if (deadline.expired())
      throw Error(ErrorKind::launch,
                  fmt::format("{} {} got no answer within {}", ask.method, ask.path,
                              format_duration(ask.limit)),
                  server_.url, "the server is busy, or the network is slow: try again");
    if (deadline.token().stop_requested()) throw;
    throw Error(ErrorKind::launch, "the server cannot be reached: " + error.message(), server_.url,
                fmt::format("is 'assay serve' running there, and is the address right? It is from "
                            "{}",
                            server_.source.empty() ? "the caller" : server_.source));
  }
}

http::Response Connection::send(const Ask& ask) const {
  http::Exchange control;
  control.stop = stop_;
  http::Response response = exchange(ask, std::move(control));
  if (!response.ok()) refuse(response);
  return response;
}

Json Connection::ask(const Ask& ask) const {
  const http::Response response = send(ask);
  Json body = parse_json_or_null(response.body);
  if (!body.is_object())
    throw Error(ErrorKind::launch,
                fmt::format("the answer to {} {} is not that of Assay's server (status {})",
                            ask.method, ask.path, response.status),
                server_.url, "give the address that 'assay serve' prints");
  return body;
}

void Connection::stream(const Ask& ask, const std::stop_token& stop,
                        const std::function<void(std::string_view)>& receive) const {
  Ask endless = ask;
  endless.limit = Nanoseconds(0);
  http::Exchange control;
  control.stop = stop;
  control.open_ended = true;
  bool begun = false;
  control.receive = [&](const http::Response&, std::string_view piece) {
    begun = true;
    receive(piece);
  };
  // What was received cannot be received again: who calls knows where to go on.
  control.before_attempt = [&](http::Request&) {
    if (begun) throw Error(ErrorKind::launch, "the stream was cut", server_.url);
  };
  try {
    const http::Response response = exchange(endless, std::move(control));
    if (!response.ok()) refuse(response);
  } catch (const Refused&) {
    throw;
  } catch (const Error&) {
    if (!stop.stop_requested()) throw;
  }
}

void Connection::refuse(const http::Response& response) const {
  const Json body = parse_json_or_null(response.body);
  const Json& error = object_at(body, "error");
  const auto text = [&](const char* key) { return client_.redact(printable(text_at(error, key))); };
  std::string message = text("message");
  std::string advice = text("advice");
  std::vector<jobs::Problem> problems = problems_in(error);
  if (message.empty())
    message =
        fmt::format("the answer has status {} and is not that of Assay's server", response.status);
  if (response.status == 401) {
    message = server_.token.empty() ? "you are not signed in: there is no token for this server"
                                    : "the server does not accept the token: " + message;
    advice = "sign in with 'assay login " + server_.url + "', or give a token in ASSAY_TOKEN";
  }
  for (std::size_t i = 0; i < problems.size() && i < kProblemsShown; ++i)
    message +=
        "\n  " + (problems[i].path.empty() ? "" : problems[i].path + ": ") + problems[i].message;
  if (problems.size() > kProblemsShown)
    message += fmt::format("\n  and {} more", problems.size() - kProblemsShown);
  throw Refused(kind_of(response.status, text("code")), message, server_.url, advice,
                response.status, text("code"), std::move(problems));
}

}  // namespace assay::client
