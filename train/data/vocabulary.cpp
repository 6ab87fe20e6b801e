#include "train/data/vocabulary.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "train/data/words.h"

namespace assay::train::data {

namespace {

constexpr std::size_t longest_word = 100;

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

// A piece must not end within a character.
bool is_boundary(std::string_view text, std::size_t at) {
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

}  // namespace

bool is_too_long(std::string_view word) noexcept {
  return characters(word) > longest_word;
}

Vocabulary::Vocabulary(std::vector<std::string> tokens, const std::string& where)
    : tokens_(std::move(tokens)) {
  const auto wrong = [&](std::string what) {
    throw Error(ErrorKind::environment, std::move(what), where,
                "a WordPiece vocabulary has one token a line, [PAD], [UNK], [CLS], [SEP] and "
                "[MASK] among them");
  };
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& token = tokens_[i];
    const auto id = static_cast<std::int32_t>(i);
    const bool inside = token.size() > 2 && token.starts_with("##");
    if (token.empty()) wrong(fmt::format("line {} is empty", i + 1));
    if (!(inside ? goes_on_.try_emplace(token.substr(2), id) : begins_.try_emplace(token, id))
             .second)
      wrong(fmt::format("line {} has the token '{}' again", i + 1, printable(token)));
  }
  const auto find = [&](const char* name) {
    const auto it = begins_.find(std::string_view(name));
    if (it == begins_.end()) wrong(fmt::format("there is no {}", name));
    return it->second;
  };
  special_ = {find("[PAD]"), find("[UNK]"), find("[CLS]"), find("[SEP]"), find("[MASK]")};
}

Vocabulary Vocabulary::read(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::vector<std::string> tokens;
  for (std::string_view line : split(file, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    tokens.emplace_back(line);
  }
  if (!tokens.empty() && tokens.back().empty()) tokens.pop_back();
  return {std::move(tokens), path.string()};
}

void Vocabulary::encode(std::string_view word, std::vector<std::int32_t>& out) const {
  const std::size_t before = out.size();
  bool known = !is_too_long(word);
  for (std::size_t at = 0; known && at < word.size();) {
    const Pieces& pieces = at == 0 ? begins_ : goes_on_;
    std::size_t end = word.size();
    auto it = pieces.end();
    for (; end > at; --end) {
      if (!is_boundary(word, end)) continue;
      it = pieces.find(word.substr(at, end - at));
      if (it != pieces.end()) break;
    }
    known = it != pieces.end();
    if (known) out.push_back(it->second);
    at = end;
  }
  if (known) return;
  out.resize(before);
  out.push_back(special_.unknown);
}

}  // namespace assay::train::data
