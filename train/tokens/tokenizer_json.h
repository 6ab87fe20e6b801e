#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "train/tokens/bpe.h"

namespace assay::train::tokens {

/// Reads a tokenizer.json of Hugging Face's tokenizers: a byte-level BPE as in GPT-2, Llama 3 and
/// Qwen 2. Anything that would change the encoding (a normalizer, another pattern, byte_fallback,
/// dropout, a prefix or suffix of subwords, tokens that include neighboring spaces) is refused by
/// name. A post-processor, which adds tokens around text, is not applied. Throws Error of kind
/// environment if the file cannot be read, otherwise of kind config at its place in the file
/// ("tokenizer.json: model.merges[3]").
[[nodiscard]] Bpe read_tokenizer(const std::filesystem::path& path);
/// The same for the file's text; `where` names it.
[[nodiscard]] Bpe parse_tokenizer(std::string_view text, const std::string& where);

/// The text that read_tokenizer, and Hugging Face's tokenizers, read back.
[[nodiscard]] std::string tokenizer_json(const Bpe& bpe);

}  // namespace assay::train::tokens
