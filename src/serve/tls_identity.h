#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct ssl_st;      // OpenSSL's SSL
struct ssl_ctx_st;  // and SSL_CTX

namespace assay::serve {

/// Certificate and private key of a server, out of PEM files that may be renewed while it runs.
/// Thread-safe, but for renew(), which one thread calls.
class TlsIdentity {
 public:
  /// The certificate's file holds its chain, too. Throws Error of kind environment that names the
  /// file: it cannot be read, is no regular file, no PEM, has a pass phrase, does not belong to the
  /// other.
  TlsIdentity(std::filesystem::path certificate, std::filesystem::path key);
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;
  ~TlsIdentity();

  /// What an operator should know about what is used: its time is over, will soon be or has not
  /// come, everybody can read the key.
  [[nodiscard]] std::vector<std::string> warnings(std::int64_t wall_ns) const;

  /// Looks at the files, and uses what is there from now on where it is not what is used and has
  /// not changed since the last look: who renews them writes one after the other. True: it does.
  /// Throws Error as the constructor does, once for what is there; what was used stays.
  bool renew();

  /// Handshakes of connections of `context` use what there is when they begin. This object must
  /// outlive them.
  void serve(ssl_ctx_st* context);

 private:
  struct Pair;
  struct FileState {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;  // -1: it cannot be looked at
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const FileState&) const = default;
  };
  using State = std::array<FileState, 2>;

  [[nodiscard]] static FileState state_of(const std::filesystem::path& file);
  [[nodiscard]] State state() const;
  [[nodiscard]] std::shared_ptr<const Pair> current() const;
  static int choose(ssl_st* connection, void* self);

  std::filesystem::path certificate_;
  std::filesystem::path key_;
  State taken_;  // what is used, or could not be
  State seen_;   // at the last look
  mutable std::mutex lock_;
  std::shared_ptr<const Pair> pair_;
};

}  // namespace assay::serve
