#pragma once

#include <span>

namespace assay::commands {

/// The text of 'assay help TOPIC' for a topic that is not a command.
struct HelpTopic {
  const char* name;
  const char* title;
  const char* text;
  const char* page;  ///< in the documentation
};

[[nodiscard]] std::span<const HelpTopic> help_topics();

}  // namespace assay::commands
