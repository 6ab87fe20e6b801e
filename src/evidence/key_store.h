#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "evidence/key.h"

namespace assay::evidence {

/// A user's keys: a folder with `own.key` (private, PEM, 0600), earlier ones (`old-<UTC>.key`) and
/// `trusted/<name>.pub` (one line: a public key). Every file is written atomically; two programs
/// may use it at once. What cannot be read or written is an Error of kind environment.
class KeyStore {
 public:
  explicit KeyStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// $ASSAY_KEYS, $XDG_CONFIG_HOME/assay/keys or ~/.config/assay/keys. Throws Error of kind
  /// environment where none is set.
  [[nodiscard]] static KeyStore of_user();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// The own key, or nothing when none was made yet. Throws Error of kind environment when others
  /// may read it, of kind config when it is damaged.
  [[nodiscard]] std::optional<SigningKey> own() const;
  /// The own key; makes one when there is none. Of several that do so at once all get the same.
  [[nodiscard]] SigningKey own_or_new() const;
  /// A new own key; the old one stays in the folder under another name.
  [[nodiscard]] SigningKey replace_own() const;

  /// Names and public keys. A file that holds no key is left out.
  [[nodiscard]] std::map<std::string, std::string> trusted() const;
  /// The name under which the key is trusted (the first of several), or empty.
  [[nodiscard]] std::string name_of(std::string_view public_key) const;
  /// Replaces the key of that name. Throws Error of kind usage for a bad name or key.
  void trust(const std::string& name, const std::string& public_key) const;
  /// Gives whether there was such a name. Throws Error of kind usage for a bad name.
  bool distrust(const std::string& name) const;

 private:
  [[nodiscard]] std::filesystem::path own_file() const { return folder_ / "own.key"; }
  [[nodiscard]] std::filesystem::path trusted_file(const std::string& name) const;
  void make_folder() const;
  [[nodiscard]] std::filesystem::path write_private(const SigningKey& key) const;

  std::filesystem::path folder_;
};

}  // namespace assay::evidence
