#include "accounts/sealed_text.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounts/secret.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hex.h"
#include "core/text.h"

namespace assay::accounts {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kKeyBytes = crypto_aead_xchacha20poly1305_ietf_KEYBYTES;
constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;

using Bytes = std::vector<unsigned char>;

std::optional<Bytes> from_hex(std::string_view digits) {
  Bytes out(digits.size() / 2);
  std::size_t length = 0;
  if (digits.size() % 2 != 0 || sodium_hex2bin(out.data(), out.size(), digits.data(), digits.size(),
                                               nullptr, &length, nullptr) != 0)
    return std::nullopt;
  return length == out.size() ? std::optional(std::move(out)) : std::nullopt;
}

Bytes key_bytes(std::string_view key) {
  auto bytes = from_hex(key);
  if (!bytes || bytes->size() != kKeyBytes)
    throw Error(ErrorKind::environment, "the key of the secrets cannot be used");
  return std::move(*bytes);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::optional<std::string> read_key(const fs::path& file) {
  const UniqueFd fd(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) throw system_error(ErrorKind::environment, "cannot read", file.string(), errno);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode))
    throw Error(ErrorKind::environment, "the key of the secrets is not a regular file",
                file.string());
  if ((about.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others can read the key of the secrets", file.string(),
                "chmod 600 it; if they may have read it, remove it and give all secrets anew");
  std::string text(kKeyBytes * 2 + 2, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text = std::string(trim(text));
  if (const auto bytes = from_hex(text); !bytes || bytes->size() != kKeyBytes)
    throw Error(ErrorKind::environment, "the key of the secrets is damaged", file.string(),
                "put a copy back; without one, remove it and give all secrets anew");
  return text;
}

std::string read_or_make_key(const fs::path& file) {
  if (auto there = read_key(file)) return std::move(*there);
  // As a whole, and only if there is none yet: link(2) does both at once.
  const fs::path draft = fmt::format("{}.{}", file.string(), ::getpid());
  const UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) throw system_error(ErrorKind::environment, "cannot write", draft.string(), errno);
  write_all(fd.get(), new_secret() + "\n", draft);
  const bool synced = ::fsync(fd.get()) == 0;
  const bool made = synced && ::link(draft.c_str(), file.c_str()) == 0;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!made && error != EEXIST)
    throw system_error(ErrorKind::environment, "cannot write", file.string(), error);
  // What is sealed with it must not be on the disk before it is.
  const UniqueFd folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
  auto key = read_key(file);
  if (!key)
    throw Error(ErrorKind::environment, "the key of the secrets was removed", file.string());
  return std::move(*key);
}

std::string seal(std::string_view key, std::string_view text, std::string_view about) {
  prepare_sodium();
  const Bytes secret = key_bytes(key);
  std::string out(kNonceBytes + text.size() + kTagBytes, '\0');
  auto* nonce = reinterpret_cast<unsigned char*>(out.data());
  randombytes_buf(nonce, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonceBytes, nullptr, bytes_of(text),
                                             text.size(), bytes_of(about), about.size(), nullptr,
                                             nonce, secret.data());
  return to_hex(out);
}

std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                       std::string_view about) {
  prepare_sodium();
  const Bytes secret = key_bytes(key);
  const auto bytes = from_hex(sealed);
  if (!bytes || bytes->size() < kNonceBytes + kTagBytes) return std::nullopt;
  std::string out(bytes->size() - kNonceBytes - kTagBytes, '\0');
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(reinterpret_cast<unsigned char*>(out.data()),
                                                 nullptr, nullptr, bytes->data() + kNonceBytes,
                                                 bytes->size() - kNonceBytes, bytes_of(about),
                                                 about.size(), bytes->data(), secret.data()) != 0)
    return std::nullopt;
  return out;
}

}  // namespace assay::accounts
