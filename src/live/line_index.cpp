#include "live/line_index.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/skipped_note.h"

namespace assay::live {

namespace {

constexpr std::size_t kChunk = 256U << 10;
static_assert(kChunk > 2 * LineIndex::kMaxLine);

}  // namespace

bool LineIndex::look() {
  const bool same = log_.look();
  if (!same) {
    marks_.clear();
    starts_.clear();
    skips_.clear();
    next_part_ = 1;
    levels_.clear();
    breaks_.clear();
    times_.clear();
    scanned_ = 0;
    newest_ms_ = start_ms_;
  }
  if (log_.size() > scanned_) at_end_ = false;
  return same;
}

std::uint64_t LineIndex::break_after(std::uint64_t offset) const {
  std::uint64_t next = log_.size();
  for (std::size_t i = 0; i + 1 < log_.parts(); ++i)
    if (const auto part = log_.part(i); offset >= part.begin && offset < part.end) next = part.end;
  const auto found = std::ranges::upper_bound(breaks_, offset);
  return found == breaks_.end() ? next : std::min(next, *found);
}

template <class Visit>
std::uint64_t LineIndex::walk(std::uint64_t offset, std::uint64_t end, std::uint64_t most,
                              Visit visit) const {
  std::string buffer;
  std::uint64_t taken = 0;
  while (offset < end && taken < most) {
    const std::uint64_t ends_by = std::min(break_after(offset), end);
    buffer.resize(std::min<std::uint64_t>(kChunk, ends_by - offset));
    buffer.resize(log_.read(offset, buffer));
    if (buffer.empty()) return offset;
    // What no newline ends: it is a line where a break is, and else not yet one.
    const bool broken = offset + buffer.size() == ends_by && ends_by < log_.size();
    const bool known_break = std::ranges::binary_search(breaks_, offset + buffer.size());
    const char* p = buffer.data();
    const char* const stop = p + buffer.size();
    const char* const begin = p;
    while (p < stop) {
      const auto room = std::min<std::size_t>(static_cast<std::size_t>(stop - p), kMaxLine);
      const auto* newline = static_cast<const char*>(std::memchr(p, '\n', room));
      const char* line_end = newline;
      const char* next = newline == nullptr ? nullptr : newline + 1;
      if (newline == nullptr && room == kMaxLine)
        line_end = next = p + kMaxLine;
      else if (newline == nullptr && (broken || known_break))
        line_end = next = stop;
      if (next == nullptr) break;
      const std::uint64_t at = offset + static_cast<std::uint64_t>(p - begin);
      if (!visit(std::string_view(p, static_cast<std::size_t>(line_end - p)), at,
                 newline != nullptr))
        return offset + static_cast<std::uint64_t>(next - begin);
      p = next;
    }
    if (p == begin) return offset;  // only the beginning of a line
    taken += static_cast<std::uint64_t>(p - begin);
    offset += static_cast<std::uint64_t>(p - begin);
  }
  return offset;
}

void LineIndex::add(std::string_view text, std::uint64_t offset) {
  if (const auto time = time_of(text)) newest_ms_ = std::max(newest_ms_, *time);
  if (levels_.size() % kStride == 0) marks_.push_back({offset, newest_ms_});
  bool begins = false;
  for (; next_part_ < log_.parts() && log_.part(next_part_).begin <= offset; ++next_part_)
    begins = true;
  if (begins) starts_.push_back({levels_.size(), {offset, newest_ms_}});
  if (sent_)
    if (const auto skipped = skipped_in(text))
      skips_.push_back(
          {offset + text.size() + 1, (skips_.empty() ? 0 : skips_.back().further) +
                                         static_cast<std::int64_t>(skipped->bytes) -
                                         static_cast<std::int64_t>(skipped->note + 1)});
  levels_.push_back(level_of(text));
  times_.push_back(newest_ms_);
}

bool LineIndex::is_behind_newline(std::uint64_t offset) const {
  char before = '\n';
  return offset == 0 || log_.read(offset - 1, std::span(&before, 1)) == 0 || before == '\n';
}

std::uint64_t LineIndex::position(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(skips_, offset, {}, &Skip::offset);
  return behind == skips_.begin() ? offset
                                  : offset + static_cast<std::uint64_t>((behind - 1)->further);
}

std::uint64_t LineIndex::end_of(std::string_view text, std::uint64_t offset) const {
  std::uint64_t size = text.size();
  if (sent_)
    if (const auto skipped = skipped_in(text))  // what follows begins behind what was skipped
      size = size - skipped->note + std::min<std::uint64_t>(skipped->note, skipped->bytes - 1);
  return position(offset) + size;
}

std::uint64_t LineIndex::line_near(std::uint64_t end) const {
  const auto behind = std::ranges::partition_point(
      marks_, [&](const Mark& mark) { return position(mark.offset) <= end; });
  // One more: short notes of skipped bytes are longer than what they stand for.
  const auto blocks = static_cast<std::uint64_t>(behind - marks_.begin());
  return (blocks < 2 ? 0 : blocks - 2) * kStride;
}

std::uint64_t LineIndex::scan(std::uint64_t bytes) {
  const std::uint64_t before = scanned_;
  scanned_ = walk(scanned_, log_.size(), bytes,
                  [&](std::string_view text, std::uint64_t offset, bool /*whole*/) {
                    add(text, offset);
                    return levels_.size() < kMaxLines;
                  });
  // A part that is gone before it was read.
  for (std::size_t i = 0; i < log_.parts(); ++i)
    if (const auto part = log_.part(i); part.gone && scanned_ >= part.begin && scanned_ < part.end)
      scanned_ = part.end;
  at_end_ = scanned_ - before < bytes || levels_.size() >= kMaxLines;
  return scanned_ - before;
}

void LineIndex::finish() {
  if (!at_end_ || scanned_ >= log_.size() || levels_.size() >= kMaxLines) return;
  breaks_.push_back(log_.size());
  (void)scan(2 * kMaxLine);
}

void LineIndex::read(std::span<const std::uint64_t> numbers,
                     const std::function<bool(const Line&)>& visit) const {
  std::size_t wanted = 0;
  while (wanted < numbers.size()) {
    const std::uint64_t first = numbers[wanted];
    if (first >= levels_.size()) return;
    const std::uint64_t block = first / kStride;
    std::uint64_t number = block * kStride;
    Mark from = marks_[block];
    std::uint64_t limit = number + kStride;  // what is not found before it is gone
    const auto behind = std::ranges::upper_bound(starts_, first, {}, &Start::line);
    if (behind != starts_.end()) limit = std::min(limit, behind->line);
    if (behind != starts_.begin() && (behind - 1)->line > number) {
      number = (behind - 1)->line;
      from = (behind - 1)->mark;
    }
    std::int64_t time = from.time_ms;
    const std::size_t before = wanted;
    bool stopped = false;
    bool begins = is_behind_newline(from.offset);
    const auto take = [&](std::string_view text, std::uint64_t at, bool whole) {
      if (const auto own = time_of(text)) time = std::max(time, *own);
      const bool first_of_line = std::exchange(begins, whole);
      if (number++ != numbers[wanted]) return true;
      if (!visit({number - 1, time, text, end_of(text, at), false, first_of_line, !whole})) {
        stopped = true;
        return false;
      }
      ++wanted;
      // The next one may be far away.
      return wanted < numbers.size() && numbers[wanted] < number + kStride;
    };
    (void)walk(from.offset, scanned_, UINT64_MAX, take);
    if (stopped) return;
    // It lies in a part that is gone, or was cut off meanwhile.
    while (wanted == before || (wanted < numbers.size() && numbers[wanted] < limit)) {
      const std::uint64_t missing = numbers[wanted++];
      if (missing >= levels_.size() || !visit({missing, time, {}, 0, true})) return;
      if (wanted == numbers.size()) return;
    }
  }
}

}  // namespace assay::live
