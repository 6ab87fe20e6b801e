#include "evidence/key.h"

#include <array>
#include <optional>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "core/digest.h"
#include "core/error.h"

namespace assay::evidence {

namespace {

constexpr std::string_view kPrefix = "ed25519:";
constexpr std::size_t kKeySize = 32;
constexpr std::size_t kSignatureSize = 64;

using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;
using ContextPointer = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Error refused(const std::string& what) {
  return Error(ErrorKind::environment, "this machine's OpenSSL cannot " + what, {},
               "Ed25519 needs OpenSSL 1.1.1 or later, and none that allows FIPS algorithms alone");
}

std::optional<std::string> key_bytes(std::string_view public_key) {
  if (!public_key.starts_with(kPrefix)) return std::nullopt;
  std::optional<std::string> bytes = from_base64(public_key.substr(kPrefix.size()));
  if (!bytes || bytes->size() != kKeySize) return std::nullopt;
  return bytes;
}

KeyPointer public_handle(std::string_view public_key) {
  const std::optional<std::string> bytes = key_bytes(public_key);
  EVP_PKEY* key =
      bytes ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(*bytes), bytes->size())
            : nullptr;
  return {key, &EVP_PKEY_free};
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

bool is_public_key(std::string_view text) {
  return key_bytes(text).has_value();
}

std::string fingerprint(std::string_view public_key) {
  const std::optional<std::string> bytes = key_bytes(public_key);
  if (!bytes) return {};
  std::string text = to_base64(digest(Hash::sha256, *bytes));
  while (text.ends_with('=')) text.pop_back();
  return "SHA256:" + text;
}

struct SigningKey::Handle {
  KeyPointer key{nullptr, &EVP_PKEY_free};
};

SigningKey::SigningKey(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {
  std::array<unsigned char, kKeySize> bytes{};
  std::size_t size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(handle_->key.get(), bytes.data(), &size) != 1 || size != kKeySize)
    throw refused("read an Ed25519 key");
  public_key_ = std::string(kPrefix) + to_base64(std::string(bytes.begin(), bytes.end()));
}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

SigningKey SigningKey::generate() {
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (!context || EVP_PKEY_keygen_init(context.get()) != 1 ||
      EVP_PKEY_keygen(context.get(), &key) != 1)
    throw refused("make an Ed25519 key");
  auto handle = std::make_unique<Handle>();
  handle->key.reset(key);
  return SigningKey(std::move(handle));
}

SigningKey SigningKey::from_pem(std::string_view pem, const std::string& where) {
  const BioPointer memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  // Never prompts for a password.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  auto handle = std::make_unique<Handle>();
  if (memory)
    handle->key.reset(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr));
  if (!handle->key || EVP_PKEY_id(handle->key.get()) != EVP_PKEY_ED25519)
    throw Error(ErrorKind::config, "not a private Ed25519 key without a password (PEM)", where,
                "restore it, or make a new one with 'assay key new'");
  return SigningKey(std::move(handle));
}

std::string SigningKey::to_pem() const {
  const BioPointer memory(BIO_new(BIO_s_mem()), &BIO_free);
  if (!memory || PEM_write_bio_PKCS8PrivateKey(memory.get(), handle_->key.get(), nullptr, nullptr,
                                               0, nullptr, nullptr) != 1)
    throw refused("write an Ed25519 key");
  return text_of(memory.get());
}

std::string SigningKey::sign(std::string_view data) const {
  const ContextPointer context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(kSignatureSize, '\0');
  std::size_t size = signature.size();
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, handle_->key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     raw(data), data.size()) != 1)
    throw refused("sign with Ed25519");
  return to_base64(signature);
}

bool is_signed_by(std::string_view public_key, std::string_view data, std::string_view signature) {
  const KeyPointer key = public_handle(public_key);
  const std::optional<std::string> bytes = from_base64(signature);
  if (!key || !bytes || bytes->size() != kSignatureSize) return false;
  const ContextPointer context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(*bytes), bytes->size(), raw(data), data.size()) == 1;
}

}  // namespace assay::evidence
