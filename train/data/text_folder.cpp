#include "train/data/text_folder.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "train/data/masking.h"
#include "train/data/random.h"
#include "train/data/set_files.h"
#include "train/data/vocabulary.h"
#include "train/data/words.h"
#include "train/tokens/folder_files.h"

namespace assay::train::data {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t hold_out = 50;     // every 50th document
constexpr std::int64_t least_tokens = 8;  // of a sample

using Document = std::vector<std::string>;  // a list of sentences

/// A split's tokens and the boundaries within them.
struct Corpus {
  struct Run {
    std::int64_t document = 0;
    std::int64_t first = 0;  // sentences first…last-1
    std::int64_t last = 0;
  };
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> sentences{0};  // one more than sentences
  std::vector<Run> runs;

  [[nodiscard]] std::span<const std::int32_t> span(std::int64_t first, std::int64_t last) const {
    return {tokens.data() + sentences[first],
            static_cast<std::size_t>(sentences[last] - sentences[first])};
  }
};

class TextFolder final : public TextSource {
 public:
  TextFolder(Corpus corpus, const MaskingRule& rule, TextBatch::Shape shape, std::uint64_t seed,
             bool train)
      : corpus_(std::move(corpus)), rule_(rule), shape_(shape), seed_(seed), train_(train) {}

  [[nodiscard]] std::int64_t size() const noexcept override {
    return static_cast<std::int64_t>(corpus_.runs.size());
  }
  [[nodiscard]] TextBatch::Shape shape() const noexcept override { return shape_; }
  [[nodiscard]] std::unique_ptr<Reader<TextBatch>> make_reader() const override;

  void write(const SampleKey& key, std::vector<std::int32_t>& scratch, TextBatch& batch,
             std::int64_t row) const {
    Random random = train_ ? Random(key.seed, 0x7E87u, key.epoch, key.index)
                           : Random(seed_, 0xE7A1u, key.index);
    const Corpus::Run& run = corpus_.runs[key.index];
    const std::span<const std::int32_t> all = corpus_.span(run.first, run.last);
    const std::int64_t cut = cut_of(run, static_cast<std::int64_t>(all.size()), random);
    std::span<const std::int32_t> a = all.first(static_cast<std::size_t>(cut));
    std::span<const std::int32_t> b = all.subspan(static_cast<std::size_t>(cut));
    const bool random_next = random.bits() >> 63 != 0;
    if (random_next) b = other_run(run, random);
    // Drops the excess from the end of the longer one.
    const auto room = static_cast<std::size_t>(shape_.sequence - 3);
    const std::size_t over = a.size() + b.size() > room ? a.size() + b.size() - room : 0;
    const std::size_t longer = std::max(a.size(), b.size());
    const std::size_t shorter = std::min(a.size(), b.size());
    const std::size_t from_longer = std::min(over, longer - shorter);
    const std::size_t rest = over - from_longer;
    const std::size_t from_a = (a.size() >= b.size() ? from_longer : 0) + rest / 2;
    a = a.first(a.size() - from_a);
    b = b.first(b.size() - (over - from_a));
    write_pair(rule_, a, b, random_next, random, scratch, batch, row);
  }

 private:
  // The number of A's tokens: up to the end of a sentence, or anywhere within a single one.
  [[nodiscard]] std::int64_t cut_of(const Corpus::Run& run, std::int64_t size,
                                    Random& random) const {
    const std::int64_t sentences = run.last - run.first;
    if (sentences < 2) return 1 + random.below(size - 1);
    const std::int64_t sentence = run.first + 1 + random.below(sentences - 1);
    return corpus_.sentences[sentence] - corpus_.sentences[run.first];
  }

  [[nodiscard]] std::span<const std::int32_t> other_run(const Corpus::Run& run,
                                                        Random& random) const {
    const Corpus::Run* other = &run;
    for (int attempt = 0; attempt < 10 && other->document == run.document; ++attempt)
      other = &corpus_.runs[random.below(size())];
    return corpus_.span(other->first, other->last);
  }

  Corpus corpus_;
  MaskingRule rule_;
  TextBatch::Shape shape_;
  std::uint64_t seed_;
  bool train_;
};

class TextFolderReader final : public Reader<TextBatch> {
 public:
  explicit TextFolderReader(const TextFolder& folder) : folder_(folder) {
    scratch_.reserve(static_cast<std::size_t>(folder.shape().sequence));
  }
  void read(const SampleKey& key, TextBatch& batch, std::int64_t row) override {
    folder_.write(key, scratch_, batch, row);
  }

 private:
  const TextFolder& folder_;
  std::vector<std::int32_t> scratch_;
};

std::unique_ptr<Reader<TextBatch>> TextFolder::make_reader() const {
  return std::make_unique<TextFolderReader>(*this);
}

std::vector<fs::path> text_files(const fs::path& folder) {
  std::vector<fs::path> files;
  tokens::each_file_below(
      folder, [](const fs::path& path) { return to_lower(path.extension().string()) == ".txt"; },
      [&](const fs::path& path) { files.push_back(path); });
  if (files.empty())
    throw Error(ErrorKind::environment, "there are no .txt files in this folder", folder.string(),
                "give a folder of UTF-8 text files");
  std::sort(files.begin(), files.end());
  return files;
}

// A sentence ends with its line, or with . ! or ? before white space.
void add_sentences(std::string_view line, Document& document) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const bool ends = line[i] == '.' || line[i] == '!' || line[i] == '?';
    if (!ends || (line[i + 1] != ' ' && line[i + 1] != '\t')) continue;
    document.emplace_back(line.substr(begin, i + 1 - begin));
    begin = i + 2;
  }
  if (!trim(line.substr(begin)).empty()) document.emplace_back(line.substr(begin));
}

std::vector<Document> read_documents(const fs::path& folder, const Progress& progress) {
  std::vector<Document> documents;
  const std::vector<fs::path> files = text_files(folder);
  std::int64_t done = 0;
  for (const fs::path& file : files) {
    const std::string content = read_file(file);
    if (content.find('\0') != std::string::npos)
      throw Error(ErrorKind::environment, "the file holds zero bytes: it is not UTF-8 text",
                  file.string(), "convert it, as from UTF-16 with iconv, or remove it");
    Document document;
    const auto finish = [&] {
      if (!document.empty()) documents.push_back(std::move(document));
      document.clear();
    };
    for (const std::string_view line : split(content, '\n')) {
      if (trim(line).empty())
        finish();
      else
        add_sentences(line, document);
    }
    finish();
    if (progress) progress(++done, static_cast<std::int64_t>(files.size()));
  }
  return documents;
}

WordCounts count_words(const std::vector<Document>& documents, bool lower_case) {
  WordCounts counts;
  for (const Document& document : documents)
    for (const std::string& sentence : document) {
      WordSplitter words(sentence, lower_case);
      for (std::string_view word; words.next(word);) ++counts[std::string(word)];
    }
  return counts;
}

Corpus tokenise(const std::vector<Document>& documents, const Vocabulary& vocabulary,
                const TextSetOptions& options) {
  Corpus corpus;
  const std::int64_t room = options.sequence - 3;
  const auto sentence_count = [&] {
    return static_cast<std::int64_t>(corpus.sentences.size()) - 1;
  };
  for (std::size_t d = 0; d < documents.size(); ++d) {
    std::int64_t first = sentence_count();
    const auto finish = [&] {
      if (corpus.sentences.back() - corpus.sentences[first] >= least_tokens)
        corpus.runs.push_back({static_cast<std::int64_t>(d), first, sentence_count()});
      first = sentence_count();
    };
    for (const std::string& sentence : documents[d]) {
      WordSplitter words(sentence, options.lower_case);
      for (std::string_view word; words.next(word);) {
        vocabulary.encode(word, corpus.tokens);
        // A sentence longer than a row continues in the next sample.
        const auto size = static_cast<std::int64_t>(corpus.tokens.size());
        if (size - corpus.sentences.back() >= room) corpus.sentences.push_back(size);
      }
      const auto size = static_cast<std::int64_t>(corpus.tokens.size());
      if (size > corpus.sentences.back()) corpus.sentences.push_back(size);
      if (corpus.sentences.back() - corpus.sentences[first] >= room) finish();
    }
    finish();
  }
  return corpus;
}

// A model quickly learns [UNK], and its accuracy would then mean nothing.
void require_known_words(const Corpus& corpus, const Vocabulary& vocabulary,
                         const TextSetOptions& options) {
  constexpr double most = 0.5;
  const auto unknown =
      std::count(corpus.tokens.begin(), corpus.tokens.end(), vocabulary.special().unknown);
  const double share = static_cast<double>(unknown) / static_cast<double>(corpus.tokens.size());
  if (share <= most) return;
  throw Error(ErrorKind::environment,
              fmt::format("{:.0f} % of the text's tokens are not in the vocabulary", 100 * share),
              options.vocabulary.empty() ? options.path.string() : options.vocabulary.string(),
              options.vocabulary.empty() ? "raise 'vocabulary_size'"
                                         : "give a vocabulary of this text's language");
}

void hold_out_documents(std::vector<Document>& train, std::vector<Document>& eval,
                        const fs::path& folder) {
  const auto count = static_cast<std::int64_t>(train.size());
  if (count < 2)
    throw Error(ErrorKind::environment,
                fmt::format("{} document is too few to hold one out for evaluation", count),
                folder.string(),
                "separate documents by blank lines, or give folders train/ and val/");
  const std::int64_t step = std::min(hold_out, count);
  std::vector<Document> rest;
  for (std::int64_t i = 0; i < count; ++i)
    (i % step == step - 1 ? eval : rest).push_back(std::move(train[i]));
  train = std::move(rest);
}

}  // namespace

TextSet open_text_folder(const TextSetOptions& options) {
  const TextBatch::Shape shape{options.sequence, masked_per_row(options)};
  require_folder(options.path, "text");
  if (options.vocabulary.empty() &&
      (options.vocabulary_size < 100 || options.vocabulary_size > 1'000'000))
    throw Error(ErrorKind::config, fmt::format("a vocabulary of {}", options.vocabulary_size),
                "data set text", "use 100 to 1,000,000");
  std::error_code ignored;
  std::vector<Document> train;
  std::vector<Document> eval;
  if (fs::is_directory(options.path / "train", ignored) &&
      fs::is_directory(options.path / "val", ignored)) {
    train = read_documents(options.path / "train", options.progress);
    eval = read_documents(options.path / "val", options.progress);
  } else {
    train = read_documents(options.path, options.progress);
    hold_out_documents(train, eval, options.path);
  }
  const Vocabulary vocabulary =
      options.vocabulary.empty()
          ? Vocabulary(
                learn_vocabulary(count_words(train, options.lower_case), options.vocabulary_size),
                options.path.string())
          : Vocabulary::read(options.vocabulary);
  // A learned vocabulary begins with the special tokens, so that no random token is one of them.
  const MaskingRule rule{vocabulary.special(), options.mask_probability,
                         options.vocabulary.empty() ? 5 : 0,
                         static_cast<std::int32_t>(vocabulary.size())};
  const auto make = [&](const std::vector<Document>& documents, bool training) {
    Corpus corpus = tokenise(documents, vocabulary, options);
    if (corpus.runs.empty())
      throw Error(ErrorKind::environment,
                  fmt::format("the {} text has no document of {} tokens or more",
                              training ? "training" : "evaluation", least_tokens),
                  options.path.string(), "give more text");
    require_known_words(corpus, vocabulary, options);
    return std::make_shared<const TextFolder>(std::move(corpus), rule, shape, options.seed,
                                              training);
  };
  TextSet set;
  set.train = make(train, true);
  set.eval = make(eval, false);
  set.info = {"text",
              vocabulary.size(),
              shape.sequence,
              shape.masked,
              vocabulary.special(),
              set.train->size(),
              set.eval->size(),
              {},
              {}};
  return set;
}

}  // namespace assay::train::data
