#include "serve/random_text.h"

#include <cerrno>
#include <vector>

#include <sys/random.h>

#include "core/error.h"

namespace assay::serve {

namespace {

std::vector<unsigned char> random_bytes(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  for (std::size_t done = 0; done < count;) {
    const ssize_t n = ::getrandom(bytes.data() + done, count - done, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(ErrorKind::environment, "no random numbers", {}, errno);
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : random_bytes(bytes)) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string random_alphanumerics(std::size_t count) {
  static constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string out;
  while (out.size() < count)
    for (const unsigned char byte : random_bytes(count))
      // The largest multiple of 62 below 256: beyond it some letters would come more often.
      if (byte < 248 && out.size() < count) out += kLetters[byte % kLetters.size()];
  return out;
}

}  // namespace assay::serve
