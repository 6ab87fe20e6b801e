// Any bytes as a packed run, and as the text that one holds: refused or taken apart, never a crash,
// never more than it declares, never a path outside.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "pack/contents.h"
#include "pack/packed_run.h"
#include "pack/unfold.h"

namespace {

using namespace assay::pack;

class Bounded : public FileSink {
 public:
  void begin(const PackedFile& file) override {
    if (("/" + file.path + "/").find("/../") != std::string::npos || file.path.front() == '/')
      std::abort();
    room_ = file.bytes;
  }
  void append(std::string_view bytes) override {
    if (bytes.size() > room_) std::abort();
    room_ -= bytes.size();
  }
  void end() override {}

 private:
  std::uint64_t room_ = 0;
};

void as_stream(const std::string& text) {
  HeadReader head("fuzz");
  const std::size_t taken = head.feed(text);
  if (!head.complete()) return;
  if (head_text(head.contents()) != text.substr(0, taken)) return;  // leading zeros
  Bounded sink;
  Unfolder unfolder(head.contents(), &sink);
  const std::string rest = text.substr(taken);
  unfolder.feed(rest.substr(0, rest.size() / 2));
  unfolder.feed(rest.substr(rest.size() / 2));
  const Check check = unfolder.finish(true);
  if (check.ok() && rest.size() != check.contents.bytes() + tail_size(check.contents)) std::abort();
}

void as_file(const std::string& text) {
  const assay::UniqueFd memory(::memfd_create("fuzz", MFD_CLOEXEC));
  assay::write_all(memory.get(), text, "memory");
  const Check check = verify("/proc/self/fd/" + std::to_string(memory.get()), {1, {}});
  if (check.ok() && check.contents.files.empty() && text.size() < 20) std::abort();
}

template <class F>
void errors_only(F&& f) {
  try {
    f();
  } catch (const assay::Error& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  errors_only([&] { as_stream(text); });
  errors_only([&] { as_file(text); });
  return 0;
}
