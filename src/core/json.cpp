#include "core/json.h"

#include "core/error.h"
#include "core/json_error.h"

namespace assay {

Json parse_json(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    const JsonFlaw flaw = flaw_of(e, text);
    throw Error(ErrorKind::config, "not valid JSON: " + flaw.what, flaw.place(where),
                "the file may be truncated; restore it, or run again");
  }
}

Json parse_json_or_null(std::string_view text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json() : value;
}

std::string dump_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump_pretty(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
