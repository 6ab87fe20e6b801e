#include "http/url.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::http {

namespace {

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_encode(std::string_view text, bool keep_slash) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (unreserved(c) || (keep_slash && c == '/')) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

std::string encode_query(const Query& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += percent_encode(name) + "=" + percent_encode(value);
  }
  return out;
}

Query parse_query(std::string_view text) {
  Query query;
  if (text.empty()) return query;
  for (const std::string_view part : split(text, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    query.emplace_back(
        percent_decode(part.substr(0, equals)),
        equals == std::string_view::npos ? "" : percent_decode(part.substr(equals + 1)));
  }
  return query;
}

Query parse_form(std::string_view text) {
  std::string blanks(text);
  std::ranges::replace(blanks, '+', ' ');
  return parse_query(blanks);
}

Url parse_url(std::string_view text, const std::string& where) {
  const auto wrong = [&](std::string_view why) {
    // The text may contain a password, so it is not repeated.
    return Error(ErrorKind::config, fmt::format("the URL {}", why), where,
                 "write it as https://host[:port][/path]");
  };
  std::string scheme = "https";
  if (const std::size_t mark = text.find("://"); mark != std::string_view::npos) {
    scheme = to_lower(text.substr(0, mark));
    text.remove_prefix(mark + 3);
  }
  if (scheme != "https" && scheme != "http") throw wrong("is neither http nor https");
  const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
  const std::string_view authority = text.substr(0, end);
  if (authority.find('@') != std::string_view::npos)
    throw wrong("holds a user name or a password, which do not belong there");
  const bool harmless = std::all_of(authority.begin(), authority.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ||
           c == ':' || c == '[' || c == ']';
  });
  if (authority.empty() || authority.front() == ':' || !harmless) throw wrong("has no valid host");
  if (const std::size_t colon = authority.rfind(':');
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
    const auto port = parse_number<int>(authority.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) throw wrong("has a port that is none (1 to 65535)");
  }
  Url url;
  url.host = to_lower(authority);
  const std::string own_port = scheme == "https" ? ":443" : ":80";
  if (url.host.ends_with(own_port)) url.host.resize(url.host.size() - own_port.size());
  url.origin = scheme + "://" + url.host;
  std::string_view rest = text.substr(end);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t question = rest.find('?');
  url.path = percent_decode(rest.substr(0, question));
  if (url.path.empty()) url.path = "/";
  if (question != std::string_view::npos) url.query = parse_query(rest.substr(question + 1));
  return url;
}

}  // namespace assay::http
