#include "train/data/allocator.h"

#include <cstring>
#include <new>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace assay::train::data {

namespace {

constexpr std::align_val_t alignment{64};

class HeapAllocator final : public HostAllocator {
 public:
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    void* const memory = ::operator new(bytes, alignment, std::nothrow);
    if (memory == nullptr)
      throw Error(ErrorKind::environment,
                  fmt::format("no memory for a batch buffer of {}",
                              format_bytes(static_cast<double>(bytes))),
                  "input pipeline", "use a smaller batch or fewer prefetched batches");
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory, std::size_t /*bytes*/) noexcept override {
    ::operator delete(memory, alignment);
  }
};

}  // namespace

std::shared_ptr<HostAllocator> heap_allocator() {
  return std::make_shared<HeapAllocator>();
}

HostBuffer::HostBuffer(std::shared_ptr<HostAllocator> allocator, std::size_t bytes)
    : allocator_(std::move(allocator)), memory_(allocator_->allocate(bytes)), bytes_(bytes) {
  std::memset(memory_, 0, bytes_);
}

void HostBuffer::reset() noexcept {
  if (memory_ != nullptr) allocator_->release(memory_, bytes_);
  memory_ = nullptr;
  bytes_ = 0;
}

}  // namespace assay::train::data
