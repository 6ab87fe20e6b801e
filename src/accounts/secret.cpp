#include "accounts/secret.h"

#include <array>

#include <sodium.h>

#include "core/error.h"
#include "core/hex.h"
#include "core/sha256.h"

namespace assay::accounts {

void prepare_sodium() {
  static const int prepared = sodium_init();
  if (prepared < 0) throw Error(ErrorKind::environment, "libsodium cannot be used");
}

std::string new_secret() {
  prepare_sodium();
  std::array<char, 32> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  return to_hex({bytes.data(), bytes.size()});
}

std::string kept(std::string_view secret) {
  return sha256(secret);
}

bool same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace assay::accounts
