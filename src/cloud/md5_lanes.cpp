#include "cloud/md5_lanes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "core/clones.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/files.h"

namespace assay::cloud {

namespace {

constexpr std::size_t kLanes = Md5Lanes::kLanes;
using Lanes = std::uint32_t __attribute__((vector_size(kLanes * 4)));

// RFC 1321: floor(2^32 · |sin(i + 1)|), and how far each step rotates.
constexpr std::array<std::uint32_t, 64> kSines = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr std::array<std::array<int, 4>, 4> kRotations = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

// Eight words of each of eight lanes, to the eight lanes of each of eight words.
[[gnu::always_inline]] inline void transpose(std::array<Lanes, 8>& r) {
  const auto pairs = [](const Lanes& a, const Lanes& b, Lanes& low, Lanes& high) {
    low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
    high = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  };
  const auto quads = [](const Lanes& a, const Lanes& b, Lanes& low, Lanes& high) {
    low = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    high = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  };
  std::array<Lanes, 8> p;
  for (std::size_t i = 0; i < 8; i += 2) pairs(r[i], r[i + 1], p[i], p[i + 1]);
  std::array<Lanes, 8> q;
  for (std::size_t i = 0; i < 8; i += 4) {
    quads(p[i], p[i + 2], q[i], q[i + 1]);
    quads(p[i + 1], p[i + 3], q[i + 2], q[i + 3]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    r[i] = __builtin_shufflevector(q[i], q[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(q[i], q[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// The same code for processors with AVX-512 (which rotates, and joins three operands at once), with
// AVX2 and with neither.
ASSAY_CLONES void blocks(std::array<std::array<std::uint32_t, kLanes>, 4>& state,
                         const std::array<const unsigned char*, kLanes>& data, std::size_t size) {
  Lanes a, b, c, d;
  std::memcpy(&a, state[0].data(), sizeof a);
  std::memcpy(&b, state[1].data(), sizeof b);
  std::memcpy(&c, state[2].data(), sizeof c);
  std::memcpy(&d, state[3].data(), sizeof d);
  for (std::size_t at = 0; at < size; at += 64) {
    std::array<Lanes, 16> words;
    for (std::size_t half = 0; half < 2; ++half) {
      std::array<Lanes, 8> rows;
      for (std::size_t lane = 0; lane < kLanes; ++lane)  // little-endian, as MD5 is
        std::memcpy(&rows[lane], data[lane] + at + 32 * half, 32);
      transpose(rows);
      for (std::size_t i = 0; i < 8; ++i) words[8 * half + i] = rows[i];
    }
    const Lanes a0 = a, b0 = b, c0 = c, d0 = d;
#pragma GCC unroll 64
    for (std::size_t i = 0; i < 64; ++i) {
      Lanes f;
      std::size_t word = i;
      if (i < 16) {
        f = d ^ (b & (c ^ d));
      } else if (i < 32) {
        f = c ^ (d & (b ^ c));
        word = (5 * i + 1) % 16;
      } else if (i < 48) {
        f = b ^ c ^ d;
        word = (3 * i + 5) % 16;
      } else {
        f = c ^ (b | ~d);
        word = (7 * i) % 16;
      }
      const Lanes sum = (a + words[word] + kSines[i]) + f;  // f, the last to be known, last
      const int by = kRotations[i / 16][i % 4];
      a = d;
      d = c;
      c = b;
      b = b + ((sum << by) | (sum >> (32 - by)));
    }
    a += a0;
    b += b0;
    c += c0;
    d += d0;
  }
  std::memcpy(state[0].data(), &a, sizeof a);
  std::memcpy(state[1].data(), &b, sizeof b);
  std::memcpy(state[2].data(), &c, sizeof c);
  std::memcpy(state[3].data(), &d, sizeof d);
}

}  // namespace

std::array<std::array<std::uint32_t, Md5Lanes::kLanes>, 4> Md5Lanes::initial() {
  std::array<std::array<std::uint32_t, kLanes>, 4> state{};
  state[0].fill(0x67452301);
  state[1].fill(0xefcdab89);
  state[2].fill(0x98badcfe);
  state[3].fill(0x10325476);
  return state;
}

void Md5Lanes::update(const std::array<const unsigned char*, kLanes>& data, std::size_t size) {
  blocks(state_, data, size);
  total_ += size;
}

std::array<std::string, Md5Lanes::kLanes> Md5Lanes::finish(
    const std::array<const unsigned char*, kLanes>& data, std::size_t size) {
  const std::uint64_t bits = (total_ + size) * 8;
  const std::size_t padded = size < 56 ? 64 : 128;
  std::array<std::array<unsigned char, 128>, kLanes> tails{};
  std::array<const unsigned char*, kLanes> pointers{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (size > 0) std::memcpy(tails[lane].data(), data[lane], size);
    tails[lane][size] = 0x80;
    std::memcpy(tails[lane].data() + padded - 8, &bits, 8);
    pointers[lane] = tails[lane].data();
  }
  blocks(state_, pointers, padded);
  std::array<std::string, kLanes> out;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (const auto& word : state_) {
      std::array<char, 4> bytes;
      std::memcpy(bytes.data(), &word[lane], 4);
      out[lane].append(bytes.data(), 4);
    }
  return out;
}

namespace {

void read_fully(int file, std::uint64_t offset, unsigned char* to, std::size_t size,
                const std::filesystem::path& path) {
  while (size > 0) {
    const ssize_t n = ::pread(file, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n == 0)
      throw Error(ErrorKind::environment, "the file became shorter while it was read",
                  path.string(), "send it when nothing writes to it");
    to += n;
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
}

}  // namespace

std::vector<std::string> md5_of_parts(const std::filesystem::path& path, std::uint64_t size,
                                      std::uint64_t part_size, const std::stop_token& stop,
                                      const PartIsThere& wait) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
  constexpr std::size_t piece = 64 << 10;
  std::vector<unsigned char> buffer(piece * kLanes);
  std::vector<std::string> out;
  const std::uint64_t whole = size / part_size;
  const auto await = [&](std::uint64_t part, std::uint64_t bytes) {
    if (wait) wait(static_cast<std::size_t>(part), bytes, stop);
    if (stop.stop_requested())
      throw Error(ErrorKind::environment, "hashing was cancelled", path.string());
  };
  for (std::uint64_t first = 0; first < whole; first += kLanes) {
    const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(kLanes, whole - first));
    std::array<const unsigned char*, kLanes> pointers{};
    // Lanes that are left over compute the first one's again.
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      pointers[lane] = buffer.data() + (lane < used ? lane : 0) * piece;
    Md5Lanes md5;
    for (std::uint64_t at = 0;; at += piece) {
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(piece, part_size - at));
      for (std::size_t lane = 0; lane < used; ++lane) await(first + lane, at + now);
      for (std::size_t lane = 0; lane < used; ++lane)
        read_fully(file.get(), (first + lane) * part_size + at, buffer.data() + lane * piece, now,
                   path);
      if (now == piece) {
        md5.update(pointers, piece);
        continue;
      }
      md5.update(pointers, now / 64 * 64);
      for (auto& pointer : pointers) pointer += now / 64 * 64;
      const auto hashes = md5.finish(pointers, now % 64);
      out.insert(out.end(), hashes.begin(), hashes.begin() + static_cast<std::ptrdiff_t>(used));
      break;
    }
  }
  if (const std::uint64_t rest = size % part_size; rest > 0) {
    Digest md5(Hash::md5);
    for (std::uint64_t at = 0; at < rest; at += buffer.size()) {
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), rest - at));
      await(whole, at + now);
      read_fully(file.get(), whole * part_size + at, buffer.data(), now, path);
      md5.update({reinterpret_cast<const char*>(buffer.data()), now});
    }
    out.push_back(md5.finish());
  }
  return out;
}

}  // namespace assay::cloud
