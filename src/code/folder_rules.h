#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "code/ignore_rules.h"

namespace assay::code {

/// The file with a user's own rules, in the folder that is sent.
inline constexpr const char* kIgnoreFile = ".assayignore";

/// What of a folder is sent, wherever it goes: to the platform, or to an object store.
///
/// .git, .hg, .svn, folders with an index of runs and the data folder of a server (with its
/// admin.token) never go, whatever else is said. Then the folder's .assayignore counts; where no
/// rule of it fits, kUsualRules do, and runs and what looks like a secret stay here.
class FolderRules {
 public:
  explicit FolderRules(const std::filesystem::path& folder);

  enum class Choice { send, leave_out, secret, run };
  /// By the name, from the folder, with "/". A folder that is left out is not entered.
  [[nodiscard]] Choice of_file(const std::string& path) const;
  /// The same of a folder in it; `place` is where it lies.
  [[nodiscard]] Choice of_folder(const std::string& path, const std::filesystem::path& place) const;
  /// Of a file that is sent by its name, by its first kHeadBytes, or all that it has.
  [[nodiscard]] Choice of_content(const std::string& path, std::string_view head) const;

  static constexpr std::size_t kHeadBytes = 4096;

 private:
  IgnoreRules usual_;
  IgnoreRules own_;
};

/// Names for a line: ten of them, and how many more there are.
[[nodiscard]] std::string listed_names(const std::vector<std::string>& names);

}  // namespace assay::code
