#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/rule.h"

namespace assay::explain {

struct Paragraph {
  std::string heading;  ///< "What it means"; empty: none
  std::string text;     ///< one or more sentences
};

/// The long form of something that a report, an error or an exit code names. In English, as all
/// that Assay keeps; whoever shows it translates it.
struct Explanation {
  std::string name;  ///< "min-steps", "steady_throughput", "5"
  std::string
      kind;  ///< "rule", "finding", "metric", "fact", "error", "exit code", "verdict", "refusal"
  std::string title;  ///< one line
  std::vector<Paragraph> paragraphs;
  std::string page;  ///< "docs/rules.md"
};

/// Everything called `name`: a rule and a fact may have the same one. Case does not matter.
[[nodiscard]] std::vector<Explanation> explain(std::string_view name,
                                               std::span<const catalog::Rule> rules);

struct Topic {
  std::string name;
  std::string kind;
  std::string title;
};

/// All that can be explained, by kind and then in the order of the catalog.
[[nodiscard]] std::vector<Topic> topics(std::span<const catalog::Rule> rules);

/// The name of the rule or finding that a text of a report speaks of: the one in "[ ]" or "( )",
/// else the one whose title the text follows, as it is in `topics`, when that has a few words of
/// its own. Empty: none.
[[nodiscard]] std::string name_in(std::string_view text, std::span<const Topic> topics);

}  // namespace assay::explain
