// libais_utils.so, libset_result.so: workloads link them or load them with ctypes.
#include <cstdio>
#include <string>

#include "aisbench/result_writer.h"

/// Reports a result to the run. Returns 0; or -1, with a message on stderr, if the call is invalid
/// or the result cannot be reported. Any thread and process of the workload may call it.
extern "C" __attribute__((visibility("default"))) int set_result(const char* mode, const char* key,
                                                                 const char* value) {
  const auto text = [](const char* s) { return s == nullptr ? std::string() : std::string(s); };
  const std::string wrong = assay::aisbench::write_result(text(mode), text(key), text(value));
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "set_result: %s\n", wrong.c_str());
  return -1;
}
