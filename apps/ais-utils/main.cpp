#include <cstdio>
#include <cstring>
#include <string>

#include "aisbench/result_writer.h"

// ais_utils set_result MODE KEY VALUE
int main(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[1], "set_result") != 0) {
    std::fputs("usage: ais_utils set_result MODE KEY VALUE\n", stderr);
    return 2;
  }
  const std::string wrong = assay::aisbench::write_result(argv[2], argv[3], argv[4]);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "ais_utils: %s\n", wrong.c_str());
  return 1;
}
