#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::code {

/// Rules of a file in the syntax of .gitignore: `#` begins a comment, `!` takes a rule back, a "/"
/// at the end means folders only, a "/" elsewhere binds the pattern to the folder of the file, `*`,
/// `?` and `[a-z]` stay within a name, `**` does not, `\` takes a character as it is. The last rule
/// that fits counts.
class IgnoreRules {
 public:
  /// Adds the rules of a text behind those that there are.
  void add(std::string_view text);

  /// Of a path from the folder, with "/": whether the last rule that fits ignores it or takes it
  /// back; nothing when no rule fits. What lies in an ignored folder is ignored, whatever the rules
  /// say about it: who walks the folder does not enter it.
  [[nodiscard]] std::optional<bool> says(const std::string& path, bool is_folder) const;
  [[nodiscard]] bool ignores(const std::string& path, bool is_folder) const {
    return says(path, is_folder).value_or(false);
  }

 private:
  struct Rule {
    std::vector<std::string> parts;  ///< of the pattern; "**" stands for any number of folders
    bool takes_back = false;
    bool folders_only = false;
  };
  std::vector<Rule> rules_;
};

/// What is left out wherever no rule of the user's own takes it back: results of runs, what
/// compilers and interpreters make, and environments that are made anew.
extern const std::string_view kUsualRules;

/// Whether a file's name says that it holds a secret: .env, id_rsa, *.pem, tokens.
[[nodiscard]] bool looks_secret(const std::string& path);
/// Whether a file's first bytes are those of a private key, or of JSON with a secret_key, which is
/// how files of credentials for an object store look.
[[nodiscard]] bool begins_like_a_key(std::string_view head);

}  // namespace assay::code
