#include "serve/tls_identity.h"

#include <ctime>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/regular_file.h"
#include "core/time.h"

namespace assay::serve {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kSoon = std::chrono::hours(14 * 24);

struct Free {
  void operator()(X509* one) const { ::X509_free(one); }
  void operator()(EVP_PKEY* one) const { ::EVP_PKEY_free(one); }
  void operator()(BIO* one) const { ::BIO_free(one); }
  void operator()(SSL_CTX* one) const { ::SSL_CTX_free(one); }
  void operator()(STACK_OF(X509) * all) const { sk_X509_pop_free(all, ::X509_free); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// OpenSSL's last words; its queue is empty afterwards.
std::string why() {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  std::string out = reason == nullptr ? "not a PEM file" : reason;
  ::ERR_clear_error();
  return out;
}

Error unusable_certificate(const fs::path& file, const std::string& reason) {
  return {ErrorKind::environment, "cannot use the certificate: " + reason, file.string(),
          "it must be a PEM file, with its chain"};
}

Error unusable_key(const fs::path& file, const std::string& reason) {
  return {ErrorKind::environment, "cannot use the private key: " + reason, file.string(),
          "it must be the certificate's key, as a PEM file"};
}

Owned<BIO> in_memory(const std::string& text) {
  return Owned<BIO>(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is there who could type it.
int no_pass_phrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Owned<EVP_PKEY> key_of(const fs::path& file) {
  const std::string text = read_plain_file(file);
  bool asked = false;
  Owned<EVP_PKEY> key(
      ::PEM_read_bio_PrivateKey(in_memory(text).get(), nullptr, no_pass_phrase, &asked));
  if (!key) throw unusable_key(file, asked ? "it has a pass phrase" : why());
  return key;
}

std::int64_t wall_ns_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return std::int64_t{::timegm(&parts)} * 1'000'000'000;
}

}  // namespace

struct TlsIdentity::Pair {
  Pair(const fs::path& certificate_file, const fs::path& key_file) {
    ::ERR_clear_error();
    const std::string text = read_plain_file(certificate_file);
    const Owned<BIO> bio = in_memory(text);
    certificate.reset(::PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) throw unusable_certificate(certificate_file, why());
    while (X509* next = ::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
      sk_X509_push(chain.get(), next);
    ::ERR_clear_error();  // the end of the file
    key = key_of(key_file);
    if (::X509_check_private_key(certificate.get(), key.get()) != 1)
      throw unusable_key(key_file, why());
    // What a handshake would refuse (a key that is too short, say) is refused here.
    const Owned<SSL_CTX> context(::SSL_CTX_new(::TLS_server_method()));
    if (!context || ::SSL_CTX_use_cert_and_key(context.get(), certificate.get(), key.get(),
                                               chain.get(), 1) != 1)
      throw unusable_certificate(certificate_file, why());
  }

  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
  Owned<STACK_OF(X509)> chain{sk_X509_new_null()};
};

TlsIdentity::TlsIdentity(fs::path certificate, fs::path key)
    : certificate_(std::move(certificate)),
      key_(std::move(key)),
      taken_(state()),
      seen_(taken_),
      pair_(std::make_shared<const Pair>(certificate_, key_)) {}

TlsIdentity::~TlsIdentity() = default;

TlsIdentity::FileState TlsIdentity::state_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .size = found.st_size,
          .modified_ns = ns(found.st_mtim),
          .changed_ns = ns(found.st_ctim)};
}

TlsIdentity::State TlsIdentity::state() const {
  return {state_of(certificate_), state_of(key_)};
}

std::shared_ptr<const TlsIdentity::Pair> TlsIdentity::current() const {
  const std::scoped_lock lock(lock_);
  return pair_;
}

std::vector<std::string> TlsIdentity::warnings(std::int64_t wall_ns) const {
  std::vector<std::string> out;
  const std::shared_ptr<const Pair> pair = current();
  const std::int64_t from_ns = wall_ns_of(::X509_get0_notBefore(pair->certificate.get()));
  const std::int64_t until_ns = wall_ns_of(::X509_get0_notAfter(pair->certificate.get()));
  const std::string file = certificate_.string();
  if (until_ns <= wall_ns)
    out.push_back(fmt::format("{}: the certificate has expired at {}: nobody can trust it", file,
                              iso_utc(until_ns)));
  else if (from_ns > wall_ns)
    out.push_back(fmt::format("{}: the certificate is not valid before {}: nobody can trust it yet",
                              file, iso_utc(from_ns)));
  else if (until_ns - wall_ns < kSoon.count())
    out.push_back(fmt::format("{}: the certificate expires at {}", file, iso_utc(until_ns)));
  struct stat about {};
  if (::stat(key_.c_str(), &about) == 0 && (about.st_mode & S_IROTH) != 0)
    out.push_back(
        fmt::format("every user of this machine can read {}: 'chmod 600' keeps the private key "
                    "from them",
                    key_.string()));
  return out;
}

bool TlsIdentity::renew() {
  const State now = state();
  if (now == taken_) return false;
  if (now != std::exchange(seen_, now)) return false;
  taken_ = now;
  auto pair = std::make_shared<const Pair>(certificate_, key_);
  const std::scoped_lock lock(lock_);
  pair_ = std::move(pair);
  return true;
}

void TlsIdentity::serve(SSL_CTX* context) {
  ::SSL_CTX_set_cert_cb(context, choose, this);
}

int TlsIdentity::choose(SSL* connection, void* self) {
  const std::shared_ptr<const Pair> pair = static_cast<const TlsIdentity*>(self)->current();
  return ::SSL_use_cert_and_key(connection, pair->certificate.get(), pair->key.get(),
                                pair->chain.get(), 1);
}

}  // namespace assay::serve
