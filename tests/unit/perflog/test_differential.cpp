// The parser against independent readers of the same lines: the scanner without its cache of line
// shapes, and nlohmann-json for everything that is JSON.

#include <random>

#include <gtest/gtest.h>

#include "collect_events.h"
#include "core/json.h"
#include "perflog/line_scanner.h"

namespace assay::perflog {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }

  std::string number() {
    char text[64];
    switch (below(7)) {
      case 0:
        return std::to_string(below(1000));
      case 1:
        return std::to_string(static_cast<std::int64_t>(random_()));
      case 2:
        return std::to_string(1794704396000 + below(1000000));
      case 3:
        return "-" + std::to_string(below(100)) + "." + std::to_string(below(1000000));
      case 4:
        std::snprintf(text, sizeof text, "%.17g", std::ldexp(static_cast<double>(random_()), -62));
        return text;
      case 5:
        std::snprintf(text, sizeof text, "%.6e", std::ldexp(static_cast<double>(random_()), -80));
        return text;
      default:
        return "0";
    }
  }

  std::string string() {
    static const char* const pieces[] = {
        "a",   "loss", "é", "\\\"", "\\\\",           "\\n",       "\\u00e9",         "[", "{",
        "x y", ":",    ",", "step", "\\ud83d\\ude00", "[PerfLog]", "0123456789abcdef"};
    std::string out = "\"";
    for (std::size_t i = below(4); i > 0; --i) out += pieces[below(std::size(pieces))];
    return out + "\"";
  }

  std::string key() {
    static const char* const keys[] = {"event",   "value",        "metadata", "step", "time_ms",
                                       "mono_us", "global_steps", "loss",     "lr",   "other"};
    return below(6) == 0 ? string() : "\"" + std::string(keys[below(std::size(keys))]) + "\"";
  }

  std::string space() {
    return std::string(below(8) == 0 ? below(3) : 0, below(2) == 0 ? ' ' : '\t');
  }

  std::string value(int depth) {
    const std::size_t kind = below(depth > 4 ? 6 : 9);
    if (kind < 3) return number();
    if (kind == 3) return string();
    if (kind == 4) return below(2) == 0 ? "true" : "false";
    if (kind == 5) return "null";
    if (kind == 6) {
      std::string out = "[" + space();
      for (std::size_t i = below(4); i > 0; --i)
        out += value(depth + 1) + space() + (i > 1 ? "," + space() : "");
      return out + "]";
    }
    return object(depth + 1);
  }

  std::string object(int depth) {
    std::string out = "{" + space();
    for (std::size_t i = below(5); i > 0; --i)
      out +=
          key() + space() + ":" + space() + value(depth) + space() + (i > 1 ? "," + space() : "");
    return out + "}";
  }

  // A line as a trainer writes it: one of a few shapes with other numbers.
  std::string step_line() {
    std::string out = "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": " + number();
    if (below(20) == 0) out += ", \"extra\": " + value(2);
    out += ", \"samples\": " + number() + "}, \"step\": " + number();
    return out + ", \"metadata\": {\"time_ms\": " + number() + ", \"mono_us\": " + number() + "}}";
  }

  std::string mutate(std::string text) {
    static const char bytes[] = "{}[]\",:\\0123456789.eE+-ntfaINul \t\r";
    for (std::size_t i = 1 + below(3); i > 0 && !text.empty(); --i) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0:
          text[at] = bytes[below(sizeof bytes - 1)];
          break;
        case 1:
          text.erase(at, 1 + below(4));
          break;
        default:
          text.insert(at, 1, bytes[below(sizeof bytes - 1)]);
      }
    }
    return text;
  }

  std::string line() {
    switch (below(6)) {
      case 0:
        return "[PerfLog] " + object(0);
      case 1:
        return mutate("[PerfLog] " + object(0));
      case 2:
        return mutate(step_line());
      case 3:
        return step_line() + (below(4) == 0 ? step_line() : "");
      case 4:
        return "text " + string();
      default:
        return step_line();
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(Differential, TheShapeCacheChangesNothing) {
  detail::LineScanner cached;
  detail::LineScanner fresh;
  Generator generate(1);
  std::size_t accepted = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::string line = generate.line() + "\n";
    const std::vector<char> bytes(line.begin(), line.end());
    const char* const end = bytes.data() + bytes.size();
    const char* const at = bytes.data() + std::min<std::size_t>(9, bytes.size() - 1);
    Event a;
    Event b;
    const char* const cached_end = cached.scan(at, end, a);
    ASSERT_EQ(cached_end, fresh.scan_fresh(at, end, b)) << line;
    if (cached_end == nullptr) continue;
    ++accepted;
    ASSERT_EQ(keep(a), keep(b)) << line;
  }
  EXPECT_GT(accepted, 20000U);
}

TEST(Differential, HowTheInputIsCutMakesNoDifference) {
  Generator generate(2);
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (std::size_t lines = generate.below(30); lines > 0; --lines)
      text += generate.line() + (generate.below(5) == 0 ? "\r\n" : "\n");
    if (generate.below(2) == 0) text += generate.line();
    const Collected whole = collect(text);
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 16U, 61U, 250U}) {
      const Collected cut = collect(text, piece);
      ASSERT_EQ(cut.events, whole.events) << text;
      ASSERT_EQ(cut.text, whole.text) << text;
      ASSERT_EQ(cut.stats.malformed, whole.stats.malformed) << text;
      ASSERT_EQ(cut.stats.lines, whole.stats.lines) << text;
      ASSERT_EQ(cut.stats.truncated_tail, whole.stats.truncated_tail) << text;
    }
  }
}

// The fields as nlohmann-json sees them; keys that occur twice are in the DOM only once, so such
// lines are not compared.
void list(const Json& object, const std::string& outer, int level, std::vector<std::string>& out) {
  for (const auto& [key, value] : object.items()) {
    if (level == 0 && key == "metadata" && value.is_object()) continue;
    if (level == 0 && key == "event" && value.is_string()) continue;
    const std::string name = level < 2 ? key : outer + "." + key;
    Field field{name, Field::Type::null, 0, {}};
    if (value.is_object()) {
      if (level == 0 && key == "value")
        list(value, "", 1, out);
      else if (level < 2)
        list(value, key, 2, out);
      continue;
    }
    if (value.is_array()) continue;
    if (value.is_number()) {
      field.type = Field::Type::number;
      field.number = value.get<double>();
    } else if (value.is_boolean()) {
      field.type = Field::Type::boolean;
      field.number = value.get<bool>() ? 1 : 0;
    } else if (value.is_string()) {
      out.push_back(name + " is text");
      continue;
    }
    out.push_back(describe(field));
  }
}

bool has_duplicates(const std::string& text) {
  std::vector<std::vector<std::string>> keys;
  bool found = false;
  const Json::parser_callback_t callback = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      for (const std::string& other : keys.back()) found = found || other == key;
      keys.back().push_back(key);
    }
    return true;
  };
  return !Json::parse(text, callback).is_null() && found;
}

TEST(Differential, ReadsAllThatIsJsonAsNlohmannDoes) {
  Generator generate(3);
  std::size_t compared = 0;
  std::size_t rejected = 0;
  for (int i = 0; i < 40000; ++i) {
    const std::string line = generate.line();
    if (!line.starts_with("[PerfLog]")) continue;
    const std::string text = line.substr(9);
    const bool accepted = Json::accept(text);
    std::vector<char> bytes(line.begin(), line.end());
    bytes.push_back('\n');
    detail::LineScanner scanner;
    Event event;
    const char* const end = scanner.scan(bytes.data() + 9, bytes.data() + bytes.size(), event);
    if (!accepted) {
      ++rejected;
      continue;  // more is accepted than JSON: NaN, trailing text, control characters
    }
    const Json document = Json::parse(text);
    if (!document.is_object()) {
      ASSERT_EQ(end, nullptr) << line;
      continue;
    }
    ASSERT_NE(end, nullptr) << line;
    if (has_duplicates(text)) continue;
    ++compared;
    std::vector<std::string> expected;
    list(document, "", 0, expected);
    std::vector<std::string> got;
    for (const Field& field : event.fields)
      got.push_back(field.type == Field::Type::text ? std::string(field.key) + " is text"
                                                    : describe(field));
    ASSERT_EQ(got, expected) << line;
    if (document.contains("event") && document["event"].is_string()) {
      ASSERT_EQ(event.name, document["event"].get<std::string>());
    }
  }
  EXPECT_GT(compared, 10000U);
  EXPECT_GT(rejected, 1000U);
}

}  // namespace
}  // namespace assay::perflog
