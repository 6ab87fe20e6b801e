#include "train/data/text_set.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/data/grammar.h"
#include "train/data/text_folder.h"

namespace assay::train::data {

const std::vector<std::string>& text_set_names() {
  static const std::vector<std::string> names{"grammar", "text"};
  return names;
}

TextSet open_text_set(const TextSetOptions& options) {
  if (options.set == "grammar") return open_grammar(options);
  if (options.set == "text") return open_text_folder(options);
  throw Error(ErrorKind::config,
              fmt::format("unknown text set '{}'{}", printable(options.set),
                          did_you_mean(options.set, text_set_names())),
              "data set", "known sets: " + join(text_set_names(), ", "));
}

}  // namespace assay::train::data
