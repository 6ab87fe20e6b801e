#include "pack/unfold.h"

#include <algorithm>

#include "core/text.h"

namespace assay::pack {

Unfolder::Unfolder(Contents contents, FileSink* sink)
    : contents_(std::move(contents)),
      sink_(sink),
      found_(contents_.files.size()),
      flaws_(contents_.files.size()) {
  begin_files();
}

// Empty files begin and end at once.
void Unfolder::begin_files() {
  while (file_ < contents_.files.size()) {
    const PackedFile& file = contents_.files[file_];
    if (!begun_) {
      hash_ = Sha256();
      at_ = 0;
      if (sink_ != nullptr) sink_->begin(file);
      begun_ = true;
    }
    if (at_ < file.bytes) return;
    end_file();
  }
}

void Unfolder::end_file() {
  if (!flaws_[file_]) found_[file_] = hash_.hex();
  if (sink_ != nullptr) sink_->end();
  begun_ = false;
  ++file_;
}

void Unfolder::feed(std::string_view bytes) {
  take(bytes, bytes.size());
}

void Unfolder::skip(std::uint64_t count) {
  take({}, count);
}

// `bytes` is empty if their content is unknown.
void Unfolder::take(std::string_view bytes, std::uint64_t count) {
  while (count > 0) {
    std::uint64_t part = count;
    if (file_ < contents_.files.size()) part = std::min(count, contents_.files[file_].bytes - at_);
    const std::string_view known = bytes.substr(0, part);
    if (file_ < contents_.files.size())
      take_content(known, part);
    else
      take_tail(known, part);
    bytes.remove_prefix(known.size());
    count -= part;
  }
}

void Unfolder::take_content(std::string_view bytes, std::uint64_t count) {
  if (bytes.empty()) {
    flaws_[file_] = Flaw::damaged;
  } else if (!flaws_[file_]) {
    hash_.update(bytes);
    if (sink_ != nullptr) sink_->append(bytes);
  }
  at_ += count;
  done_ += count;
  begin_files();
}

void Unfolder::take_tail(std::string_view bytes, std::uint64_t count) {
  const std::uint64_t room = tail_size(contents_) - tail_.size();
  const std::uint64_t part = std::min(room, count);
  if (bytes.empty())
    tail_.append(part, '\0');
  else
    tail_ += bytes.substr(0, part);
  extra_ += count - part;
}

Check Unfolder::finish(bool whole) {
  Check check;
  const bool all_hashes = tail_.size() == tail_size(contents_);
  for (std::size_t i = 0; i < contents_.files.size(); ++i) {
    PackedFile& file = contents_.files[i];
    std::optional<Flaw> flaw = flaws_[i];
    if (i == file_)
      flaw = at_ > 0 ? Flaw::cut : Flaw::missing;
    else if (i > file_)
      flaw = Flaw::missing;
    // An incomplete file is not reported again for its hash, which comes later.
    const std::string_view line =
        std::string_view(tail_).substr(std::min(tail_.size(), i * kHashLine), kHashLine);
    const bool known = line.size() == kHashLine && line.back() == '\n' &&
                       line.find_first_not_of("0123456789abcdef") == kHashLine - 1;
    if (known) file.sha256 = line.substr(0, kHashLine - 1);
    if (!flaw && !known) flaw = Flaw::damaged;
    if (!flaw && found_[i] != file.sha256) flaw = Flaw::changed;
    if (flaw) check.files.push_back({file.path, *flaw});
  }
  if (!all_hashes)
    check.whole.emplace_back("it is cut: its end is missing");
  else if (!tail_.ends_with("end\n"))
    check.whole.emplace_back("its end is damaged");
  if (extra_ > 0) check.whole.push_back(counted(extra_, "byte") + " after its end");
  if (!whole && all_hashes && extra_ == 0)
    check.whole.emplace_back("its table of pieces is damaged, or something follows it");
  check.contents = std::move(contents_);
  return check;
}

}  // namespace assay::pack
