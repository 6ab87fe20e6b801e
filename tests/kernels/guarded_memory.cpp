#include "kernels/guarded_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace assay::testing {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kArena = std::size_t{256} << 30;  // addresses, not memory
constexpr std::size_t kMaxPages = 1 << 14;
constexpr std::size_t kSmallAlignment = 64;
constexpr unsigned char kFill = 0xff;

// At the start of a block's first page; the bytes up to the data are guarded too.
struct Header {
  std::size_t pages;
  std::size_t size;
  unsigned char* data;  // null: not in use
  Header* next;         // in the list of unused blocks of this size
};

struct State {
  std::atomic_flag lock;
  std::atomic<bool> on;
  std::atomic<unsigned char*> begin;
  unsigned char* unused;
  std::atomic<std::uint64_t> damaged;
  std::array<Header*, kMaxPages> free;  // by pages
};

constinit State guard_state{};  // used before any constructor runs

class Locked {
 public:
  Locked() {
    while (guard_state.lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Locked() { guard_state.lock.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

bool is_guarded(const void* block) {
  const unsigned char* const begin = guard_state.begin.load();
  const auto* const at = static_cast<const unsigned char*>(block);
  return begin != nullptr && at >= begin && at < begin + kArena;
}

unsigned char* end_of(Header* header) {
  return reinterpret_cast<unsigned char*>(header) + header->pages * kPage;
}

// Whether nobody wrote beside the data. Then the bytes are as they were: each damage counts once.
bool check(Header* header) {
  const auto is_whole = [](unsigned char* from, unsigned char* to) {
    const bool whole = std::all_of(from, to, [](unsigned char byte) { return byte == kFill; });
    std::memset(from, kFill, static_cast<std::size_t>(to - from));
    return whole;
  };
  const bool before =
      is_whole(reinterpret_cast<unsigned char*>(header) + sizeof(Header), header->data);
  return is_whole(header->data + header->size, end_of(header)) && before;
}

Header* take(std::size_t pages) {
  const Locked locked;
  if (pages < kMaxPages && guard_state.free[pages] != nullptr) {
    Header* const header = guard_state.free[pages];
    guard_state.free[pages] = header->next;
    return header;
  }
  unsigned char* const first = guard_state.unused + kPage;
  if (first + (pages + 1) * kPage > guard_state.begin.load() + kArena ||
      ::mprotect(first, pages * kPage, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  guard_state.unused = first + pages * kPage;
  return reinterpret_cast<Header*>(first);
}

// The header and the least number of bytes before the data.
constexpr std::size_t kBefore = sizeof(Header) + 64;

void* guarded_block(std::size_t alignment, std::size_t size) {
  alignment = alignment <= kSmallAlignment ? kSmallAlignment : kPage;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  const std::size_t pages = (rounded + kBefore + kPage - 1) / kPage;
  Header* const header = take(pages);
  if (header == nullptr) return nullptr;
  std::memset(static_cast<void*>(header), kFill, pages * kPage);
  header->pages = pages;
  header->size = size;
  header->data = end_of(header) - rounded;
  return header->data;
}

void give_back(unsigned char* data) {
  const Locked locked;
  // The header is where the block's first page begins, less than a page and kBefore before the
  // data.
  auto* page = data - reinterpret_cast<std::uintptr_t>(data) % kPage;
  if (data - page < static_cast<std::ptrdiff_t>(kBefore)) page -= kPage;
  auto* const header = reinterpret_cast<Header*>(page);
  if (header->data != data) {  // the header itself was written over
    ++guard_state.damaged;
    return;
  }
  if (!check(header)) ++guard_state.damaged;
  header->data = nullptr;
  if (header->pages >= kMaxPages) return;
  header->next = guard_state.free[header->pages];
  guard_state.free[header->pages] = header;
}

}  // namespace

bool guard_memory(bool on) {
  if (on && guard_state.begin.load() == nullptr) {
    void* const arena =
        ::mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) return false;
    guard_state.unused = static_cast<unsigned char*>(arena);
    guard_state.begin = guard_state.unused;
  }
  guard_state.on = on;
  return true;
}

std::uint64_t damaged_blocks() {
  const Locked locked;
  std::uint64_t damaged = guard_state.damaged.exchange(0);
  for (unsigned char* at = guard_state.begin.load(); at != guard_state.unused;) {
    auto* const header = reinterpret_cast<Header*>(at + kPage);
    if (header->data != nullptr && !check(header)) ++damaged;
    at = end_of(header);
  }
  return damaged;
}

}  // namespace assay::testing

extern "C" {

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  using namespace assay::testing;
  // Larger alignments are asked for by nobody here.
  const bool guarded = guard_state.on.load() && alignment <= kPage;
  *block = guarded ? guarded_block(alignment, size) : __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

void free(void* block) {
  using namespace assay::testing;
  if (is_guarded(block))
    give_back(static_cast<unsigned char*>(block));
  else
    __libc_free(block);
}

}  // extern "C"

#else

namespace assay::testing {

bool guard_memory(bool /*on*/) {
  return false;
}

std::uint64_t damaged_blocks() {
  return 0;
}

}  // namespace assay::testing

#endif
