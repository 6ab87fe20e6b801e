#include "door/body_end.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace assay::door {

namespace {

constexpr std::size_t kMaxLine = 8192;

Error bad_chunk() {
  return {ErrorKind::config, "the answer's chunks are damaged"};
}

}  // namespace

// An incomplete line stays in line_.
void BodyEnd::take_line() {
  if (line_.ends_with('\r')) line_.pop_back();
  switch (chunk_) {
    case Chunk::size: {
      const std::string_view digits = trim(std::string_view(line_).substr(0, line_.find(';')));
      const auto [end, ec] =
          std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
      if (ec != std::errc() || digits.empty() || end != digits.data() + digits.size() ||
          left_ > (std::uint64_t{1} << 60))
        throw bad_chunk();
      chunk_ = Chunk::data;
      done_ = left_ == 0;
      break;
    }
    case Chunk::data_end:
      if (!line_.empty()) throw bad_chunk();
      chunk_ = Chunk::size;
      break;
    case Chunk::data:
      break;
  }
  line_.clear();
}

std::uint64_t BodyEnd::unseen() const noexcept {
  if (done_) return 0;
  if (kind_ == Kind::until_close) return std::numeric_limits<std::uint64_t>::max();
  return kind_ == Kind::length || chunk_ == Chunk::data ? left_ : 0;
}

void BodyEnd::skip(std::uint64_t bytes) {
  if (kind_ == Kind::until_close) return;
  left_ -= std::min(left_, bytes);
  if (left_ > 0) return;
  if (kind_ == Kind::length)
    done_ = true;
  else
    chunk_ = Chunk::data_end;
}

std::size_t BodyEnd::feed(std::string_view bytes) {
  if (done_) return 0;
  if (kind_ == Kind::until_close) return bytes.size();
  std::size_t used = 0;
  while (used < bytes.size() && !done_) {
    if (kind_ == Kind::length || chunk_ == Chunk::data) {
      const std::size_t n =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - used));
      skip(n);
      used += n;
      continue;
    }
    const auto end = bytes.find('\n', used);
    line_ += bytes.substr(used, end == std::string_view::npos ? end : end - used);
    if (line_.size() > kMaxLine) throw bad_chunk();
    used = end == std::string_view::npos ? bytes.size() : end + 1;
    if (end != std::string_view::npos) take_line();
  }
  return used;
}

}  // namespace assay::door
