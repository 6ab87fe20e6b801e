#include "train/tokens/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <queue>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::train::tokens {

namespace {

constexpr std::size_t kKnownSlots = std::size_t{1} << 16;  // 4 MiB
// In longer pieces, searching for the lowest rank after each merge takes longer than using a queue.
constexpr std::size_t kShort = 48;
constexpr const char* kWantedFile = "give the tokenizer.json of a byte-level BPE";
constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();

std::uint64_t pair_key(std::int32_t left, std::int32_t right) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

std::uint64_t scatter(std::uint64_t x) noexcept {
  x *= 0x9E3779B97F4A7C15ULL;
  return x ^ (x >> 29);
}

std::uint64_t piece_hash(std::string_view piece) noexcept {
  std::uint64_t hash = piece.size();
  while (piece.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, piece.data(), 8);
    hash = scatter(hash ^ word);
    piece.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, piece.data(), piece.size());
  return scatter(scatter(hash ^ word));
}

}  // namespace

Bpe::Bpe(BpeParts parts, const std::string& where) : parts_(std::move(parts)) {
  check_parts(where);
  index_bytes(where);
  index_merges();
  if (parts_.whole_words)
    for (std::size_t id = 0; id < parts_.tokens.size(); ++id)
      words_.try_emplace(parts_.tokens[id], static_cast<std::int32_t>(id));
  // A special token is not a text token, even if its bytes appear in text.
  for (const SpecialToken& token : parts_.special) words_.erase(token.text);
  words_.erase("");
  for (const AddedToken& token : parts_.added)
    added_[token.normalized ? 1 : 0].add(token.text, token.id);
}

void Bpe::check_parts(const std::string& where) {
  const auto wrong = [&](const std::string& what) {
    throw Error(ErrorKind::config, what, where, kWantedFile);
  };
  const auto check_token = [&](const char* kind, const std::string& text, std::int32_t id) {
    if (text.empty()) wrong(fmt::format("the {} token {} is empty", kind, id));
    if (id < 0 || id >= vocabulary())
      wrong(fmt::format("the {} token '{}' has the id {}, outside of the vocabulary of {}", kind,
                        printable(text), id, vocabulary()));
  };
  for (const SpecialToken& token : parts_.special) check_token("special", token.text, token.id);
  for (const AddedToken& token : parts_.added) check_token("added", token.text, token.id);
  const auto known = [&](std::int32_t id) {
    return id >= 0 && id < vocabulary() && !parts_.tokens[static_cast<std::size_t>(id)].empty();
  };
  for (std::size_t i = 0; i < parts_.merges.size(); ++i) {
    const auto& [left, right, result] = parts_.merges[i];
    if (!known(left) || !known(right) || !known(result))
      wrong(fmt::format("merges[{}] is of tokens that are not in the vocabulary", i));
    const auto& tokens = parts_.tokens;
    if (tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)] !=
        tokens[static_cast<std::size_t>(result)])
      wrong(fmt::format("the result of merges[{}] is not its two parts", i));
  }
}

void Bpe::index_bytes(const std::string& where) {
  std::vector<bool> taken(parts_.tokens.size());
  byte_ids_.fill(-1);
  const auto take = [&](std::size_t id) {
    const std::string& bytes = parts_.tokens[id];
    if (taken[id] || bytes.size() != 1) return;
    std::int32_t& of_byte = byte_ids_[static_cast<unsigned char>(bytes[0])];
    if (of_byte < 0) of_byte = static_cast<std::int32_t>(id);
  };
  for (const SpecialToken& token : parts_.special) taken[static_cast<std::size_t>(token.id)] = true;
  std::vector<bool> is_added(parts_.tokens.size());
  for (const AddedToken& token : parts_.added) is_added[static_cast<std::size_t>(token.id)] = true;
  for (std::size_t id = 0; id < parts_.tokens.size(); ++id)
    if (!is_added[id]) take(id);
  // An added token of one byte may be the vocabulary's token for that byte.
  for (const AddedToken& token : parts_.added) take(static_cast<std::size_t>(token.id));
  if (const auto missing = std::ranges::find(byte_ids_, -1); missing != byte_ids_.end())
    throw Error(ErrorKind::config,
                fmt::format("no token stands for the byte 0x{:02X}: text with it cannot be encoded",
                            missing - byte_ids_.begin()),
                where, kWantedFile);
}

void Bpe::index_merges() {
  slots_.resize(std::bit_ceil(2 * parts_.merges.size() + 2));
  for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
    const Merge& merge = parts_.merges[rank];
    const std::uint64_t key = pair_key(merge.left, merge.right);
    std::size_t at = scatter(key) & (slots_.size() - 1);
    while (slots_[at].pair != ~std::uint64_t{0} && slots_[at].pair != key)
      at = (at + 1) & (slots_.size() - 1);
    // A repeated merge has the last one's rank, as in Hugging Face's tokenizers.
    slots_[at] = {key, static_cast<std::int32_t>(rank), merge.result};
  }
}

const Bpe::Slot* Bpe::find(std::int32_t left, std::int32_t right) const noexcept {
  const std::uint64_t key = pair_key(left, right);
  for (std::size_t at = scatter(key) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == key) return &slots_[at];
    if (slots_[at].pair == ~std::uint64_t{0}) return nullptr;
  }
}

std::optional<std::int32_t> Bpe::special(std::string_view text) const noexcept {
  const auto it = std::ranges::find(parts_.special, text, &SpecialToken::text);
  if (it == parts_.special.end()) return std::nullopt;
  return it->id;
}

std::optional<std::int32_t> Bpe::added(std::string_view text) const noexcept {
  const auto it = std::ranges::find(parts_.added, text, &AddedToken::text);
  if (it == parts_.added.end()) return std::nullopt;
  return it->id;
}

std::optional<std::int32_t> Bpe::end_of_text() const noexcept {
  for (const std::string_view text : {"<|end_of_text|>", "<|endoftext|>", "</s>", "<eos>"})
    for (const std::optional<std::int32_t> id : {special(text), added(text)})
      if (id) return id;
  return std::nullopt;
}

std::string Bpe::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocabulary() || parts_.tokens[static_cast<std::size_t>(id)].empty())
      throw Error(ErrorKind::config,
                  fmt::format("{} is no token of this vocabulary of {}", id, vocabulary()), {},
                  "decode with the tokenizer that encoded it");
    text += parts_.tokens[static_cast<std::size_t>(id)];
  }
  return text;
}

BpeEncoder::BpeEncoder(const Bpe& bpe) : bpe_(bpe), known_(kKnownSlots) {}

void BpeEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  encode_around(text, 0, ids);
}

// The next pass searches the text between this pass's added tokens; the text left by the last pass
// is cut into pieces as if nothing were beside it.
void BpeEncoder::encode_around(std::string_view text, std::size_t pass,
                               std::vector<std::int32_t>& ids) {
  if (pass < bpe_.added_.size()) {
    std::size_t at = 0;
    while (const auto hit = bpe_.added_[pass].find(text, at)) {
      encode_around(text.substr(at, hit->at - at), pass + 1, ids);
      ids.push_back(hit->id);
      at = hit->at + hit->size;
    }
    return encode_around(text.substr(at), pass + 1, ids);
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = piece_end(text, at, bpe_.parts_.rules);
    encode_piece(text.substr(at, end - at), ids);
    at = end;
  }
}

void BpeEncoder::encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) {
  if (piece.size() > Known::kBytes) {
    if (const auto word = bpe_.words_.find(piece); word != bpe_.words_.end())
      ids.push_back(word->second);
    else if (piece.size() <= kShort)
      merge_short(piece, ids);
    else
      merge_long(piece, ids);
    return;
  }
  Known& known = known_[piece_hash(piece) & (kKnownSlots - 1)];
  if (known.size == piece.size() && std::memcmp(known.bytes, piece.data(), piece.size()) == 0) {
    ids.insert(ids.end(), known.ids, known.ids + known.count);
    return;
  }
  const std::size_t before = ids.size();
  if (const auto word = bpe_.words_.find(piece); word != bpe_.words_.end())
    ids.push_back(word->second);
  else
    merge_short(piece, ids);
  const std::size_t count = ids.size() - before;
  if (count > Known::kTokens) return;
  std::memcpy(known.bytes, piece.data(), piece.size());
  std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(before), count, known.ids);
  known.size = static_cast<std::uint8_t>(piece.size());
  known.count = static_cast<std::uint8_t>(count);
}

void BpeEncoder::merge_short(std::string_view piece, std::vector<std::int32_t>& ids) {
  struct Part {
    std::int32_t id;
    std::int32_t rank;  // of this and the next token; kNone: not merged
    std::int32_t result;
  };
  std::array<Part, kShort> parts;
  std::size_t count = piece.size();
  const auto look = [&](std::size_t i) {
    const Bpe::Slot* const slot = i + 1 < count ? bpe_.find(parts[i].id, parts[i + 1].id) : nullptr;
    parts[i].rank = slot != nullptr ? slot->rank : kNone;
    parts[i].result = slot != nullptr ? slot->result : 0;
  };
  for (std::size_t i = 0; i < count; ++i)
    parts[i].id = bpe_.byte_ids_[static_cast<unsigned char>(piece[i])];
  for (std::size_t i = 0; i < count; ++i) look(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (parts[i].rank < parts[best].rank) best = i;
    if (parts[best].rank == kNone) break;
    parts[best].id = parts[best].result;
    std::copy(parts.begin() + best + 2, parts.begin() + count, parts.begin() + best + 1);
    --count;
    look(best);
    if (best > 0) look(best - 1);
  }
  for (std::size_t i = 0; i < count; ++i) ids.push_back(parts[i].id);
}

void BpeEncoder::merge_long(std::string_view piece, std::vector<std::int32_t>& ids) {
  // Lowest rank first, leftmost among equals; an entry is skipped if its tokens have changed.
  struct Candidate {
    std::int32_t rank;
    std::int32_t at;
    std::int32_t left;
    std::int32_t right;
    bool operator>(const Candidate& other) const noexcept {
      return std::tie(rank, at) > std::tie(other.rank, other.at);
    }
  };
  if (piece.size() > std::size_t{kNone} / 2)
    throw Error(ErrorKind::environment, "a word of more than 1 GiB cannot be encoded", {},
                "is this text?");
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto count = static_cast<std::int32_t>(piece.size());
  nodes_.resize(piece.size());
  const auto look = [&](std::int32_t at) {
    const Node& node = nodes_[static_cast<std::size_t>(at)];
    if (node.after == count) return;
    const std::int32_t right = nodes_[static_cast<std::size_t>(node.after)].id;
    if (const Bpe::Slot* const slot = bpe_.find(node.id, right); slot != nullptr)
      queue.push({slot->rank, at, node.id, right});
  };
  for (std::int32_t i = 0; i < count; ++i)
    nodes_[static_cast<std::size_t>(i)] = {
        bpe_.byte_ids_[static_cast<unsigned char>(piece[static_cast<std::size_t>(i)])], i - 1,
        i + 1};
  for (std::int32_t i = 0; i < count; ++i) look(i);
  while (!queue.empty()) {
    const Candidate next = queue.top();
    queue.pop();
    Node& node = nodes_[static_cast<std::size_t>(next.at)];
    if (node.id != next.left || node.after == count) continue;
    Node& right = nodes_[static_cast<std::size_t>(node.after)];
    if (right.id != next.right) continue;
    node.id = bpe_.find(next.left, next.right)->result;
    right.id = -1;
    node.after = right.after;
    if (node.after != count) nodes_[static_cast<std::size_t>(node.after)].before = next.at;
    look(next.at);
    if (node.before >= 0) look(node.before);
  }
  for (std::int32_t at = 0; at < count; at = nodes_[static_cast<std::size_t>(at)].after)
    ids.push_back(nodes_[static_cast<std::size_t>(at)].id);
}

}  // namespace assay::train::tokens
