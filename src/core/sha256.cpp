// OpenSSL deprecates these simple functions, but they alone need only their own code, which keeps
// the static agent small (cmake/Dependencies.cmake).
#define OPENSSL_SUPPRESS_DEPRECATED

#include "core/sha256.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <openssl/sha.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/hex.h"

namespace assay {

namespace {

SHA256_CTX* context(std::array<std::uint32_t, 28>& state) noexcept {
  static_assert(sizeof(state) == sizeof(SHA256_CTX) && alignof(SHA256_CTX) <= 8);
  return reinterpret_cast<SHA256_CTX*>(&state);
}

}  // namespace

Sha256::Sha256() noexcept : state_{} {
  SHA256_Init(context(state_));
}

void Sha256::update(std::string_view data) noexcept {
  SHA256_Update(context(state_), data.data(), data.size());
}

std::string Sha256::hex() const {
  std::array<std::uint32_t, 28> copy = state_;
  std::array<char, SHA256_DIGEST_LENGTH> bytes{};
  SHA256_Final(reinterpret_cast<unsigned char*>(bytes.data()), context(copy));
  return to_hex({bytes.data(), bytes.size()});
}

std::string sha256(std::string_view data) {
  Sha256 running;
  running.update(data);
  return running.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
  Sha256 running;
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return running.hex();
    if (n < 0 && errno != EINTR)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n > 0) running.update({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace assay
