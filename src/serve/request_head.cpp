#include "serve/request_head.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/parse_number.h"
#include "core/text.h"
#include "http/head_syntax.h"

namespace assay::serve {

namespace {

// The parser closes the connection long before; here only memory is bounded.
constexpr std::size_t kMaxLine = 16U << 10;
constexpr std::size_t kMaxHeads = 64;
constexpr const char* kLongTarget = "the address is too long";
constexpr const char* kBareLineEnd = "a line of the request ends without a carriage return";
constexpr const char* kLongHeader = "the headers are too long, or too many";

std::optional<std::uint64_t> chunk_size(std::string_view digits) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  const bool all = error == std::errc() && end == digits.data() + digits.size();
  return all ? std::optional(size) : std::nullopt;
}

}  // namespace

std::string_view code_of(const HeadFault& fault) {
  switch (fault.status) {
    case 413:
    case 414:
    case 431:
      return "too_large";
    case 417:
    case 501:
      return "not_supported";
    case 505:
      return "bad_version";
    default:
      return "bad_request";
  }
}

void RequestHeads::fault(int status, std::string text) {
  if (current_.status == 0) current_ = {status, std::move(text)};
}

void RequestHeads::body_fault(std::string text) {
  if (!faults_.empty() && faults_.back().status == 0)
    faults_.back() = {400, std::move(text), faults_.back().old};
  state_ = State::lost;
}

std::optional<HeadFault> RequestHeads::take_expectation() {
  if (!std::exchange(waits_, false) || faults_.size() != 1) return std::nullopt;
  return faults_.front();
}

HeadFault RequestHeads::next_fault() {
  if (faults_.empty()) return {};
  HeadFault out = std::move(faults_.front());
  faults_.pop_front();
  return out;
}

HeadFault RequestHeads::given_up() const {
  if (!faults_.empty()) {
    if (faults_.front().status != 0) return faults_.front();
    if (state_ == State::body) return {413, "the body is too large"};
    return {400, "the body is not valid, or too large"};
  }
  if (state_ == State::lost) return {};
  if (state_ == State::body) return {413, "the body is too large"};
  if (state_ == State::request_line) {
    if (skipping_ || line_.size() > kMaxTarget) return {414, kLongTarget};
    return line_.empty() ? HeadFault{} : HeadFault{400, "the request is not HTTP/1.1"};
  }
  if (current_.status != 0) return current_;
  if (skipping_ || line_.size() > kMaxHeaderName) return {431, kLongHeader};
  return {400, "the head of the request is not valid"};
}

void RequestHeads::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    waits_ = false;
    if (state_ == State::lost) return;
    if (state_ == State::body || state_ == State::chunk) {
      const auto taken =
          static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, bytes.size()));
      bytes.remove_prefix(taken);
      body_left_ -= taken;
      if (body_left_ == 0) state_ = state_ == State::body ? State::request_line : State::chunk_end;
      continue;
    }
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > kMaxLine) skipping_ = true;
    if (!skipping_) line_ += part;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    take_line();
    line_.clear();
    skipping_ = false;
  }
}

void RequestHeads::take_line() {
  std::string_view line = line_;
  const bool whole = line.ends_with('\r');
  if (whole) line.remove_suffix(1);
  if (state_ != State::request_line && state_ != State::headers) {
    take_chunk_line(line, whole);
    return;
  }
  if (state_ == State::request_line) {
    if (line.empty() && !skipping_) return;  // between requests
    const std::size_t version = line.rfind(' ');
    const std::string_view protocol =
        version == std::string_view::npos ? std::string_view() : line.substr(version + 1);
    old_ = protocol == "HTTP/1.0";
    hosts_ = lengths_ = 0;
    headers_ = 0;
    chunked_ = false;
    body_left_ = 0;
    expects_ = false;
    current_ = {};
    if (!whole && !skipping_) fault(400, kBareLineEnd);
    const std::size_t target = line.find(' ');
    if (skipping_ || (target != version && version - target - 1 > kMaxTarget))
      fault(414, kLongTarget);
    else if (protocol != "HTTP/1.1" && !old_)
      fault(505, "the request is not HTTP/1.1");
    else if (std::ranges::count(line, ' ') != 2 || http::has_control(line) ||
             line.find('\t') != std::string_view::npos)
      fault(400, "the request line is not 'METHOD TARGET HTTP/1.1'");
    state_ = State::headers;
    return;
  }
  if (!whole && !skipping_) fault(400, kBareLineEnd);
  if (line.empty() && !skipping_)
    end_head();
  else
    take_header(line);
}

void RequestHeads::take_chunk_line(std::string_view line, bool whole) {
  if (!whole || skipping_ || http::has_control(line)) {
    body_fault("a line of the chunked body is not valid");
  } else if (state_ == State::chunk_end) {
    if (line.empty())
      state_ = State::chunk_size;
    else
      body_fault("a chunk of the body does not end where its size says");
  } else if (state_ == State::chunk_size) {
    const auto size = chunk_size(line.substr(0, line.find(';')));
    if (!size) {
      body_fault("the size of a chunk is not a hexadecimal number");
    } else {
      body_left_ = *size;
      state_ = *size == 0 ? State::trailers : State::chunk;
    }
  } else if (line.empty()) {
    state_ = State::lost;  // the body has ended
  } else if (++headers_ > kMaxHeaders) {
    body_fault(kLongHeader);
  }
}

void RequestHeads::take_header(std::string_view line) {
  if (++headers_ > kMaxHeaders || skipping_) {
    fault(431, kLongHeader);
    return;
  }
  if (line.front() == ' ' || line.front() == '\t') {
    fault(400, "a header line is folded");
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !http::is_token(name)) {
    fault(400, "the name of a header is not valid: nothing may stand before its colon");
    return;
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (name.size() > kMaxHeaderName || value.size() > kMaxHeaderValue) fault(431, kLongHeader);
  if (http::has_control(value)) fault(400, "a header has control characters");
  const std::string lower = to_lower(name);
  if (lower == "host") {
    ++hosts_;
    if (value.empty() || value.find_first_of(" \t,/") != std::string_view::npos)
      fault(400, "the Host header is not valid");
  }
  if (lower == "content-length") {
    if (++lengths_ > 1) fault(400, "the request has several Content-Length headers");
    const auto length = parse_number<std::uint64_t>(value);
    if (!length)
      fault(400, "the Content-Length is not a whole number");
    else
      body_left_ = *length;
  }
  if (lower == "transfer-encoding") take_transfer_encoding(value);
  if (lower == "expect" && !old_) {
    expects_ = true;
    if (to_lower(value) != "100-continue") fault(417, "only 'Expect: 100-continue' is known");
  }
}

void RequestHeads::take_transfer_encoding(std::string_view value) {
  if (old_) fault(400, "HTTP/1.0 has no Transfer-Encoding");
  if (chunked_) fault(400, "the request has several Transfer-Encoding headers");
  if (to_lower(value) != "chunked")
    fault(501, "the only Transfer-Encoding that is known is chunked");
  chunked_ = true;
}

void RequestHeads::end_head() {
  if (hosts_ == 0 && !old_) fault(400, "the request has no Host header");
  if (hosts_ > 1) fault(400, "the request has several Host headers");
  if (chunked_ && lengths_ > 0)
    fault(400, "the request has a Content-Length and a Transfer-Encoding");
  if (faults_.size() >= kMaxHeads) {
    state_ = State::lost;
    return;
  }
  // Where a doubtful request ends is doubtful, too.
  waits_ = expects_ && (chunked_ || body_left_ > 0);
  const bool doubtful = current_.status != 0;
  current_.old = old_;
  faults_.push_back(std::exchange(current_, {}));
  headers_ = 0;
  if (doubtful)
    state_ = State::lost;
  else if (chunked_)
    state_ = State::chunk_size;
  else
    state_ = body_left_ > 0 ? State::body : State::request_line;
}

}  // namespace assay::serve
