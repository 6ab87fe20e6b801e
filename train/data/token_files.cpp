#include "train/data/token_files.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "train/data/packed_tokens.h"
#include "train/tokens/indexed_set.h"
#include "train/tokens/tokenize.h"
#include "train/tokens/tokenizer_json.h"

namespace assay::train::data {

namespace {

namespace fs = std::filesystem;
using Stream = std::shared_ptr<const tokens::TokenStream>;

constexpr std::int64_t learnt_vocabulary = 8192;
// The fraction of all tokens held out for evaluation if the set is not split.
constexpr double held_out = 0.02;

void require_path(const TokenSetOptions& options, const char* what) {
  if (options.path.empty())
    throw Error(ErrorKind::config, fmt::format("the set '{}' needs a path", options.set), "path",
                what);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::shared_ptr<const PackedTokens> pack(const Stream& stream, std::int64_t first,
                                         std::int64_t last, const TokenSetOptions& options,
                                         std::int64_t vocabulary, const char* split) {
  auto rows =
      std::make_shared<const PackedTokens>(stream, first, last, options.sequence, vocabulary);
  if (rows->size() == 0)
    throw Error(ErrorKind::environment,
                fmt::format("the {} tokens for {} do not fill a sequence of {} and one more",
                            last - first, split, options.sequence),
                options.path.string(), "give more text, or a smaller 'sequence'");
  return rows;
}

TokenSet set_of(const TokenSetOptions& options, std::int64_t vocabulary,
                std::shared_ptr<const PackedTokens> train,
                std::shared_ptr<const PackedTokens> eval) {
  TokenSet set;
  set.info = {options.set, vocabulary, options.sequence, train->size(), eval->size(), {}};
  set.train = std::move(train);
  set.eval = std::move(eval);
  return set;
}

TokenSet two_splits(const TokenSetOptions& options, std::int64_t vocabulary, const Stream& train,
                    const Stream& eval) {
  const auto rows = pack(train, 0, train->size(), options, vocabulary, "training");
  return set_of(options, vocabulary, rows,
                pack(eval, 0, eval->size(), options, vocabulary, "evaluation"));
}

// Holds out the last documents that make up the fraction, or the end of the last one if it alone
// has more.
TokenSet hold_out_end(const TokenSetOptions& options, std::int64_t vocabulary,
                      const Stream& stream) {
  const std::int64_t size = stream->size();
  const auto share = static_cast<std::int64_t>(held_out * static_cast<double>(size));
  const std::int64_t wanted = size - std::max(share, options.sequence + 1);
  const auto start = std::ranges::lower_bound(stream->starts(), wanted);
  const bool whole = start != stream->starts().end() && size - *start > options.sequence;
  const std::int64_t cut = std::max<std::int64_t>(0, whole ? *start : wanted);
  if (cut <= options.sequence)
    throw Error(
        ErrorKind::environment,
        fmt::format("its {} tokens are too few: the {} that are not held out for evaluation "
                    "do not fill a sequence of {} and one more",
                    size, cut, options.sequence),
        options.path.string(), "give more text, or a smaller 'sequence'");
  const auto train = pack(stream, 0, cut, options, vocabulary, "training");
  return set_of(options, vocabulary, train,
                pack(stream, cut, size, options, vocabulary, "evaluation"));
}

tokens::TokenizeOptions tokenize_options(const TokenSetOptions& options) {
  tokens::TokenizeOptions out;
  if (options.progress)
    out.progress = [&](std::int64_t done, std::int64_t all, std::int64_t) {
      options.progress(done, all);
    };
  return out;
}

std::vector<tokens::TextFile> text_files_at(const fs::path& path) {
  const std::array<fs::path, 1> paths{path};
  return tokens::find_text_files(paths);
}

Stream tokens_of_text(const fs::path& path, const tokens::Bpe& bpe,
                      const TokenSetOptions& options) {
  tokens::TokenizeOptions how = tokenize_options(options);
  how.end_token = bpe.end_of_text();
  auto stream = std::make_shared<tokens::MemoryTokens>();
  tokens::tokenize(text_files_at(path), bpe, how, *stream);
  return stream;
}

// The smallest vocabulary with all of the tokenizer's tokens, or the requested one.
std::int64_t vocabulary_of(const TokenSetOptions& options, std::int64_t of_tokenizer,
                           const fs::path& tokenizer) {
  if (options.vocabulary_size == 0) return of_tokenizer;
  if (options.vocabulary_size < of_tokenizer)
    throw Error(ErrorKind::config,
                fmt::format("the tokenizer has {} tokens, the vocabulary {}", of_tokenizer,
                            options.vocabulary_size),
                tokenizer.string(), "give the model's tokenizer, or a larger vocabulary");
  return options.vocabulary_size;
}

tokens::Bpe learn(const fs::path& path, const TokenSetOptions& options) {
  const std::int64_t size =
      options.vocabulary_size == 0 ? learnt_vocabulary : options.vocabulary_size;
  return tokens::learn_bpe(
      tokens::count_pieces(text_files_at(path), tokens::kLlama3Rules, tokenize_options(options)),
      size);
}

std::vector<fs::path> indices_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error))
    if (it->path().extension() == ".idx") found.push_back(it->path());
  if (error)
    throw system_error(ErrorKind::environment, "cannot list the folder", folder.string(),
                       error.value());
  if (found.empty())
    throw Error(ErrorKind::environment, "there is no .idx file in this folder", folder.string(),
                "make a data set with assay-train tokenize");
  std::ranges::sort(found);
  return found;
}

Stream join_indexed(const std::vector<fs::path>& indices) {
  if (indices.size() == 1) return std::make_shared<const tokens::IndexedSet>(indices[0]);
  std::vector<std::unique_ptr<const tokens::TokenStream>> parts;
  for (const fs::path& index : indices)
    parts.push_back(std::make_unique<const tokens::IndexedSet>(index));
  return std::make_shared<const tokens::JoinedTokens>(std::move(parts));
}

std::int64_t vocabulary_of_indexed(const TokenSetOptions& options, const fs::path& beside) {
  std::error_code ignored;
  const fs::path tokenizer = !options.tokenizer.empty()    ? options.tokenizer
                             : fs::exists(beside, ignored) ? beside
                                                           : fs::path();
  if (!tokenizer.empty())
    return vocabulary_of(options, tokens::read_tokenizer(tokenizer).vocabulary(), tokenizer);
  if (options.vocabulary_size > 0) return options.vocabulary_size;
  throw Error(ErrorKind::config, "how many tokens the vocabulary has is not known",
              options.path.string(), "give 'tokenizer' or 'vocabulary_size'");
}

}  // namespace

TokenSet open_token_text(const TokenSetOptions& options) {
  require_path(options, "give a folder of .txt or .jsonl files");
  const bool split = is_folder(options.path / "train") && is_folder(options.path / "val");
  const fs::path train = split ? options.path / "train" : options.path;
  const tokens::Bpe bpe =
      options.tokenizer.empty() ? learn(train, options) : tokens::read_tokenizer(options.tokenizer);
  const std::int64_t vocabulary = vocabulary_of(options, bpe.vocabulary(), options.tokenizer);
  const Stream stream = tokens_of_text(train, bpe, options);
  if (!split) return hold_out_end(options, vocabulary, stream);
  return two_splits(options, vocabulary, stream,
                    tokens_of_text(options.path / "val", bpe, options));
}

TokenSet open_indexed_tokens(const TokenSetOptions& options) {
  require_path(options, "give PREFIX of PREFIX.idx and PREFIX.bin, or their folder");
  if (!is_folder(options.path)) {
    const fs::path prefix = tokens::indexed_prefix(options.path);
    const std::int64_t vocabulary =
        vocabulary_of_indexed(options, prefix.string() + ".tokenizer.json");
    return hold_out_end(options, vocabulary, join_indexed({tokens::index_path(prefix)}));
  }
  const std::int64_t vocabulary = vocabulary_of_indexed(options, options.path / "tokenizer.json");
  std::error_code ignored;
  const fs::path train = options.path / "train.idx";
  const fs::path eval = options.path / "val.idx";
  if (fs::exists(train, ignored) && fs::exists(eval, ignored))
    return two_splits(options, vocabulary, join_indexed({train}), join_indexed({eval}));
  return hold_out_end(options, vocabulary, join_indexed(indices_of(options.path)));
}

}  // namespace assay::train::data
