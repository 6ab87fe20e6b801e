#include "core/digest.h"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/error.h"

namespace assay {

namespace {

/// Null where this machine's OpenSSL lacks it.
const EVP_MD* algorithm(Hash hash) {
  // Looked up once: OpenSSL 3 searches its providers on every use of EVP_md5() and the like.
  static const EVP_MD* const md5 = EVP_MD_fetch(nullptr, "MD5", nullptr);
  static const EVP_MD* const sha1 = EVP_MD_fetch(nullptr, "SHA1", nullptr);
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  switch (hash) {
    case Hash::md5:
      return md5;
    case Hash::sha1:
      return sha1;
    case Hash::sha256:
      break;
  }
  return sha256;
}

}  // namespace

struct Digest::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free};
  const EVP_MD* md = nullptr;
};

Digest::Digest(Hash hash) : state_(std::make_unique<State>()) {
  state_->md = algorithm(hash);
  reset();
}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::update(std::string_view data) {
  EVP_DigestUpdate(state_->context.get(), data.data(), data.size());
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context.get(), bytes.data(), &size);
  reset();
  return {bytes.begin(), bytes.begin() + size};
}

void Digest::reset() {
  if (!state_->context || state_->md == nullptr ||
      EVP_DigestInit_ex(state_->context.get(), state_->md, nullptr) != 1)
    throw Error(ErrorKind::environment, "this machine's OpenSSL refuses a hash", {},
                "MD5 and SHA-1 are part of the cloud's protocol; a FIPS-only OpenSSL lacks them");
}

std::string digest(Hash hash, std::string_view data) {
  Digest running(hash);
  running.update(data);
  return running.finish();
}

std::string hmac(Hash hash, std::string_view key, std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  if (HMAC(algorithm(hash), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), bytes.data(),
           &size) == nullptr)
    throw Error(ErrorKind::environment, "this machine's OpenSSL refuses an HMAC");
  return {bytes.begin(), bytes.begin() + size};
}

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > (std::size_t{1} << 24)) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<std::size_t>(size) - padding);
  // OpenSSL accepts blanks and stray bits; here each value has only one text.
  if (to_base64(out) != text) return std::nullopt;
  return out;
}

}  // namespace assay
