#include "evidence/key_store.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::evidence {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPublic = ".pub";
constexpr std::string_view kOwnName = "own.name";
constexpr std::size_t kMaxKeyFile = 64 << 10;

bool is_key_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-") ==
             std::string_view::npos;
}

Error cannot_write(const fs::path& path, int error) {
  return system_error(ErrorKind::environment, "cannot write the key", path.string(), error);
}

}  // namespace

KeyStore KeyStore::of_user() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? fs::path() : fs::path(value);
  };
  if (const fs::path keys = folder("ASSAY_KEYS"); !keys.empty())
    return KeyStore(fs::absolute(keys));
  // The specification says to ignore a relative path there.
  fs::path config = folder("XDG_CONFIG_HOME");
  if (!config.is_absolute()) {
    config = folder("HOME");
    if (!config.is_absolute())
      throw Error(ErrorKind::environment, "there is no place for keys", {},
                  "set HOME, XDG_CONFIG_HOME or ASSAY_KEYS");
    config /= ".config";
  }
  return KeyStore(config / "assay" / "keys");
}

KeyStore KeyStore::of_site() {
  const char* keys = std::getenv("ASSAY_SITE_KEYS");
  return KeyStore(keys == nullptr || *keys == '\0' ? fs::path("/etc/assay/keys")
                                                   : fs::absolute(keys));
}

std::optional<SigningKey> KeyStore::own() const {
  const fs::path file = own_file();
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd || ::fstat(fd.get(), &info) != 0)
    throw system_error(ErrorKind::environment, "cannot read the key", file.string(), errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorKind::environment, "not a regular file", file.string());
  if ((info.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others may use this private key", file.string(),
                "chmod 600 it, or make a new one with 'assay key new'");
  std::string pem(kMaxKeyFile, '\0');
  const ssize_t size = ::read(fd.get(), pem.data(), pem.size());
  if (size < 0)
    throw system_error(ErrorKind::environment, "cannot read the key", file.string(), errno);
  pem.resize(static_cast<std::size_t>(size));
  return SigningKey::from_pem(pem, file.string());
}

void KeyStore::make_folder() const {
  make_directories(folder_.parent_path());
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    throw system_error(ErrorKind::environment, "cannot create the folder", folder_.string(), errno);
}

// Writes the key to a file of its own; the caller's rename or link decides what it replaces.
fs::path KeyStore::write_private(const SigningKey& key) const {
  make_folder();
  std::string name = (folder_ / "new-XXXXXX").string();
  const UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));  // 0600
  if (!fd) throw cannot_write(folder_, errno);
  try {
    write_all(fd.get(), key.to_pem(), name);
    if (::fsync(fd.get()) != 0) throw cannot_write(name, errno);
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
  return name;
}

SigningKey KeyStore::own_or_new() const {
  if (std::optional<SigningKey> key = own()) return std::move(*key);
  const fs::path made = write_private(SigningKey::generate());
  // Unlike a rename, a link never replaces a key that another run has just made and used.
  const int failed = ::link(made.c_str(), own_file().c_str()) == 0 ? 0 : errno;
  if (failed != 0 && failed != EEXIST) {
    // The file system has no links.
    const bool moved = ::rename(made.c_str(), own_file().c_str()) == 0;
    if (!moved) {
      const int error = errno;
      ::unlink(made.c_str());
      throw cannot_write(own_file(), error);
    }
  } else {
    ::unlink(made.c_str());
  }
  if (std::optional<SigningKey> key = own()) return std::move(*key);
  throw Error(ErrorKind::environment, "the key is gone again", own_file().string());
}

SigningKey KeyStore::replace_own() const {
  SigningKey key = SigningKey::generate();
  const fs::path made = write_private(key);
  const std::string old = "old-" + compact_utc(wall_now_ns());
  fs::path aside = folder_ / (old + ".key");
  for (int k = 2; fs::exists(aside); ++k)
    aside = folder_ / (old + "-" + std::to_string(k) + ".key");
  // The old key has both names for a moment, so that own.key always exists.
  if ((::link(own_file().c_str(), aside.c_str()) != 0 && errno != ENOENT) ||
      ::rename(made.c_str(), own_file().c_str()) != 0) {
    const int error = errno;
    ::unlink(made.c_str());
    throw cannot_write(own_file(), error);
  }
  return key;
}

std::string KeyStore::own_name() const {
  const std::string name(trim(read_file_or_empty(folder_ / kOwnName)));
  return is_key_name(name) ? name : "";
}

void KeyStore::name_own(const std::string& name) const {
  (void)trusted_file(name);  // the same rules for names
  make_folder();
  write_file_atomic(folder_ / kOwnName, name + "\n");
}

fs::path KeyStore::trusted_file(const std::string& name) const {
  if (!is_key_name(name))
    throw Error(ErrorKind::usage, "not a name for a key: '" + printable(name) + "'", {},
                "use up to 64 letters, digits and . _ @ -");
  return folder_ / "trusted" / (name + std::string(kPublic));
}

std::map<std::string, std::string> KeyStore::trusted() const {
  std::map<std::string, std::string> out;
  std::error_code ec;
  for (fs::directory_iterator entry(folder_ / "trusted", ec), end; !ec && entry != end;
       entry.increment(ec)) {
    const std::string file = entry->path().filename().string();
    if (!file.ends_with(kPublic)) continue;
    const std::string key(trim(read_file_or_empty(entry->path())));
    if (is_public_key(key)) out[file.substr(0, file.size() - kPublic.size())] = key;
  }
  if (ec && ec != std::errc::no_such_file_or_directory)
    throw system_error(ErrorKind::environment, "cannot read the trusted keys",
                       (folder_ / "trusted").string(), ec.value());
  return out;
}

std::string KeyStore::name_of(std::string_view public_key) const {
  for (const auto& [name, key] : trusted())
    if (key == public_key) return name;
  return {};
}

void KeyStore::trust(const std::string& name, const std::string& public_key) const {
  const fs::path file = trusted_file(name);
  if (!is_public_key(public_key))
    throw Error(ErrorKind::usage, "not a public key: '" + printable(public_key) + "'", {},
                "it looks like ed25519:…=; its owner sees it with 'assay key show'");
  make_folder();
  make_directories(file.parent_path());
  write_file_atomic(file, public_key + "\n");
}

bool KeyStore::distrust(const std::string& name) const {
  const fs::path file = trusted_file(name);
  if (::unlink(file.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  throw system_error(ErrorKind::environment, "cannot remove the key", file.string(), errno);
}

Trust trust_of(std::string_view public_key) {
  if (public_key.empty()) return {};
  try {
    const KeyStore user = KeyStore::of_user();
    if (const std::string name = user.name_of(public_key); !name.empty()) return {name, "you"};
    if (const auto own = user.own(); own && own->public_key() == public_key) {
      const std::string name = user.own_name();
      return {name.empty() ? "yourself" : name, "you"};
    }
  } catch (const Error&) {
    // Asks for the site's keys even without a home or with broken keys.
  }
  try {
    if (const std::string name = KeyStore::of_site().name_of(public_key); !name.empty())
      return {name, "this site"};
  } catch (const Error&) {
    return {};
  }
  return {};
}

std::string signer_text(std::string_view fingerprint, const Trust& trust) {
  if (fingerprint.empty()) return "nobody";
  const std::string key(fingerprint);
  return trust.name.empty()
             ? key + ", a key that is not trusted here"
             : trust.name + ", whose key is trusted by " + trust.by + " (" + key + ")";
}

}  // namespace assay::evidence
