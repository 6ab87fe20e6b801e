#include "train_commands.h"

namespace assay::train {

std::span<const Command> commands() {
  static const std::vector<Command> all{
      {"plan", "what a training of a language model needs, and what bounds it", run_plan},
      {"tokenize", "write text as an indexed data set of tokens", run_tokenize},
  };
  return all;
}

}  // namespace assay::train
