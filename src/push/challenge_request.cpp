#include "push/challenge_request.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "http/url.h"
#include "push/tester_connection.h"

namespace assay::push {

namespace {

constexpr const char* kWhere = "--challenge";
constexpr std::size_t kMaxChallengeFile = 64U << 10;

// The tester's answer, {"challenge": {…}}, or just its content.
Challenge challenge_in(const Json& json) {
  const auto inner = json.is_object() ? json.find("challenge") : json.end();
  return fields_from_json<Challenge>(json.is_object() && inner != json.end() ? *inner : json,
                                     kWhere);
}

}  // namespace

Challenge request_challenge(const Tester& tester, const std::string& test,
                            const std::string& case_name, std::chrono::seconds valid) {
  Connection connection(tester, {});
  Json body{{"test", test}, {"valid_s", valid.count()}};
  if (!case_name.empty()) body["case"] = case_name;
  http::Request request;
  request.method = "POST";
  request.path = "/api/v1/challenges";
  request.body = dump_line(body);
  request.set_header("Content-Type", "application/json");
  const Connection::Answer answer = connection.ask(std::move(request));
  if (answer.status != 201) connection.refuse(answer);
  return challenge_in(answer.body);
}

Challenge read_challenge(const ChallengeSource& source) {
  const std::string text(trim(source.text));
  if (text.starts_with('{')) return challenge_in(parse_json(text, kWhere));
  if (text.starts_with("http://") || text.starts_with("https://")) {
    const http::Url url = http::parse_url(text, kWhere);
    const auto path = text.find("/api/v1/challenges/");
    if (path == std::string::npos)
      throw Error(ErrorKind::usage, "not the address of a challenge", kWhere,
                  "it is like https://host:port/api/v1/challenges/ID");
    Connection connection({url.origin, find_token(source.token_file), source.ca_file}, {});
    const Connection::Answer answer = connection.ask("GET", text.substr(path));
    if (answer.status != 200) connection.refuse(answer);
    return challenge_in(answer.body);
  }
  std::error_code ec;
  if (!std::filesystem::is_regular_file(text, ec) ||
      std::filesystem::file_size(text, ec) > kMaxChallengeFile)
    throw Error(ErrorKind::usage, "not a challenge, and not a file with one: " + printable(text),
                kWhere, "'assay challenge TEST --to URL' writes one");
  return challenge_in(parse_json(read_file(text), text));
}

}  // namespace assay::push
