// Any bytes, cut anywhere: the parser must not crash, must not depend on the cut, and the cache of
// line shapes must not change the result. The first byte chooses the size of the pieces.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "perflog/finished.h"
#include "perflog/line_scanner.h"
#include "perflog/parser.h"
#include "perflog/progress.h"

namespace {

using namespace assay::perflog;

void append(std::string& out, const Event& event) {
  char text[200];
  std::snprintf(text, sizeof text, "%d %lld %lld %lld %llu ", static_cast<int>(event.kind),
                static_cast<long long>(event.time_ms), static_cast<long long>(event.mono_us),
                static_cast<long long>(event.step), static_cast<unsigned long long>(event.line));
  out += text;
  out += event.name;
  for (const Field& field : event.fields) {
    std::snprintf(text, sizeof text, " %d %.17g ", static_cast<int>(field.type), field.number);
    out += text;
    out += field.key;
    out += '=';
    out += field.text;
  }
  out += '\n';
}

std::string parse(std::string_view input, std::size_t piece) {
  std::string out;
  bool begun = false;
  Parser parser(
      [&](const Event& event) {
        append(out, event);
        if (event.kind == EventKind::finished) static_cast<void>(summarize_finished(event));
      },
      [&](std::string_view text, std::uint64_t number, bool ends) {
        if (!begun) out += std::to_string(number) + ":";
        begun = !ends;
        out += text;
        if (ends) out += '\n';
      });
  ProgressScanner progress;
  for (std::size_t at = 0; at < input.size(); at += piece) {
    const std::string_view part = input.substr(at, piece);
    const std::vector<char> copy(part.begin(), part.end());
    parser.feed({copy.data(), copy.size()});
    progress.feed({copy.data(), copy.size()});
  }
  parser.finish();
  const ParseStats& stats = parser.stats();
  out += std::to_string(stats.lines) + " " + std::to_string(stats.malformed) + " " +
         std::to_string(stats.first_malformed) + " " + std::to_string(stats.truncated_tail);
  out += " " + std::to_string(progress.lines()) + " " + std::to_string(progress.steps()) + " " +
         std::to_string(progress.last_step().value_or(-1));
  return out;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  require(parse(input, input.size()) == parse(input, 1 + data[0] % 64));

  detail::LineScanner cached;
  detail::LineScanner fresh;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t newline = input.find('\n', at);
    std::string line(input.substr(at, newline - at));
    line += '\n';
    Event a;
    Event b;
    const char* const end = line.data() + line.size();
    for (int pass = 0; pass < 2; ++pass) {  // the second time from the cache
      const char* const stop = cached.scan(line.data(), end, a);
      require(stop == fresh.scan_fresh(line.data(), end, b));
      if (stop == nullptr) continue;
      std::string left;
      std::string right;
      append(left, a);
      append(right, b);
      require(left == right);
    }
    if (newline == std::string_view::npos) break;
    at = newline + 1;
  }
  return 0;
}
