#pragma once

#include <span>

namespace assay::commands {

/// What 'assay help TOPIC' says of something that is no command.
struct HelpTopic {
  const char* name;
  const char* title;
  const char* text;
  const char* page;  ///< of the documents
};

[[nodiscard]] std::span<const HelpTopic> help_topics();

}  // namespace assay::commands
