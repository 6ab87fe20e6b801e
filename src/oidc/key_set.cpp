#include "oidc/key_set.h"

#include <algorithm>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/json_access.h"

namespace assay::oidc {

namespace {

constexpr int kMinRsaBits = 2048;
constexpr std::size_t kMaxNumber = 1024;  // bytes
constexpr std::size_t kP256Bytes = 32;
constexpr std::size_t kMaxKeys = 100;

template <auto Free>
struct Release {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
using Number = std::unique_ptr<BIGNUM, Release<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Release<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Release<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Release<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Release<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Release<ECDSA_SIG_free>>;
using SharedKey = std::shared_ptr<evp_pkey_st>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

SharedKey key_of(const char* kind, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  return {key, EVP_PKEY_free};
}

std::optional<std::string> bytes_at(const Json& json, const char* name) {
  auto bytes = from_base64url(text_at(json, name));
  if (!bytes || bytes->empty() || bytes->size() > kMaxNumber) return std::nullopt;
  return bytes;
}

SharedKey rsa_key(const Json& json) {
  const auto modulus = bytes_at(json, "n");
  const auto exponent = bytes_at(json, "e");
  if (!modulus || !exponent) return nullptr;
  const Number n = number_of(*modulus);
  const Number e = number_of(*exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || BN_num_bits(n.get()) < kMinRsaBits ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return key_of("RSA", builder.get());
}

SharedKey p256_key(const Json& json) {
  const auto x = bytes_at(json, "x");
  const auto y = bytes_at(json, "y");
  if (text_at(json, "crv") != "P-256" || !x || !y || x->size() != kP256Bytes ||
      y->size() != kP256Bytes)
    return nullptr;
  const std::string point = '\x04' + *x + *y;  // uncompressed
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1)
    return nullptr;
  return key_of("EC", builder.get());
}

// A JSON Web Signature has r followed by s, but OpenSSL expects them in DER.
std::string to_der(std::string_view signature) {
  if (signature.size() != 2 * kP256Bytes) return {};
  const Signature made(ECDSA_SIG_new());
  Number r = number_of(signature.substr(0, kP256Bytes));
  Number s = number_of(signature.substr(kP256Bytes));
  if (!made || !r || !s || ECDSA_SIG_set0(made.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(made.get(), &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

}  // namespace

std::string to_base64url(std::string_view bytes) {
  std::string text = to_base64(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return from_base64(padded);
}

KeySet KeySet::parse(const Json& json, const std::string& where) {
  if (!member_at(json, "keys").is_array())
    throw Error(ErrorKind::environment, "the answer is not a set of keys", where);
  KeySet out;
  for (const Json& one : list_at(json, "keys")) {
    if (out.keys_.size() == kMaxKeys) break;
    const std::string use = text_at(one, "use");
    if (!use.empty() && use != "sig") continue;
    const std::string kind = text_at(one, "kty");
    Key key;
    if (kind == "RSA") key = {"RS256", rsa_key(one)};
    if (kind == "EC") key = {"ES256", p256_key(one)};
    const std::string algorithm = text_at(one, "alg");
    if (key.key == nullptr || (!algorithm.empty() && algorithm != key.algorithm)) continue;
    out.keys_.emplace(text_at(one, "kid"), std::move(key));
  }
  return out;
}

const KeySet::Key* KeySet::find(const std::string& id) const {
  if (id.empty()) return keys_.size() == 1 ? &keys_.begin()->second : nullptr;
  // With two keys of one name it is unknown which one is meant.
  return keys_.count(id) == 1 ? &keys_.find(id)->second : nullptr;
}

bool KeySet::is_signed(const std::string& id, std::string_view algorithm, std::string_view text,
                       std::string_view signature) const {
  const Key* const key = find(id);
  if (key == nullptr || key->algorithm != algorithm) return false;
  const std::string given = key->algorithm == "ES256" ? to_der(signature) : std::string(signature);
  const DigestContext context(EVP_MD_CTX_new());
  return !given.empty() && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key->key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(given), given.size(), bytes_of(text),
                          text.size()) == 1;
}

}  // namespace assay::oidc
