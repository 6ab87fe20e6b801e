#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "core/files.h"

namespace assay::testing {

/// A certificate of its own for 127.0.0.1, with its key, as PEM.
struct MadeCertificate {
  std::string certificate;
  std::string key;

  /// `from_s` and `until_s` count from now; with a `pass_phrase` the key is locked.
  static MadeCertificate make(long from_s, long until_s, const char* pass_phrase = nullptr) {
    std::unique_ptr<EVP_PKEY_CTX, decltype(&::EVP_PKEY_CTX_free)> maker(
        ::EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr), ::EVP_PKEY_CTX_free);
    EVP_PKEY* made = nullptr;
    if (::EVP_PKEY_keygen_init(maker.get()) != 1 ||
        ::EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker.get(), NID_X9_62_prime256v1) != 1 ||
        ::EVP_PKEY_keygen(maker.get(), &made) != 1)
      throw std::runtime_error("no key");
    const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(made, ::EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&::X509_free)> one(::X509_new(), ::X509_free);
    ::X509_set_version(one.get(), 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(one.get()), ::random());
    ::X509_gmtime_adj(::X509_getm_notBefore(one.get()), from_s);
    ::X509_gmtime_adj(::X509_getm_notAfter(one.get()), until_s);
    ::X509_set_pubkey(one.get(), key.get());
    X509_NAME* name = ::X509_get_subject_name(one.get());
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
    ::X509_set_issuer_name(one.get(), name);
    for (const auto& [kind, text] :
         {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "CA:TRUE"}}) {
      X509_EXTENSION* extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, kind, text);
      ::X509_add_ext(one.get(), extension, -1);
      ::X509_EXTENSION_free(extension);
    }
    ::X509_sign(one.get(), key.get(), ::EVP_sha256());
    return {in_pem([&](BIO* bio) { return ::PEM_write_bio_X509(bio, one.get()); }),
            in_pem([&](BIO* bio) {
              return ::PEM_write_bio_PKCS8PrivateKey(
                  bio, key.get(), pass_phrase != nullptr ? ::EVP_aes_256_cbc() : nullptr, nullptr,
                  0, nullptr, const_cast<char*>(pass_phrase));
            })};
  }
  static MadeCertificate for_a_year() { return make(-3600, 365L * 24 * 3600); }

  /// As two files, one after the other, as programs that renew them do.
  void write(const std::filesystem::path& certificate_file,
             const std::filesystem::path& key_file) const {
    write_file_atomic(certificate_file, certificate, false);
    write_file_atomic(key_file, key, false);
    std::filesystem::permissions(key_file, std::filesystem::perms(0600));
  }

 private:
  template <class Write>
  static std::string in_pem(const Write& write) {
    const std::unique_ptr<BIO, decltype(&::BIO_free)> bio(::BIO_new(::BIO_s_mem()), ::BIO_free);
    if (write(bio.get()) != 1) throw std::runtime_error("no PEM");
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
};

}  // namespace assay::testing
