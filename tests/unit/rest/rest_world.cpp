#include "rest_world.h"

#include <regex>

#include "core/time.h"
#include "http/url.h"

namespace assay::rest {

RestWorld::RestWorld() {
  const std::int64_t now_ns = wall_now_ns();
  accounts_.put({.name = "root", .role = jobs::Role::admin}, now_ns);
  for (const char* name : {"ann", "bob", "eve"}) accounts_.put({.name = name}, now_ns);
  accounts_.put({.name = "vic", .role = jobs::Role::viewer}, now_ns);
  accounts_.set_members("vision", {"root", "ann", "bob", "vic"});
  accounts_.set_members("speech", {"eve"});
  for (const char* name : {"root", "ann", "bob", "eve", "vic"})
    tokens_[name] = accounts_.make_token(name, "test", 0, now_ns);
  platform_.start();
}

serve::HttpResponse RestWorld::ask(const Asked& asked) {
  serve::HttpRequest request;
  request.method = asked.method;
  const auto question = asked.path.find('?');
  request.path = asked.path.substr(0, question);
  if (question != std::string::npos) request.query = asked.path.substr(question + 1);
  request.address = address_;
  request.headers = {{"host", "127.0.0.1:8480"}};
  if (!asked.as.empty()) request.headers["authorization"] = "Bearer " + tokens_.at(asked.as);
  if (!asked.body.is_null()) {
    request.headers["content-type"] = "application/json";
    request.body = dump_line(asked.body);
  }
  if (!asked.raw.empty()) request.body = asked.raw;
  for (const auto& [name, value] : asked.headers) request.headers[name] = value;
  for (const std::string& pattern : Rest::patterns()) {
    std::smatch found;
    if (!std::regex_match(request.path, found, std::regex(pattern))) continue;
    request.route = pattern;
    for (std::size_t i = 1; i < found.size(); ++i)
      request.parameters.push_back(http::percent_decode(found[i].str()));
    break;
  }
  serve::HttpResponse out;
  std::string who;
  rest_.handle(request, who, [&](serve::HttpResponse response) { out = std::move(response); });
  return out;
}

Json RestWorld::json(const Asked& asked) {
  return parse_json(ask(asked).body, asked.path);
}

Json RestWorld::submission(const std::string& name) {
  return {{"name", name}, {"command", "sleep 1"}};
}

jobs::JobId RestWorld::job_of(const std::string& owner, const std::string& team) {
  jobs::NewJob job;
  job.owner = owner;
  job.team = team;
  job.submission.name = "job of " + owner;
  job.submission.command = "sleep 1";
  return platform_.submit(job).front();
}

std::string RestWorld::header(const serve::HttpResponse& response, const std::string& name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return {};
}

}  // namespace assay::rest
