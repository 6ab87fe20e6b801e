#pragma once

#include <exception>
#include <string>
#include <utility>

#include "core/json.h"
#include "serve/http_server.h"

namespace assay::serve {

/// Thrown where a request is not granted; becomes {"error": {"code", "message", "advice"}}.
struct Refusal : std::exception {
  Refusal(int with_status, std::string with_code, std::string with_message,
          std::string with_advice = {})
      : status(with_status),
        code(std::move(with_code)),
        message(std::move(with_message)),
        advice(std::move(with_advice)) {}
  [[nodiscard]] const char* what() const noexcept override { return message.c_str(); }

  int status;
  std::string code;  ///< for programs: "wrong_offset"
  std::string message;
  std::string advice;
  Json more = Json::object();     ///< beside "error": {"received": 4096}
  Json problems = Json::array();  ///< in "error": [{"path", "message"}]; left out when empty
  int retry_after_s = 0;          ///< 0: no such header
  std::string allow;              ///< methods that are possible; empty: no such header
};

[[nodiscard]] HttpResponse response_of(const Refusal& refusal);

/// The body of a request: an object of at most `max` bytes, not nested deeper than 32, without
/// numbers that a double cannot hold. Throws Refusal 400 or 413.
[[nodiscard]] Json parse_body(const std::string& body, std::size_t max);

/// A text field that may be missing: at most `max` bytes of UTF-8 without control characters.
/// Throws Refusal 400.
[[nodiscard]] std::string text_field(const Json& object, const std::string& key, std::size_t max);

}  // namespace assay::serve
