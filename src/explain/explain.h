#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/rule.h"

namespace assay::explain {

struct Paragraph {
  std::string heading;  ///< "What it means"; or empty
  std::string text;     ///< one or more sentences
};

/// The long explanation of something named by a report, an error or an exit code. In English, like
/// everything that Assay stores; translated where it is shown.
struct Explanation {
  std::string name;  ///< "min-steps", "steady_throughput", "5"
  std::string
      kind;  ///< "rule", "finding", "metric", "fact", "error", "exit code", "verdict", "refusal"
  std::string title;  ///< one line
  std::vector<Paragraph> paragraphs;
  std::string page;  ///< "docs/rules.md"
};

/// Everything called `name`; a rule and a fact may share one. Ignores case.
[[nodiscard]] std::vector<Explanation> explain(std::string_view name,
                                               std::span<const catalog::Rule> rules);

struct Topic {
  std::string name;
  std::string kind;
  std::string title;
};

/// Everything that can be explained, by kind and then in catalog order.
[[nodiscard]] std::vector<Topic> topics(std::span<const catalog::Rule> rules);

/// The name of the rule or finding that a report's text refers to: the one in "[ ]" or "( )", else
/// the one in `topics` whose title the text follows, if that has a few words of its own. Empty if
/// there is none.
[[nodiscard]] std::string name_in(std::string_view text, std::span<const Topic> topics);

}  // namespace assay::explain
