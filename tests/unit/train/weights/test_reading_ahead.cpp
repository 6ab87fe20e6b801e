#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/files.h"
#include "core/mapped_file.h"
#include "eventually.h"
#include "temporary_folder.h"
#include "train/weights/reading_ahead.h"

namespace assay::train::weights {
namespace {

/// How many pages of it are in memory.
std::size_t pages_in_memory(std::span<const std::byte> bytes) {
  std::vector<unsigned char> present((bytes.size() + 4095) / 4096);
  EXPECT_EQ(::mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), present.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(present.begin(), present.end(), [](unsigned char p) { return (p & 1) != 0; }));
}

TEST(ReadingAhead, BringsAPieceIntoMemoryThatNobodyHasTouched) {
  const assay::testing::TemporaryFolder folder;
  const auto path = folder.write("weights", std::string(std::size_t{40} << 20, 'w'));
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fsync(file.get()), 0);
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  const MappedFile mapped(path);

  const ReadingAhead ahead({mapped.bytes()});

  EXPECT_TRUE(
      assay::testing::eventually([&] { return pages_in_memory(mapped.bytes()) == 40U << 8; }));
}

TEST(ReadingAhead, EndsWhileItIsFarEnoughAhead) {
  const std::size_t size = ReadingAhead::kAhead + (std::size_t{1} << 30);
  void* memory =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  {
    ReadingAhead ahead({{static_cast<const std::byte*>(memory), size}});
    ahead.used(1);
  }  // the test would hang here
  ::munmap(memory, size);
}

}  // namespace
}  // namespace assay::train::weights
