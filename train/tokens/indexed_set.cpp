#include "train/tokens/indexed_set.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::train::tokens {

namespace {

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

std::int64_t token_at(const std::byte* from, int code) noexcept {
  switch (code) {
    case 1:
      return load<std::uint8_t>(from);
    case 2:
      return load<std::int8_t>(from);
    case 3:
      return load<std::int16_t>(from);
    case kInt32Code:
      return load<std::int32_t>(from);
    case kUint16Code:
      return load<std::uint16_t>(from);
    default:
      return load<std::int64_t>(from);
  }
}

}  // namespace

std::size_t token_bytes(std::uint64_t code) noexcept {
  switch (code) {
    case 1:
    case 2:
      return 1;
    case 3:
    case kUint16Code:
      return 2;
    case kInt32Code:
      return 4;
    case 5:
      return 8;
    default:
      return 0;
  }
}

std::filesystem::path indexed_prefix(const std::filesystem::path& path) {
  const std::filesystem::path extension = path.extension();
  if (extension != ".idx" && extension != ".bin") return path;
  return std::filesystem::path(path).replace_extension();
}

std::filesystem::path index_path(const std::filesystem::path& prefix) {
  return prefix.string() + ".idx";
}

std::filesystem::path tokens_path(const std::filesystem::path& prefix) {
  return prefix.string() + ".bin";
}

/// Reads an index into a set and verifies it.
class IndexReader {
 public:
  IndexReader(IndexedSet& set, const MappedFile& index)
      : set_(set), file_(index), rest_(index.bytes()), bin_size_(set.bin_.size()) {}

  void read() {
    const std::string_view text = file_.text();
    if (text.starts_with(kIndexMagic)) {
      read_current();
    } else if (text.starts_with(kOldIndexMagic)) {
      read_old();
    } else {
      wrong(text.size() < kIndexMagic.size()
                ? "it is too short to be an index"
                : "it is not an index of Megatron's (MMIDIDX, TNTIDX)");
    }
    finish();
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(ErrorKind::environment, what, file_.path().string(),
                "copy PREFIX.idx and PREFIX.bin of one data set again, or make them with "
                "assay-train tokenize");
  }

  template <class T>
  T take(const char* what) {
    if (rest_.size() < sizeof(T)) wrong(fmt::format("it ends before its {}", what));
    const T value = load<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  /// Takes `count` values of `size` bytes.
  const std::byte* take_list(std::uint64_t count, std::size_t size, const char* what) {
    if (count > rest_.size() / size)
      wrong(
          fmt::format("its header says {} {}, which is more than the file holds ({} bytes): it is "
                      "cut, or not an index",
                      count, what, file_.size()));
    const std::byte* const list = rest_.data();
    rest_ = rest_.subspan(count * size);
    return list;
  }

  void take_version() {
    if (const auto version = take<std::uint64_t>("version"); version != 1)
      wrong(fmt::format("version {} is not known, only 1 is", version));
  }

  void take_type(std::uint64_t code) {
    width_ = token_bytes(code);
    if (width_ == 0)
      wrong(code == 6 || code == 7
                ? fmt::format("its values (type {}) are no tokens, but fractions", code)
                : fmt::format("there is no type {} of tokens", code));
    set_.type_ = static_cast<int>(code);
  }

  void read_current() {
    rest_ = rest_.subspan(kIndexMagic.size());
    take_version();
    take_type(take<std::uint8_t>("type"));
    const auto sequences = take<std::uint64_t>("number of sequences");
    const auto boundaries = take<std::uint64_t>("number of documents");
    const std::byte* const lengths = take_list(sequences, 4, "sequences");
    const std::byte* const offsets = take_list(sequences, 8, "sequences");
    const std::byte* const documents = take_list(boundaries, 8, "boundaries of documents");
    for (std::uint64_t i = 0; i < sequences; ++i)
      add_sequence(load<std::int32_t>(lengths + 4 * i), load<std::int64_t>(offsets + 8 * i));
    read_documents(documents, boundaries);
    if (rest_.size() == sequences) {  // multimodal: a mode for each
      const auto other = std::ranges::find_if(rest_, [](std::byte b) { return b != std::byte{0}; });
      if (other != rest_.end())
        wrong(fmt::format("sequence {} is not text (its mode is {})", other - rest_.begin(),
                          static_cast<int>(*other)));
    } else {
      require_end();
    }
  }

  void read_old() {
    rest_ = rest_.subspan(kOldIndexMagic.size());
    take_version();
    take_type(take<std::uint64_t>("type"));
    if (const auto size = take<std::uint64_t>("size of a token"); size != width_)
      wrong(fmt::format("it says that a token has {} bytes; those of its type have {}", size,
                        width_));
    const auto sequences = take<std::uint64_t>("number of sequences");
    const auto dimensions = take<std::uint64_t>("number of sizes");
    if (dimensions != sequences)
      wrong(fmt::format("{} sizes of {} sequences: those of tokens have one each", dimensions,
                        sequences));
    // Megatron's index ends with a list of documents, fairseq's does not; only the sizes tell.
    if (sequences > rest_.size() / 24)
      wrong(
          fmt::format("its header says {} sequences, which is more than the file holds ({} bytes): "
                      "it is cut, or not an index",
                      sequences, file_.size()));
    const bool has_documents = rest_.size() != (3 * sequences + 2) * 8;
    const std::uint64_t boundaries = has_documents ? take<std::uint64_t>("number of documents") : 0;
    take_list(sequences + 1, 8, "offsets of sizes");
    const std::byte* const offsets = take_list(sequences + 1, 8, "offsets");
    const std::byte* const lengths = take_list(sequences, 8, "sizes");
    const std::byte* const documents = take_list(boundaries, 8, "boundaries of documents");
    require_end();
    const auto width = static_cast<std::int64_t>(width_);
    for (std::uint64_t i = 0; i < sequences; ++i) {
      const auto offset = load<std::int64_t>(offsets + 8 * i);
      if (offset < 0 || offset > bin_size_ / width)
        outside(i, offset, load<std::int64_t>(lengths + 8 * i));
      add_sequence(load<std::int64_t>(lengths + 8 * i), offset * width);
    }
    if (has_documents)
      read_documents(documents, boundaries);
    else
      for (std::size_t i = 0; i <= sequences; ++i) add_boundary(i);
  }

  void require_end() const {
    if (!rest_.empty())
      wrong(fmt::format("it has {} behind its end: it is damaged", counted(rest_.size(), "byte")));
  }

  [[noreturn]] void outside(std::uint64_t sequence, std::int64_t offset,
                            std::int64_t length) const {
    wrong(
        fmt::format("sequence {} ({} tokens from byte {} on) is not within {}, which has {} bytes",
                    sequence, length, offset, set_.bin_.path().filename().string(), bin_size_));
  }

  void add_sequence(std::int64_t length, std::int64_t offset) {
    std::vector<std::int64_t>& begins = set_.begins_;
    const auto sequence = static_cast<std::uint64_t>(begins.size()) - 1;
    const auto width = static_cast<std::int64_t>(width_);
    if (length < 0) wrong(fmt::format("sequence {} has a length of {}", sequence, length));
    if (offset < 0 || offset > bin_size_ || length > (bin_size_ - offset) / width)
      outside(sequence, offset, length);
    if (offset % width != 0)
      wrong(fmt::format("sequence {} begins at byte {}, within a token of {} bytes", sequence,
                        offset, width));
    in_order_ = in_order_ && offset == begins.back() * width;
    set_.offsets_.push_back(offset);
    begins.push_back(begins.back() + length);
  }

  void read_documents(const std::byte* documents, std::uint64_t count) {
    const auto sequences = static_cast<std::int64_t>(set_.begins_.size()) - 1;
    std::int64_t before = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto boundary = load<std::int64_t>(documents + 8 * i);
      if ((i == 0 && boundary != 0) || boundary < before || boundary > sequences)
        wrong(fmt::format("document {} begins at sequence {}; that is not from {} to {}", i,
                          boundary, before, sequences));
      add_boundary(static_cast<std::size_t>(boundary));
      before = boundary;
    }
    if (count == 0 ? sequences > 0 : before != sequences)
      wrong(fmt::format("its documents have {} of its {} sequences", before, sequences));
  }

  void add_boundary(std::size_t sequence) {
    const std::int64_t token = set_.begins_[sequence];
    if (set_.starts_.empty() || token > set_.starts_.back()) set_.starts_.push_back(token);
  }

  void finish() {
    const auto width = static_cast<std::int64_t>(width_);
    if (set_.starts_.empty()) set_.starts_.push_back(0);
    if (set_.begins_.back() * width < bin_size_)
      wrong(fmt::format("its sequences have {} of the {} bytes of {}: it is cut, or of another set",
                        set_.begins_.back() * width, bin_size_,
                        set_.bin_.path().filename().string()));
    if (in_order_)
      set_.offsets_ = {};
    else
      require_each_byte_once();
  }

  // Sequences may be in any order, but must cover the file without overlaps or gaps.
  void require_each_byte_once() const {
    const std::vector<std::int64_t>& offsets = set_.offsets_;
    const auto bytes_of = [&](std::size_t i) {
      return (set_.begins_[i + 1] - set_.begins_[i]) * static_cast<std::int64_t>(width_);
    };
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (bytes_of(i) > 0) order.push_back(i);
    const auto by_offset = [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; };
    if (!std::ranges::is_sorted(order, by_offset)) std::ranges::stable_sort(order, by_offset);
    std::int64_t end = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t offset = offsets[order[i]];
      if (offset < end)
        wrong(fmt::format("sequence {} begins at byte {}, within sequence {}, which ends at {}",
                          order[i], offset, order[i - 1], end));
      if (offset > end)
        wrong(fmt::format("the bytes {} … {} of {} are of no sequence", end, offset - 1,
                          set_.bin_.path().filename().string()));
      end = offset + bytes_of(order[i]);
    }
  }

  IndexedSet& set_;
  const MappedFile& file_;
  std::span<const std::byte> rest_;
  std::int64_t bin_size_;
  std::size_t width_ = 0;
  bool in_order_ = true;
};

IndexedSet::IndexedSet(const std::filesystem::path& path)
    : bin_(tokens_path(indexed_prefix(path))), begins_{0} {
  const MappedFile index(index_path(indexed_prefix(path)));
  IndexReader(*this, index).read();
}

void IndexedSet::read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                      std::int32_t* out) const {
  const auto width = static_cast<std::int64_t>(token_bytes(static_cast<std::uint64_t>(type_)));
  const std::byte* const bytes = bin_.bytes().data();
  const auto copy = [&](std::int64_t from, std::int64_t here) {
    for (std::int64_t i = 0; i < here; ++i) {
      const std::int64_t token = token_at(bytes + from + i * width, type_);
      if (token < 0 || token >= vocabulary)
        outside_vocabulary(token, vocabulary,
                           fmt::format("{}: byte {}", bin_.path().string(), from + i * width));
      out[i] = static_cast<std::int32_t>(token);
    }
    out += here;
  };
  if (offsets_.empty()) return copy(first * width, count);
  auto at =
      static_cast<std::size_t>(std::ranges::upper_bound(begins_, first) - begins_.begin()) - 1;
  for (; count > 0; ++at) {
    const std::int64_t skipped = first - begins_[at];
    const std::int64_t here = std::min(count, begins_[at + 1] - first);
    copy(offsets_[at] + skipped * width, here);
    first += here;
    count -= here;
  }
}

}  // namespace assay::train::tokens
