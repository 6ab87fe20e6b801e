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
#include "core/regular_file.h"
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
  std::string carry;      // the beginning of a line that has not ended yet
  bool overlong = false;  // `carry` holds only the last bytes of a line longer than kMaxLine
  bool overlong_token = false;
  bool overlong_open = false;  // text of it was passed on, but not its end
  bool cutting = false;        // the line being parsed is ended by cut()
  bool at_tail = false;        // the line being parsed has no newline in the input

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
      if (on_text) {
        std::string_view text(p, static_cast<std::size_t>(newline - p));
        if (text.ends_with('\r')) text.remove_suffix(1);
        on_text(text, stats.lines, /*ends=*/!cutting);
      }
      p = newline + 1;
    }
  }

  // Passes on the text before, between and after the events of a line.
  void text_beside(const char* from, const char* to) {
    if (!on_text || from == to || (to - from == 1 && *from == '\r')) return;
    on_text({from, static_cast<std::size_t>(to - from)}, stats.lines, /*ends=*/!cutting);
  }

  // `at` follows the line's first token. Returns the beginning of the next line.
  const char* perflog_line(const char* begin, const char* at, const char* limit) {
    const char* newline = nullptr;
    bool bad = false;
    text_beside(begin, at - kToken.size());
    for (;;) {
      const char* const end = scanner.scan(at, limit, event);
      const char* text_from = nullptr;
      // Most lines end with their object, which saves a second pass to find the newline.
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
        text_from = end;
      } else {
        bad = true;  // torn; another writer's event may follow on the same line
      }
      const char* const token = find_token(at, newline);
      if (text_from != nullptr) text_beside(text_from, token);
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
      const std::string line = std::exchange(carry, {});
      keep_overlong(line);
    }
    keep_overlong(bytes);
  }

  // Keeps only the end of an overlong line, since a token may span the seam. Text before the token
  // is passed on.
  void keep_overlong(std::string_view bytes) {
    if (overlong_token) return;
    const auto token_in = [](std::string_view text) {
      const char* const end = text.data() + text.size();
      return static_cast<std::size_t>(find_token(text.data(), end) - text.data());
    };
    constexpr std::size_t kSeam = kToken.size() - 1;
    const std::string seam = carry + std::string(bytes.substr(0, kSeam));
    if (const std::size_t at = token_in(seam); at != seam.size()) {
      overlong_token = true;
      overlong_text(std::string_view(seam).substr(0, at));
    } else if (const std::size_t within = token_in(bytes); within != bytes.size()) {
      overlong_token = true;
      overlong_text(carry);
      overlong_text(bytes.substr(0, within));
    } else if (bytes.size() < kSeam) {
      carry = seam;
      const std::size_t over = carry.size() - std::min(carry.size(), kSeam);
      overlong_text(std::string_view(carry).substr(0, over));
      carry.erase(0, over);
    } else {
      overlong_text(carry);
      overlong_text(bytes.substr(0, bytes.size() - kSeam));
      carry = bytes.substr(bytes.size() - kSeam);
    }
    if (overlong_token) carry.clear();
  }

  void overlong_text(std::string_view text) {
    if (!on_text || text.empty()) return;
    on_text(text, stats.lines + 1, /*ends=*/false);
    overlong_open = true;
  }

  void end_kept_line() {
    if (overlong) {
      ++stats.lines;
      if (carry.ends_with('\r')) carry.pop_back();
      if (on_text && (overlong_open || !overlong_token))
        on_text(carry, stats.lines, /*ends=*/!cutting);
      if (overlong_token) malformed();
    } else {
      carry += '\n';
      lines(carry.data(), carry.data() + carry.size());
    }
    carry.clear();
    overlong = false;
    overlong_token = false;
    overlong_open = false;
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

void Parser::cut() {
  Impl& self = *impl_;
  const bool truncated = self.stats.truncated_tail;
  self.cutting = true;
  finish();
  self.cutting = false;
  self.stats.truncated_tail = truncated;  // the input goes on
}

const ParseStats& Parser::stats() const noexcept {
  return impl_->stats;
}

void feed_file(const std::filesystem::path& path, Parser& parser) {
  const UniqueFd fd = open_regular_file(path);
  if (!fd) throw system_error(ErrorKind::environment, "cannot open the log", path.string(), ENOENT);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  // Uses read() because with mmap() a log truncated meanwhile would raise SIGBUS.
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
}

ParseStats parse_file(const std::filesystem::path& path, const Parser::OnEvent& on_event,
                      const Parser::OnText& on_text) {
  Parser parser(on_event, on_text);
  feed_file(path, parser);
  parser.finish();
  return parser.stats();
}

}  // namespace assay::perflog
