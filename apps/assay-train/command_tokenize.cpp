#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "arguments.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/time.h"
#include "core/units.h"
#include "progress_line.h"
#include "train/tokens/indexed_set.h"
#include "train/tokens/indexed_writer.h"
#include "train/tokens/tokenize.h"
#include "train/tokens/tokenizer_json.h"
#include "train_commands.h"

namespace assay::train {

namespace {

namespace fs = std::filesystem;

const CommandHelp& tokenize_help() {
  static const CommandHelp help{
      "tokenize",
      "INPUT...",
      "Writes the text of files and folders (.txt: a file is a document; .jsonl: a line is one) "
      "as\n"
      "PREFIX.bin and PREFIX.idx, which assay-train (data: indexed) and Megatron read, and the\n"
      "tokenizer as PREFIX.tokenizer.json. Nothing is there under these names before all of it is\n"
      "written; a run that was stopped begins again.",
      {{"--output", "PREFIX", "of the files to write"},
       {"--tokenizer", "FILE", "a byte-level BPE as Hugging Face's tokenizer.json"},
       {"--learn", "SIZE", "instead: learn a vocabulary of SIZE tokens from the text"},
       {"--rules", "RULES", "of --learn: how text is split, llama3 (default), qwen2 or gpt2"},
       {"--key", "NAME", "of .jsonl: the member with the text (default text)"},
       {"--no-end", "", "no <|end_of_text|> behind each document"},
       {"--threads", "N", "default: one a processor"},
       {"--force", "", "replace files that are there"},
       {"--format", "FORMAT", "of what is printed: text or json"}},
      {"assay-train tokenize corpus/ --tokenizer llama3/tokenizer.json --output data/corpus",
       "assay-train tokenize a.jsonl b.jsonl --learn 32000 --output data/ab --threads 8"}};
  return help;
}

tokens::SplitRules rules_of_name(const std::string& name) {
  if (name == "gpt2") return tokens::kGpt2Rules;
  if (name == "qwen2") return tokens::kQwen2Rules;
  return tokens::kLlama3Rules;
}

tokens::Bpe tokenizer_of(const Arguments& arguments, const std::vector<tokens::TextFile>& files,
                         const tokens::TokenizeOptions& options) {
  if (arguments.has("--tokenizer") == arguments.has("--learn"))
    arguments.wrong("give either --tokenizer or --learn");
  const std::string rules = arguments.choice("--rules", {"llama3", "qwen2", "gpt2"});
  if (arguments.has("--tokenizer")) {
    if (arguments.has("--rules")) arguments.wrong("--rules belongs to --learn");
    return tokens::read_tokenizer(arguments.text("--tokenizer"));
  }
  const std::int64_t size = arguments.integer("--learn", 0, 257, 1'000'000);
  ProgressLine line;
  tokens::TokenizeOptions counting = options;
  counting.progress = [&](std::int64_t done, std::int64_t all, std::int64_t) {
    line.show(fmt::format("counting words: {} of {}", format_bytes(static_cast<double>(done)),
                          format_bytes(static_cast<double>(all))));
  };
  return tokens::learn_bpe(tokens::count_pieces(files, rules_of_name(rules), counting), size,
                           [&](std::int64_t done, std::int64_t all) {
                             line.show(fmt::format("learning: {} of {} merges", done, all));
                           });
}

std::string summary_of(const tokens::Tokenized& done, const fs::path& prefix,
                       std::int64_t vocabulary, double seconds) {
  std::string text = fmt::format(
      "{}: {} documents, {} tokens of a vocabulary of {}, {:.2f} bytes of text a token, {}/s\n",
      prefix.string(), done.documents, done.tokens, vocabulary,
      static_cast<double>(done.bytes) / static_cast<double>(std::max<std::int64_t>(1, done.tokens)),
      format_bytes(static_cast<double>(done.bytes) / seconds));
  if (done.empty_documents > 0)
    text += fmt::format("{} empty documents were left out\n", done.empty_documents);
  return text;
}

}  // namespace

int run_tokenize(const std::vector<std::string>& given) {
  if (wants_help(tokenize_help(), given)) return 0;
  const Arguments arguments(tokenize_help(), given);
  if (arguments.operands().empty()) arguments.wrong("which files or folders?");
  if (!arguments.has("--output")) arguments.wrong("--output PREFIX is missing");
  const bool json = arguments.choice("--format", {"text", "json"}) == "json";
  tokens::TokenizeOptions options;
  options.key = arguments.text("--key", "text");
  options.threads = static_cast<int>(arguments.integer("--threads", 0, 1, 4096));
  const fs::path prefix = tokens::indexed_prefix(arguments.text("--output"));
  if (!arguments.has("--force")) tokens::require_unwritten(prefix);
  const std::vector<fs::path> inputs(arguments.operands().begin(), arguments.operands().end());
  const std::vector<tokens::TextFile> files = tokens::find_text_files(inputs);
  const tokens::Bpe bpe = tokenizer_of(arguments, files, options);
  if (!arguments.has("--no-end")) {
    options.end_token = bpe.end_of_text();
    if (!options.end_token)
      throw Error(ErrorKind::config, "the tokenizer has no token that ends a document",
                  arguments.text("--tokenizer"), "add <|end_of_text|> to it, or give --no-end");
  }
  const std::int64_t start_ns = mono_now_ns();
  tokens::IndexedWriter writer(prefix, bpe.vocabulary(), arguments.has("--force"));
  tokens::Tokenized done;
  {
    ProgressLine line;
    options.progress = [&](std::int64_t bytes, std::int64_t all, std::int64_t tokens) {
      line.show(fmt::format("{} of {}, {} tokens", format_bytes(static_cast<double>(bytes)),
                            format_bytes(static_cast<double>(all)), tokens));
    };
    done = tokens::tokenize(files, bpe, options, writer);
  }
  if (done.documents == 0)
    throw Error(ErrorKind::environment, "there is no text in these files", inputs[0].string(),
                "give files that are not empty");
  write_file_atomic(prefix.string() + ".tokenizer.json", tokens::tokenizer_json(bpe));
  writer.finish();
  const double seconds = 1e-9 * static_cast<double>(mono_now_ns() - start_ns);
  const std::string out = json ? dump_pretty({{"prefix", prefix.string()},
                                              {"documents", done.documents},
                                              {"empty_documents", done.empty_documents},
                                              {"tokens", done.tokens},
                                              {"vocabulary", bpe.vocabulary()},
                                              {"bytes", done.bytes},
                                              {"file_bytes", done.file_bytes},
                                              {"seconds", seconds}})
                               : summary_of(done, prefix, bpe.vocabulary(), seconds);
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace assay::train
