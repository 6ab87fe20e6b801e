#include "core/sha256.h"

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace assay {

namespace {

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw Error(ErrorKind::internal, "cannot initialise SHA-256");
  }
  void update(std::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), bytes.data(), &size);
    std::string out;
    for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", bytes[i]);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256(std::string_view data) {
  Digest digest;
  digest.update(data);
  return digest.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
  Digest digest;
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return digest.hex();
    if (n < 0 && errno != EINTR)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n > 0) digest.update({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace assay
