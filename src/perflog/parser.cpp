#include "perflog/parser.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "perflog/line_scanner.h"
#include "perflog/token.h"

namespace assay::perflog {
namespace {

using detail::find_token;
using detail::kToken;

// Small enough to stay in the second-level cache between read() and the scanner.
constexpr std::size_t kBlock = std::size_t{256} << 10;

const char* find_newline(const char* begin, const char* end) noexcept {
  const void* found = std::memchr(begin, '\n', static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace

struct Parser::Impl {
  OnEvent on_event;
  OnText on_text;
  ParseStats stats;
  detail::LineScanner scanner;
  Event event;
  std::string carry;      // the beginning of a line whose end has not come yet
  bool overlong = false;  // `carry` holds only the last bytes of a line longer than kMaxLine
  bool overlong_token = false;
  bool at_tail = false;  // the line being parsed has no newline in the input

  void malformed() {
    if (at_tail) {
      stats.truncated_tail = true;
      return;
    }
    ++stats.malformed;
    if (stats.first_malformed == 0) stats.first_malformed = stats.lines;
  }

  // Parses whole lines; limit[-1] is '\n'.
  void lines(const char* p, const char* limit) {
    while (p != limit) {
      ++stats.lines;
      if (limit - p > static_cast<std::ptrdiff_t>(kToken.size()) &&
          std::memcmp(p, kToken.data(), kToken.size()) == 0) {
        p = perflog_line(p, p + kToken.size(), limit);
        continue;
      }
      const char* const newline = find_newline(p, limit);
      const char* const token = find_token(p, newline);
      if (token != newline) {
        p = perflog_line(p, token + kToken.size(), limit);
        continue;
      }
      if (at_tail && detail::token_prefix_at_end(p, newline) >= 2) stats.truncated_tail = true;
      if (on_text && newline - p <= static_cast<std::ptrdiff_t>(kMaxLine)) {
        std::string_view text(p, static_cast<std::size_t>(newline - p));
        if (text.ends_with('\r')) text.remove_suffix(1);
        on_text(text, stats.lines);
      }
      p = newline + 1;
    }
  }

  // `at` follows the line's first token. Gives the beginning of the next line.
  const char* perflog_line(const char* begin, const char* at, const char* limit) {
    const char* newline = nullptr;
    bool bad = false;
    for (;;) {
      const char* const end = scanner.scan(at, limit, event);
      // Most lines end with their object: no second pass to find the newline.
      if (newline == nullptr)
        newline = end != nullptr && *end == '\n' ? end : find_newline(end ? end : at, limit);
      if (newline - begin > static_cast<std::ptrdiff_t>(kMaxLine)) {
        bad = true;
        break;
      }
      if (end != nullptr) {
        event.line = stats.lines;
        ++stats.events;
        on_event(event);
        at = end;
      } else {
        bad = true;  // torn; a later writer's event may follow on the same line
      }
      const char* const token = find_token(at, newline);
      if (token == newline) break;
      at = token + kToken.size();
    }
    if (bad) malformed();
    return newline + 1;
  }

  // Adds bytes that do not end the line.
  void keep(std::string_view bytes) {
    if (!overlong && carry.size() + bytes.size() <= kMaxLine) {
      carry += bytes;
      return;
    }
    if (!overlong) {
      overlong = true;
      overlong_token =
          find_token(carry.data(), carry.data() + carry.size()) != carry.data() + carry.size();
      carry.erase(0, carry.size() - std::min(carry.size(), kToken.size() - 1));
    }
    if (overlong_token) return;
    // A token may lie across the seam.
    const std::size_t overlap = std::min(bytes.size(), kToken.size() - 1);
    carry += bytes.substr(0, overlap);
    const auto holds = [](std::string_view text) {
      const char* const end = text.data() + text.size();
      return find_token(text.data(), end) != end;
    };
    overlong_token = holds(carry) || holds(bytes);
    if (bytes.size() >= kToken.size() - 1) carry = bytes.substr(bytes.size() - overlap);
    if (carry.size() > kToken.size() - 1) carry.erase(0, carry.size() - (kToken.size() - 1));
  }

  void end_kept_line() {
    if (overlong) {
      ++stats.lines;
      if (overlong_token) malformed();
    } else {
      carry += '\n';
      lines(carry.data(), carry.data() + carry.size());
    }
    carry.clear();
    overlong = false;
    overlong_token = false;
  }
};

Parser::Parser(OnEvent on_event, OnText on_text) : impl_(std::make_unique<Impl>()) {
  impl_->on_event = on_event ? std::move(on_event) : [](const Event&) {};
  impl_->on_text = std::move(on_text);
}

Parser::~Parser() = default;

void Parser::feed(std::string_view bytes) {
  Impl& self = *impl_;
  self.stats.bytes += bytes.size();
  if (bytes.empty()) return;
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  if (!self.carry.empty() || self.overlong) {
    const char* const newline = find_newline(p, end);
    self.keep({p, static_cast<std::size_t>(newline - p)});
    if (newline == end) return;
    self.end_kept_line();
    p = newline + 1;
  }
  const void* last = p == end ? nullptr : memrchr(p, '\n', static_cast<std::size_t>(end - p));
  if (last != nullptr) {
    const char* const after = static_cast<const char*>(last) + 1;
    self.lines(p, after);
    p = after;
  }
  if (p != end) self.keep({p, static_cast<std::size_t>(end - p)});
}

void Parser::finish() {
  Impl& self = *impl_;
  if (self.carry.empty() && !self.overlong) return;
  self.at_tail = true;
  self.end_kept_line();
  self.at_tail = false;
}

const ParseStats& Parser::stats() const noexcept {
  return impl_->stats;
}

ParseStats parse_file(const std::filesystem::path& path, const Parser::OnEvent& on_event,
                      const Parser::OnText& on_text) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot open the log", path.string(), errno);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  Parser parser(on_event, on_text);
  // read() and not mmap(): a log that is truncated meanwhile must not raise SIGBUS.
  std::vector<char> block(kBlock);
  for (;;) {
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error(ErrorKind::environment, "cannot read the log", path.string(), errno);
    }
    if (n == 0) break;
    parser.feed({block.data(), static_cast<std::size_t>(n)});
  }
  parser.finish();
  return parser.stats();
}

}  // namespace assay::perflog
