#include "train/data/token_set.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/data/markov_language.h"
#include "train/data/token_files.h"

namespace assay::train::data {

const std::vector<std::string>& token_set_names() {
  static const std::vector<std::string> names{"language", "text", "indexed"};
  return names;
}

TokenSet open_token_set(const TokenSetOptions& options) {
  if (options.sequence < 8 || options.sequence > 1 << 20)
    throw Error(ErrorKind::config, fmt::format("a sequence of {} tokens", options.sequence),
                "data set " + printable(options.set), "use 8 to 1,048,576");
  if (options.set == "language") return open_language(options);
  if (options.set == "text") return open_token_text(options);
  if (options.set == "indexed") return open_indexed_tokens(options);
  throw Error(ErrorKind::config,
              fmt::format("unknown token set '{}'{}", printable(options.set),
                          did_you_mean(options.set, token_set_names())),
              "data set", "known sets: " + join(token_set_names(), ", "));
}

}  // namespace assay::train::data
