#include "core/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"

namespace assay {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK avoids waiting for the other end of a FIFO.
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    throw system_error(ErrorKind::environment, "cannot read the file", path_.string(), errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorKind::environment, "not a regular file", path_.string());
  if (info.st_size == 0) return;
  size_ = static_cast<std::size_t>(info.st_size);
  void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED)
    throw system_error(ErrorKind::environment, "cannot map the file into memory", path_.string(),
                       errno);
  data_ = static_cast<const std::byte*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::read_ahead() const noexcept {
  if (data_ == nullptr) return;
  ::madvise(const_cast<std::byte*>(data_), size_, MADV_SEQUENTIAL);
  ::madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED);
}

}  // namespace assay
