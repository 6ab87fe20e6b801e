#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "evidence/key.h"

namespace assay::evidence {

/// A user's keys: a folder with `own.key` (private, PEM, 0600), earlier ones (`old-<UTC>.key`) and
/// `trusted/<name>.pub` (one line: a public key). Every file is written atomically; two programs
/// may use it at once. A failure to read or write is an Error of kind environment.
class KeyStore {
 public:
  explicit KeyStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// $ASSAY_KEYS, $XDG_CONFIG_HOME/assay/keys or ~/.config/assay/keys. Throws Error of kind
  /// environment if none is set.
  [[nodiscard]] static KeyStore of_user();
  /// Keys that all users of a site trust: $ASSAY_SITE_KEYS or /etc/assay/keys. It has no own key.
  [[nodiscard]] static KeyStore of_site();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  /// The own key, or nothing when none was made yet. Throws Error of kind environment when others
  /// may read it, of kind config when it is damaged.
  [[nodiscard]] std::optional<SigningKey> own() const;
  /// The own key; makes one if there is none. Several callers at once all get the same.
  [[nodiscard]] SigningKey own_or_new() const;
  /// A new own key; the old one stays in the folder under another name.
  [[nodiscard]] SigningKey replace_own() const;
  /// The owner's name of the own key; empty: none. Only the owner sees it: others know a key by the
  /// name under which they trust it.
  [[nodiscard]] std::string own_name() const;
  /// Throws Error of kind usage for a bad name.
  void name_own(const std::string& name) const;

  /// Names and public keys. A file without a key is left out.
  [[nodiscard]] std::map<std::string, std::string> trusted() const;
  /// The name under which the key is trusted (the first of several), or empty.
  [[nodiscard]] std::string name_of(std::string_view public_key) const;
  /// Replaces the key of that name. Throws Error of kind usage for a bad name or key.
  void trust(const std::string& name, const std::string& public_key) const;
  /// Returns whether there was such a name. Throws Error of kind usage for a bad name.
  bool distrust(const std::string& name) const;

 private:
  [[nodiscard]] std::filesystem::path own_file() const { return folder_ / "own.key"; }
  [[nodiscard]] std::filesystem::path trusted_file(const std::string& name) const;
  void make_folder() const;
  [[nodiscard]] std::filesystem::path write_private(const SigningKey& key) const;

  std::filesystem::path folder_;
};

/// Whether a key is trusted, by whom and under which name.
struct Trust {
  std::string name{};  ///< empty: nobody trusts it
  std::string by{};    ///< "you", "this site"
};

/// Looks in the user's keys, where the own one is trusted too, and then in the site's. Unreadable
/// keys are not trusted.
[[nodiscard]] Trust trust_of(std::string_view public_key);

/// The signer in words: "lab, whose key is trusted by you (SHA256:…)", "SHA256:…, a key that is
/// not trusted by anybody here", "nobody". `fingerprint` is empty when nobody did.
[[nodiscard]] std::string signer_text(std::string_view fingerprint, const Trust& trust);

}  // namespace assay::evidence
