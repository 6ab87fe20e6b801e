#include "train/tokens/tokenize.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "core/parallel.h"

namespace assay::train::tokens {

namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;
constexpr std::size_t kPartsAThread = 8;  // at a time: all threads finish at about the same time

/// Gives each thread its own scratch memory, reusing earlier memory if available.
template <class Scratch>
class ScratchPool {
 public:
  explicit ScratchPool(std::function<std::unique_ptr<Scratch>()> make) : make_(std::move(make)) {}

  [[nodiscard]] std::unique_ptr<Scratch> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Scratch> one = std::move(free_.back());
        free_.pop_back();
        return one;
      }
    }
    return make_();
  }
  void give_back(std::unique_ptr<Scratch> one) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(one));
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Scratch>>& all() const noexcept { return free_; }

 private:
  std::function<std::unique_ptr<Scratch>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

std::size_t bytes_at_a_time(int threads) {
  const auto count = threads > 0 ? static_cast<std::size_t>(threads)
                                 : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return count * kPartsAThread * kPartBytes;
}

std::int64_t bytes_of(std::span<const TextFile> files) {
  std::int64_t bytes = 0;
  for (const TextFile& file : files) bytes += file.size;
  return bytes;
}

/// The result for a part: tokens, and where documents end among them.
struct EncodedPart {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> ends;
  std::int64_t bytes = 0;  // of the documents' text
};

void encode_part(const TextPart& part, const TokenizeOptions& options, BpeEncoder& encoder,
                 EncodedPart& out) {
  each_document(part, options.key, [&](std::string_view text) {
    encoder.encode(text, out.ids);
    out.bytes += static_cast<std::int64_t>(text.size());
    if (part.json_lines) out.ends.push_back(out.ids.size());
  });
  if (!part.json_lines && part.ends_file) out.ends.push_back(out.ids.size());
}

/// Passes on and counts documents; a document may come in several parts.
class DocumentSink {
 public:
  DocumentSink(TokenSink& sink, std::optional<std::int32_t> end_token, Tokenized& done)
      : sink_(sink), end_token_(end_token), done_(done) {}

  void add(const EncodedPart& part) {
    std::size_t begin = 0;
    for (const std::size_t end : part.ends) {
      append({part.ids.data() + begin, end - begin});
      finish_document();
      begin = end;
    }
    append({part.ids.data() + begin, part.ids.size() - begin});
  }

 private:
  void append(std::span<const std::int32_t> ids) {
    if (ids.empty()) return;
    sink_.append(ids);
    length_ += static_cast<std::int64_t>(ids.size());
  }
  void finish_document() {
    if (length_ == 0) {
      ++done_.empty_documents;
      return;
    }
    if (end_token_) append({&*end_token_, 1});
    sink_.end_document();
    ++done_.documents;
    done_.tokens += length_;
    length_ = 0;
  }

  TokenSink& sink_;
  std::optional<std::int32_t> end_token_;
  Tokenized& done_;
  std::int64_t length_ = 0;
};

}  // namespace

Tokenized tokenize(std::span<const TextFile> files, const Bpe& bpe, const TokenizeOptions& options,
                   TokenSink& sink) {
  ScratchPool<BpeEncoder> encoders([&] { return std::make_unique<BpeEncoder>(bpe); });
  Tokenized done;
  DocumentSink documents(sink, options.end_token, done);
  const std::int64_t all = bytes_of(files);
  each_text_parts(
      files, kPartBytes, bytes_at_a_time(options.threads), [&](std::span<const TextPart> parts) {
        std::vector<EncodedPart> encoded(parts.size());
        run_parallel(parts.size(), options.threads, {}, [&](std::size_t i, const std::stop_token&) {
          std::unique_ptr<BpeEncoder> encoder = encoders.take();
          encode_part(parts[i], options, *encoder, encoded[i]);
          encoders.give_back(std::move(encoder));
        });
        for (std::size_t i = 0; i < parts.size(); ++i) {
          documents.add(encoded[i]);
          done.bytes += encoded[i].bytes;
          done.file_bytes += static_cast<std::int64_t>(parts[i].text.size());
        }
        if (options.progress) options.progress(done.file_bytes, all, done.tokens);
      });
  return done;
}

PieceCounts count_pieces(std::span<const TextFile> files, const SplitRules& rules,
                         const TokenizeOptions& options) {
  ScratchPool<PieceCounts> counts([&] { return std::make_unique<PieceCounts>(rules); });
  const std::int64_t all = bytes_of(files);
  std::int64_t bytes = 0;
  each_text_parts(
      files, kPartBytes, bytes_at_a_time(options.threads), [&](std::span<const TextPart> parts) {
        run_parallel(parts.size(), options.threads, {}, [&](std::size_t i, const std::stop_token&) {
          std::unique_ptr<PieceCounts> own = counts.take();
          each_document(parts[i], options.key, [&](std::string_view text) { own->add(text); });
          counts.give_back(std::move(own));
        });
        for (const TextPart& part : parts) bytes += static_cast<std::int64_t>(part.text.size());
        if (options.progress) options.progress(bytes, all, 0);
      });
  PieceCounts sum(rules);
  for (const auto& one : counts.all()) sum.merge(*one);
  return sum;
}

}  // namespace assay::train::tokens
