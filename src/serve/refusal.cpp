#include "serve/refusal.h"

#include <set>

#include <fmt/format.h>

#include "core/json_error.h"
#include "core/text.h"

namespace assay::serve {

namespace {

constexpr int kMaxNesting = 32;

// Checked before parsing: the parser would build the whole value first.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxNesting) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

HttpResponse response_of(const Refusal& refusal) {
  HttpResponse response;
  response.status = refusal.status;
  Json body = {{"error", {{"code", refusal.code}, {"message", refusal.message}}}};
  if (!refusal.advice.empty()) body["error"]["advice"] = refusal.advice;
  if (!refusal.problems.empty()) body["error"]["problems"] = refusal.problems;
  body.update(refusal.more);
  response.body = dump_pretty(body);
  if (refusal.retry_after_s > 0)
    response.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
  if (!refusal.allow.empty()) response.headers.emplace_back("Allow", refusal.allow);
  return response;
}

namespace {

// An object keeps its members in the order of the text and is searched for each new one: what a
// request may hold is bounded before that takes long.
constexpr std::size_t kMaxMembers = 5000;

Json parse_bounded(const std::string& text) {
  std::vector<std::set<std::string>> members;  // of the objects that are open
  return Json::parse(text, [&](int /*depth*/, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) members.emplace_back();
    if (event == Event::object_end && !members.empty()) members.pop_back();
    if (event != Event::key || members.empty()) return true;
    const auto& key = value.get_ref<const std::string&>();
    // Which of the two counts would be a guess.
    if (!members.back().insert(key).second)
      throw Refusal(400, "bad_json",
                    "the body has '" + ellipsize(printable(key), 64) + "' twice in one object");
    if (members.back().size() > kMaxMembers)
      throw Refusal(413, "too_large",
                    fmt::format("an object of the body has more than {} members", kMaxMembers));
    return true;
  });
}

}  // namespace

Json parse_body(const std::string& body, std::size_t max) {
  if (body.size() > max)
    throw Refusal(413, "too_large", fmt::format("the body has more than {} bytes", max));
  if (too_deep(body))
    throw Refusal(400, "bad_json", fmt::format("the JSON is nested deeper than {}", kMaxNesting));
  Json json;
  try {
    json = parse_bounded(body);
  } catch (const Json::exception& error) {
    throw Refusal(400, "bad_json",
                  "the body is not valid JSON: " + flaw_of(error, body).sentence());
  }
  if (!json.is_object()) throw Refusal(400, "bad_json", "the body must be a JSON object");
  return json;
}

std::string text_field(const Json& object, const std::string& key, std::size_t max) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) throw Refusal(400, "bad_field", "'" + key + "' must be text");
  std::string text = found->get<std::string>();
  if (text.size() > max)
    throw Refusal(400, "bad_field", fmt::format("'{}' has more than {} bytes", key, max));
  if (printable(text) != text || text.find('\n') != std::string::npos)
    throw Refusal(400, "bad_field", "'" + key + "' has control characters");
  return text;
}

}  // namespace assay::serve
