#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pyliteral/python_literals.h"

// Any bytes as a Python file of settings: never a crash, never a value that cannot be written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay::pyliteral;
  if (size > kMaxPythonFile) return 0;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const Module module = parse_python(source, "fuzz.py");
  for (const Setting& setting : module.settings) {
    if (setting.place.line < 1 || setting.place.column < 1) std::abort();
    static_cast<void>(assay::dump_line(to_json(setting.value)));
  }
  for (const assay::Diagnostic& diagnostic : module.diagnostics)
    if (to_string(diagnostic).empty()) std::abort();
  if (!module.syntax_ok && module.diagnostics.empty()) std::abort();
  return 0;
}
