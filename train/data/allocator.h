#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace assay::train::data {

/// The source of memory for batch buffers. When training on a GPU, the trainer passes one for
/// page-locked memory. Called when a Loader is created and destroyed, never per batch, and from one
/// thread at a time.
class HostAllocator {
 public:
  HostAllocator() = default;
  HostAllocator(const HostAllocator&) = delete;
  HostAllocator& operator=(const HostAllocator&) = delete;
  virtual ~HostAllocator() = default;

  /// At least `bytes` > 0 bytes, aligned to at least 64. Throws Error of kind environment.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Releases memory from `allocate(bytes)`.
  virtual void release(std::byte* memory, std::size_t bytes) noexcept = 0;
};

/// Ordinary memory, aligned to 64 bytes.
[[nodiscard]] std::shared_ptr<HostAllocator> heap_allocator();

/// Owns an allocator's memory and keeps the allocator alive. Initially all zero.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(std::shared_ptr<HostAllocator> allocator, std::size_t bytes);
  HostBuffer(HostBuffer&& other) noexcept
      : allocator_(std::move(other.allocator_)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      allocator_ = std::move(other.allocator_);
      memory_ = std::exchange(other.memory_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { reset(); }

  [[nodiscard]] std::byte* data() const noexcept { return memory_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  void reset() noexcept;

  std::shared_ptr<HostAllocator> allocator_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace assay::train::data
