#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "train/tokens/bpe.h"

namespace assay::train::tokens {

/// Reads a tokenizer.json of Hugging Face's tokenizers: a byte-level BPE as GPT-2, Llama 3 and
/// Qwen 2 have it. Whatever would make it encode text otherwise than it says (a normalizer, another
/// pattern, byte_fallback, dropout, a prefix or suffix of subwords, tokens that take spaces with
/// them) is refused by its name. A post-processor is not applied: it adds tokens around text.
/// Throws Error: of kind environment when the file cannot be read, else of kind config at its
/// place in the file ("tokenizer.json: model.merges[3]").
[[nodiscard]] Bpe read_tokenizer(const std::filesystem::path& path);
/// The same of the file's text; `where` names it.
[[nodiscard]] Bpe parse_tokenizer(std::string_view text, const std::string& where);

/// What read_tokenizer, and Hugging Face's tokenizers, read back.
[[nodiscard]] std::string tokenizer_json(const Bpe& bpe);

}  // namespace assay::train::tokens
