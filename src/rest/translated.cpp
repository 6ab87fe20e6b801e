#include "rest/translated.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/json.h"
#include "core/json_access.h"
#include "page/shown_plan.h"

namespace assay::rest {

namespace {

using namespace std::string_view_literals;

// The names of texts for people. Names of jobs and nodes, commands, logs and reasons that somebody
// gave are called otherwise.
constexpr std::array kTexts{"words"sv,   "message"sv, "advice"sv,
                            "pending"sv, "trouble"sv, "waiting"sv};
// Lists of that size are data.
constexpr std::size_t kMostBytes = 4U << 20;

void translate_in(Json& json, lang::Language language) {
  if (!json.is_object() && !json.is_array()) return;
  for (auto entry = json.begin(); entry != json.end(); ++entry) {
    Json& value = *entry;
    if (!value.is_string()) {
      translate_in(value, language);
      continue;
    }
    if (!json.is_object()) continue;
    if (entry.key() == "plan")
      value = page::plan_in(language, value.get_ref<const std::string&>());
    else if (std::ranges::find(kTexts, entry.key()) != kTexts.end())
      value = lang::in_language(language, value.get_ref<const std::string&>());
  }
}

}  // namespace

void translate(serve::HttpResponse& response, lang::Language language) {
  if (language == lang::Language::english || response.type != "application/json" ||
      response.body.size() > kMostBytes)
    return;
  Json json = parse_json_or_null(response.body);
  if (json.is_null()) return;
  translate_in(json, language);
  response.body = dump_line(json) + "\n";
}

}  // namespace assay::rest
