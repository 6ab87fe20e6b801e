#include "commands/runs/web_view.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "http/url.h"
#include "live/live_run.h"
#include "rest/guard.h"
#include "serve/http_server.h"
#include "serve/random_text.h"
#include "serve/refusal.h"
#include "serve/worker_pool.h"
#include "web/files.h"

namespace assay::commands {

namespace {

constexpr const char* kPolicyOfRun =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'none'";

serve::HttpResponse text_response(std::string_view type, std::string body) {
  serve::HttpResponse response;
  response.type = type;
  response.body = std::move(body);
  return response;
}

}  // namespace

struct WebView::State {
  State(std::filesystem::path path, std::uint16_t port)
      : run(std::move(path)), live(run), token(serve::random_hex(16)), workers(2, 256) {
    serve::HttpOptions options;
    options.port = port;
    options.option = "--web=PORT";
    options.read_timeout = std::chrono::seconds(10);
    options.handling_timeout = std::chrono::seconds(60);
    options.max_body = 64U << 10;
    options.routes = {fmt::format("/{}/(.*)", token)};
    server = std::make_unique<serve::HttpServer>(
        options, [this](serve::HttpRequest request, serve::HttpServer::Respond respond) {
          const auto shared = std::make_shared<serve::HttpRequest>(std::move(request));
          if (!workers.post("", [this, shared, respond] { respond(answer(*shared)); }))
            respond(serve::response_of(serve::Refusal(503, "busy", "too many requests")));
        });
    server->start();
  }
  ~State() { server->stop(); }

  serve::HttpResponse answer(const serve::HttpRequest& request) {
    serve::HttpResponse response;
    try {
      response = page_of(request);
    } catch (const serve::Refusal& refusal) {
      response = serve::response_of(refusal);
    } catch (const Error& error) {
      response = serve::response_of(serve::Refusal(400, "bad_parameter", error.message()));
    } catch (const std::exception& error) {
      response = serve::response_of(serve::Refusal(500, "internal", error.what()));
    }
    response.headers.emplace_back("Content-Security-Policy", kPolicyOfRun);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
  }

  serve::HttpResponse page_of(const serve::HttpRequest& request) {
    if (!rest::is_asked_as(request, {"127.0.0.1", "localhost", "::1"}))
      throw serve::Refusal(421, "wrong_host", "this page is of this machine",
                           "open it at 127.0.0.1; from elsewhere through 'ssh -L'");
    const serve::Refusal nothing(404, "not_found", "there is nothing at this address");
    if (request.fault.status != 0)
      throw serve::Refusal(request.fault.status, "bad_request", request.fault.text);
    if (request.route.empty() || request.parameters.empty()) throw nothing;
    if (request.method != "GET" && request.method != "HEAD") {
      serve::Refusal refusal(405, "method_not_allowed", "only GET is possible here");
      refusal.allow = "GET, HEAD";
      throw refusal;
    }
    const std::string& path = request.parameters[0];
    if (path.empty()) return text_response("text/html; charset=utf-8", web::run_page("api"));
    if (path.starts_with("static/")) {
      for (const page::Asset& file : web::files())
        if (path.substr(7) == file.name)
          return text_response(web::media_type(file.name), std::string(file.text));
      throw nothing;
    }
    std::map<std::string, std::string> query;
    for (const auto& [name, value] : http::parse_form(request.query)) query[name] = value;
    if (path == "api/run") return json_of(state_of_run());
    if (path == "api/log") return json_of(live.log(live::console_query(query)));
    if (path == "api/metrics") return json_of(live.metrics(live::metrics_query(query)));
    if (path == "api/log/download") return download(live::console_query(query).rank);
    throw nothing;
  }

  static serve::HttpResponse json_of(const Json& json) {
    return text_response("application/json", dump_line(json));
  }

  // Beyond this size the files themselves are the better copy.
  serve::HttpResponse download(std::optional<int> rank) {
    constexpr std::size_t kMostBytes = 64U << 20;
    std::string text;
    live::TextPlace from;
    while (text.size() < kMostBytes) {
      const std::string more = live.log_text(rank, from);
      if (more.empty()) break;
      text += more;
    }
    if (text.size() >= kMostBytes) text += "… (the rest is in the run directory)\n";
    serve::HttpResponse response = text_response("text/plain; charset=utf-8", std::move(text));
    response.headers.emplace_back("Content-Disposition",
                                  rank ? fmt::format("attachment; filename=\"rank{}.log\"", *rank)
                                       : "attachment; filename=\"console.log\"");
    return response;
  }

  Json state_of_run() {
    const Json plan = parse_json_or_null(read_regular_file_or_empty(run / layout::kPlan));
    const Json now = parse_json_or_null(read_regular_file_or_empty(run / layout::kLive));
    Json json{{"run", text_at(plan, "run_id")},
              {"suite", text_at(plan, "suite")},
              {"ended", live.ended()}};
    if (now.is_object())
      json["progress"] = {{"case", text_at(now, "case")},
                          {"rounds_done", integer_at(now, "rounds_done", 0)},
                          {"rounds_total", integer_at(now, "rounds_total", 0)}};
    return json;
  }

  std::filesystem::path run;
  live::LiveRun live;
  std::string token;
  std::unique_ptr<serve::HttpServer> server;
  serve::WorkerPool workers;  // last: its tasks use the others
};

WebView::WebView(std::filesystem::path run, std::uint16_t port)
    : state_(std::make_unique<State>(std::move(run), port)) {}

WebView::~WebView() = default;

std::string WebView::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", state_->server->port(), state_->token);
}

}  // namespace assay::commands
