#include "commands/base/extras.h"

#include <cerrno>

#include <unistd.h>

#include "core/error.h"
#include "core/host.h"
#include "core/standard_output.h"

namespace assay::commands {

namespace {

char** own_arguments = nullptr;
const Extras* own_extras = nullptr;

}  // namespace

void set_extras(char** arguments, const Extras* extras) {
  own_arguments = arguments;
  own_extras = extras;
}

const Extras& extras_for(const std::string& what) {
  if (own_extras == nullptr) go_on_as_full(what);
  return *own_extras;
}

void go_on_as_full(const std::string& what) {
  if (const auto error = flush_standard_output()) throw Error(*error);
  const std::filesystem::path folder = program_folder();
  const std::filesystem::path program = folder / kFullProgram;
  ::execv(program.c_str(), own_arguments);
  const int error = errno;
  if (error != ENOENT)
    throw system_error(ErrorKind::environment, "cannot start", program.string(), error);
  // Beside a build's programs, its cache is one folder above.
  const std::filesystem::path build = folder.parent_path();
  std::error_code ec;
  const bool built_here = std::filesystem::exists(build / "CMakeCache.txt", ec);
  throw Error(ErrorKind::environment, what + " needs assay-full, which is not here",
              program.string(),
              built_here ? "build it: cmake --build " + build.string() + " --target assay-full"
                         : "install Assay as a whole, or 'cmake --build --preset release --target "
                           "assay-full' and 'cmake --install' again");
}

}  // namespace assay::commands
