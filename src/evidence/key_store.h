#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "evidence/key.h"

namespace assay::evidence {

/// A user's keys: a folder with `own.key` (private, PEM, 0600), earlier ones (`old-<UTC>.key`) and
/// `trusted/<name>.pub` (one line: a public key). Files are written atomically; two programs may
/// use it at once. Failures to read or write throw Error of kind environment.
class KeyStore {
 public:
  explicit KeyStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// $ASSAY_KEYS, $XDG_CONFIG_HOME/assay/keys or ~/.config/assay/keys. Throws Error of kind
  /// environment if none is set.
  [[nodiscard]] static KeyStore of_user();
  /// The keys that a site's users trust: $ASSAY_SITE_KEYS or /etc/assay/keys. It has no own key.
  [[nodiscard]] static KeyStore of_site();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// The own key, or nothing if none was made yet. Throws Error of kind environment when others may
  /// read it, of kind config when it is damaged.
  [[nodiscard]] std::optional<SigningKey> own() const;
  /// The own key, created if there is none. Concurrent callers all get the same key.
  [[nodiscard]] SigningKey own_or_new() const;
  /// Creates a new own key and keeps the old one in the folder under another name.
  [[nodiscard]] SigningKey replace_own() const;
  /// The owner's name for the own key, or empty. Only the owner sees it: others know a key by the
  /// name under which they trust it.
  [[nodiscard]] std::string own_name() const;
  /// Throws Error of kind usage for a bad name.
  void name_own(const std::string& name) const;

  /// Names and public keys. Files without a key are left out.
  [[nodiscard]] std::map<std::string, std::string> trusted() const;
  /// The name under which the key is trusted (the first of several), or empty.
  [[nodiscard]] std::string name_of(std::string_view public_key) const;
  /// Adds or replaces the key of that name. Throws Error of kind usage for a bad name or key.
  void trust(const std::string& name, const std::string& public_key) const;
  /// Returns whether the name existed. Throws Error of kind usage for a bad name.
  bool distrust(const std::string& name) const;

 private:
  [[nodiscard]] std::filesystem::path own_file() const { return folder_ / "own.key"; }
  [[nodiscard]] std::filesystem::path trusted_file(const std::string& name) const;
  void make_folder() const;
  [[nodiscard]] std::filesystem::path write_private(const SigningKey& key) const;

  std::filesystem::path folder_;
};

/// The name under which a key is trusted, and by whom.
struct Trust {
  std::string name{};  ///< empty: not trusted
  std::string by{};    ///< "you", "this site"
};

/// Looks in the user's keys, including the own one, and then in the site's. Unreadable keys trust
/// nobody.
[[nodiscard]] Trust trust_of(std::string_view public_key);

/// The signer in words: "lab, whose key is trusted by you (SHA256:…)", "SHA256:…, a key that is not
/// trusted by anybody here", "nobody". `fingerprint` is empty for an unsigned seal.
[[nodiscard]] std::string signer_text(std::string_view fingerprint, const Trust& trust);

}  // namespace assay::evidence
