#include "agent/messages.h"

#include "core/error.h"
#include "core/text.h"

namespace assay::agent {

namespace {

template <class Message>
Json encode(const Message& message) {
  return std::visit(
      []<class T>(const T& alternative) {
        Json json{{"type", T::kType}};
        json.update(fields_to_json(alternative));
        return json;
      },
      message);
}

template <class... T>
std::variant<T...> decode(const Json& json, const char* what,
                          std::type_identity<std::variant<T...>> /*all*/) {
  const auto found = json.find("type");
  const std::string type =
      found != json.end() && found->is_string() ? found->template get<std::string>() : "";
  std::optional<std::variant<T...>> out;
  try {
    (void)((type == T::kType && (out = fields_from_json<T>(json, type), true)) || ...);
  } catch (const Error& error) {
    throw Error(ErrorKind::internal, std::string("malformed ") + what + ": " + error.what());
  }
  if (!out)
    throw Error(ErrorKind::internal,
                std::string("unknown ") + what + " '" + printable(ellipsize(type, 100)) + "'");
  return std::move(*out);
}

}  // namespace

Json to_json(const Report& report) {
  return encode(report);
}

Json to_json(const Request& request) {
  return encode(request);
}

Report report_from_json(const Json& json) {
  return decode(json, "report", std::type_identity<Report>{});
}

Request request_from_json(const Json& json) {
  Request request = decode(json, "request", std::type_identity<Request>{});
  if (const auto* round = std::get_if<RoundRequest>(&request))
    for (const RankRequest& rank : round->ranks)
      if (rank.argv.empty()) throw Error(ErrorKind::internal, "a rank without a command");
  return request;
}

}  // namespace assay::agent
