#include "train/tokens/tokenizer_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_error.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "train/tokens/byte_alphabet.h"

namespace assay::train::tokens {

namespace {

// Does not use assay::Json, because the 128,256 members of a vocabulary are looked up one by one.
using Tree = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{512} << 20;
constexpr std::int64_t kMaxTokens = 16'777'216;
// Ids without a token cost memory: more than this are a mistake or an attack.
constexpr std::size_t kMaxHoles = 65'536;

/// A value in the file and its place.
class Place {
 public:
  Place(const Tree& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[noreturn]] void wrong(const std::string& what, const std::string& advice = {}) const {
    throw Error(ErrorKind::config, what, where_,
                advice.empty() ? "give the tokenizer.json of a byte-level BPE" : advice);
  }
  [[nodiscard]] const Tree& value() const noexcept { return value_; }
  /// The member; null if missing.
  [[nodiscard]] Place at(const char* key) const {
    static const Tree none;
    const std::string place = where_ + (where_.find(": ") == std::string::npos ? ": " : ".") + key;
    if (!value_.is_object()) wrong("expected an object");
    const auto it = value_.find(key);
    return {it == value_.end() ? none : *it, place};
  }
  [[nodiscard]] Place at(std::size_t index) const {
    return {value_[index], fmt::format("{}[{}]", where_, index)};
  }
  [[nodiscard]] const std::string& text() const {
    if (!value_.is_string()) wrong("expected text");
    return value_.get_ref<const std::string&>();
  }
  [[nodiscard]] std::int32_t id() const { return id_of(value_); }
  [[nodiscard]] std::int32_t id_of(const Tree& value) const {
    if (!value.is_number_integer() || value < 0 || value >= kMaxTokens)
      wrong(fmt::format("'{}' is not the id of a token, 0 … {}", ellipsize(value.dump(), 40),
                        kMaxTokens - 1));
    return value.get<std::int32_t>();
  }
  [[nodiscard]] bool truth() const {
    if (value_.is_null()) return false;
    if (!value_.is_boolean()) wrong("expected true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] bool is_none() const {
    return value_.is_null() || (value_.is_string() && value_.get_ref<const std::string&>().empty());
  }
  [[nodiscard]] const Place& array() const {
    if (!value_.is_array()) wrong("expected a list");
    return *this;
  }

 private:
  const Tree& value_;
  std::string where_;
};

void refuse_what_changes_text(const Place& file) {
  if (const Place normalizer = file.at("normalizer"); !normalizer.value().is_null())
    normalizer.wrong(fmt::format("a normalizer ({}) is not supported",
                                 printable(normalizer.at("type").value().dump())),
                     "use a tokenizer without one");
  const Place model = file.at("model");
  if (const Place type = model.at("type"); !type.value().is_null() && type.text() != "BPE")
    type.wrong(fmt::format("'{}' is not BPE", printable(type.text())));
  if (const Place fallback = model.at("byte_fallback"); fallback.truth())
    fallback.wrong("a tokenizer that falls back to bytes is not byte-level: it is not supported",
                   "use one whose vocabulary is of bytes, as those of GPT-2 and Llama 3");
  if (const Place dropout = model.at("dropout");
      !dropout.value().is_null() && dropout.value() != 0.0)
    dropout.wrong("dropout makes tokens random: it is not supported", "set it to null");
  for (const char* const key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const Place affix = model.at(key); !affix.is_none())
      affix.wrong("is not supported in a byte-level BPE");
}

void require_byte_level(const Place& step) {
  if (step.at("add_prefix_space").truth())
    step.at("add_prefix_space")
        .wrong("a blank before every text is not supported", "use a tokenizer that has it false");
}

SplitRules split_of(const Place& split) {
  const Place pattern = split.at("pattern").at("Regex");
  const std::optional<SplitRules> rules = rules_of(pattern.text());
  if (!rules)
    pattern.wrong(
        fmt::format("the pattern '{}' is not supported", ellipsize(printable(pattern.text()), 60)),
        "those of GPT-2, Llama 3 and Qwen 2 are");
  if (const Place behavior = split.at("behavior"); behavior.text() != "Isolated")
    behavior.wrong(fmt::format("'{}' is not supported", printable(behavior.text())),
                   "only 'Isolated' is");
  if (const Place invert = split.at("invert"); invert.truth()) invert.wrong("is not supported");
  return *rules;
}

SplitRules read_rules(const Place& step) {
  if (step.value().is_null()) step.wrong("there is none: the text's words are not known");
  const std::string& type = step.at("type").text();
  if (type == "ByteLevel") {
    require_byte_level(step);
    const Place regex = step.at("use_regex");
    if (!regex.value().is_null() && !regex.truth()) regex.wrong("there is no pattern to split by");
    return kGpt2Rules;
  }
  const auto wrong = [&] {
    step.wrong("expected ByteLevel, or a Split by a known pattern and then ByteLevel");
  };
  if (type != "Sequence") wrong();
  const Place steps = step.at("pretokenizers").array();
  if (steps.value().size() == 1) return read_rules(steps.at(std::size_t{0}));
  if (steps.value().size() != 2) wrong();
  const Place split = steps.at(std::size_t{0});
  const Place bytes = steps.at(std::size_t{1});
  if (split.at("type").text() != "Split" || bytes.at("type").text() != "ByteLevel") wrong();
  require_byte_level(bytes);
  const Place regex = bytes.at("use_regex");
  if (regex.value().is_null() || regex.truth())
    regex.wrong("splitting a second time is not supported", "only 'use_regex': false is");
  return split_of(split);
}

/// The tokens by id, and ids by token.
class TokenTable {
 public:
  TokenTable(std::vector<std::string>& tokens, std::size_t expected)
      : tokens_(tokens), most_(expected + kMaxHoles) {}

  void add(const std::string& bytes, std::int32_t id, const Place& place) {
    if (static_cast<std::size_t>(id) >= most_)
      place.wrong(fmt::format("the id {} of '{}' is far beyond the number of tokens", id,
                              ellipsize(to_alphabet(bytes), 40)));
    if (static_cast<std::size_t>(id) >= tokens_.size())
      tokens_.resize(static_cast<std::size_t>(id) + 1);
    std::string& slot = tokens_[static_cast<std::size_t>(id)];
    if (!slot.empty() && slot != bytes)
      place.wrong(fmt::format("'{}' and '{}' have the same id {}", to_alphabet(slot),
                              to_alphabet(bytes), id));
    slot = bytes;
  }

 private:
  std::vector<std::string>& tokens_;
  std::size_t most_;
};

void read_vocabulary(const Place& vocabulary, TokenTable& table) {
  if (!vocabulary.value().is_object() || vocabulary.value().empty())
    vocabulary.wrong("expected an object of tokens and their ids");
  for (const auto& [text, value] : vocabulary.value().items()) {
    const std::int32_t id = vocabulary.id_of(value);
    // A token outside the byte alphabet is a special token, named by added_tokens.
    const std::optional<std::string> bytes = from_alphabet(text);
    if (bytes && bytes->empty()) vocabulary.wrong("a token is empty");
    table.add(bytes ? *bytes : text, id, vocabulary);
  }
}

std::pair<std::string, std::string> merge_at(const Place& merge) {
  if (merge.value().is_array() && merge.value().size() == 2)
    return {merge.at(std::size_t{0}).text(), merge.at(std::size_t{1}).text()};
  const std::string& text = merge.text();
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos)
    merge.wrong(fmt::format("'{}' is not two tokens", ellipsize(printable(text), 40)));
  return {text.substr(0, blank), text.substr(blank + 1)};
}

void read_merges(const Place& merges, const Place& vocabulary, std::vector<Merge>& out) {
  const std::size_t count = merges.array().value().size();
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = [&](const std::string& token) {
      const auto it = vocabulary.value().find(token);
      if (it == vocabulary.value().end())
        merges.at(i).wrong(
            fmt::format("'{}' is not in the vocabulary", ellipsize(printable(token), 40)));
      return vocabulary.id_of(*it);
    };
    const auto [left, right] = merge_at(merges.at(i));
    out.push_back({id(left), id(right), id(left + right)});
  }
}

// Long files are cut before a blank between letters (next_cut), which would cut through it.
bool may_be_cut(std::string_view token) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t i = 1; i < token.size(); ++i)
    if (token[i] == ' ' && is_letter(token[i - 1])) return true;
  return false;
}

void read_added(const Place& added, const Place& vocabulary, TokenTable& table, BpeParts& parts) {
  if (added.value().is_null()) return;
  for (std::size_t i = 0; i < added.array().value().size(); ++i) {
    const Place token = added.at(i);
    for (const char* const key : {"single_word", "lstrip", "rstrip"})
      if (const Place flag = token.at(key); flag.truth()) flag.wrong("is not supported");
    const std::string& content = token.at("content").text();
    if (content.empty()) token.at("content").wrong("the token is empty");
    const std::int32_t id = token.at("id").id();
    // Hugging Face's tokenizers would use the vocabulary's.
    if (const auto known = vocabulary.value().find(content);
        known != vocabulary.value().end() && vocabulary.id_of(*known) != id)
      token.at("id").wrong(fmt::format("'{}' has the id {} here and {} in model.vocab",
                                       ellipsize(printable(content), 40), id,
                                       vocabulary.id_of(*known)));
    table.add(content, id, token);
    if (token.at("special").truth()) {
      parts.special.push_back({content, id});
      continue;
    }
    if (may_be_cut(content))
      token.at("content").wrong(
          fmt::format(
              "'{}', which is not special, has a blank behind a letter: it is not supported",
              ellipsize(printable(content), 40)),
          "use a tokenizer without it, or make it special: then it is text in a text");
    parts.added.push_back({content, id, token.at("normalized").truth()});
  }
}

std::string quoted(const std::string& text) {
  return Tree(text).dump();
}

}  // namespace

Bpe parse_tokenizer(std::string_view text, const std::string& where) {
  Tree tree;
  try {
    tree = Tree::parse(text);
  } catch (const std::exception& error) {
    const JsonFlaw flaw = flaw_of(error, text);
    throw Error(ErrorKind::config, flaw.what, flaw.place(where), "give a whole tokenizer.json");
  }
  const Place file(tree, where);
  refuse_what_changes_text(file);
  BpeParts parts;
  parts.rules = read_rules(file.at("pre_tokenizer"));
  const Place model = file.at("model");
  TokenTable table(parts.tokens,
                   model.at("vocab").value().size() + file.at("added_tokens").value().size());
  read_vocabulary(model.at("vocab"), table);
  read_merges(model.at("merges"), model.at("vocab"), parts.merges);
  read_added(file.at("added_tokens"), model.at("vocab"), table, parts);
  parts.whole_words = model.at("ignore_merges").truth();
  return {std::move(parts), where};
}

Bpe read_tokenizer(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kMostBytes)
    throw Error(ErrorKind::config, "more than 512 MiB is no tokenizer.json", path.string(),
                "give the tokenizer.json of a byte-level BPE");
  return parse_tokenizer(read_plain_file(path), path.string());
}

std::string tokenizer_json(const Bpe& bpe) {
  const BpeParts& parts = bpe.parts();
  std::string text = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n";
  std::vector<bool> is_special(parts.tokens.size());
  Tree added = Tree::array();
  const auto add = [&](const std::string& content, std::int32_t id, bool normalized, bool special) {
    added.push_back({{"id", id},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", normalized},
                     {"special", special}});
  };
  for (const SpecialToken& token : parts.special) {
    is_special[static_cast<std::size_t>(token.id)] = true;
    add(token.text, token.id, false, true);
  }
  for (const AddedToken& token : parts.added) add(token.text, token.id, token.normalized, false);
  text += "  \"added_tokens\": " + added.dump() + ",\n  \"normalizer\": null,\n";
  const bool gpt2 = parts.rules == kGpt2Rules;
  const Tree bytes{{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", true},
                   {"use_regex", gpt2}};
  const Tree split{{"type", "Split"},
                   {"pattern", {{"Regex", pattern_of(parts.rules)}}},
                   {"behavior", "Isolated"},
                   {"invert", false}};
  const Tree both{{"type", "Sequence"}, {"pretokenizers", Tree::array({split, bytes})}};
  text += "  \"pre_tokenizer\": " + (gpt2 ? bytes : both).dump() + ",\n";
  text += "  \"post_processor\": null,\n  \"decoder\": " + bytes.dump() + ",\n";
  text +=
      "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n"
      "    \"fuse_unk\": false,\n    \"byte_fallback\": false,\n";
  text += fmt::format("    \"ignore_merges\": {},\n    \"vocab\": {{", parts.whole_words);
  const char* separator = "\n";
  for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
    if (parts.tokens[id].empty() || is_special[id]) continue;
    text += fmt::format("{}      {}: {}", separator, quoted(to_alphabet(parts.tokens[id])), id);
    separator = ",\n";
  }
  text += "\n    },\n    \"merges\": [";
  separator = "\n";
  const auto token = [&](std::int32_t id) {
    return to_alphabet(parts.tokens[static_cast<std::size_t>(id)]);
  };
  for (const Merge& merge : parts.merges) {
    text += separator;
    text += "      " + quoted(token(merge.left) + " " + token(merge.right));
    separator = ",\n";
  }
  text += "\n    ]\n  }\n}\n";
  return text;
}

}  // namespace assay::train::tokens
