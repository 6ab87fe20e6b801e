#include "accounts/password.h"

#include <array>
#include <mutex>

#include <fmt/format.h>
#include <sodium.h>

#include "accounts/secret.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8_text.h"

namespace assay::accounts {

namespace {

constexpr unsigned long long kPasses = 3;
constexpr std::size_t kMemory = 32U << 20;

// One at a time: the memory that hashing takes is bounded.
std::mutex& hashing() {
  static std::mutex lock;
  return lock;
}

}  // namespace

std::string hash_password(std::string_view password) {
  prepare_sodium();
  const std::scoped_lock lock(hashing());
  std::array<char, crypto_pwhash_STRBYTES> out{};
  if (crypto_pwhash_str_alg(out.data(), password.data(), password.size(), kPasses, kMemory,
                            crypto_pwhash_ALG_ARGON2ID13) != 0)
    throw Error(ErrorKind::environment, "there is not enough memory to hash a password");
  return out.data();
}

bool is_password(const std::string& hash, std::string_view password) {
  prepare_sodium();
  if (hash.size() >= crypto_pwhash_STRBYTES || password.size() > kMaxPassword) return false;
  const std::scoped_lock lock(hashing());
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

const std::string& nobodys_hash() {
  static const std::string hash = hash_password(new_secret());
  return hash;
}

void check_password(std::string_view password) {
  if (!is_utf8_text(password)) throw Error(ErrorKind::usage, "the password is not UTF-8 text");
  if (password.size() > kMaxPassword)
    throw Error(ErrorKind::usage, fmt::format("the password has more than {} bytes", kMaxPassword));
  if (code_points(password) < kMinPassword)
    throw Error(ErrorKind::usage, "the password is too short", {},
                fmt::format("it has at least {} characters", kMinPassword));
}

}  // namespace assay::accounts
