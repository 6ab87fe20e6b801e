// Writes the demonstration reports into the folder given as the only argument, to look at them.
#include <cstdio>
#include <filesystem>
#include <string>

#include "demo.h"
#include "report/report.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: report_demo FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  assay::report::write_reports(assay::report::demo_result(), {}, folder / "demo");
  assay::report::write_reports(assay::report::small_result(), {}, folder / "small");
  assay::report::write_reports(assay::report::wide_result(512), {}, folder / "wide");
  assay::report::write_reports(assay::report::sweep_result(), {}, folder / "sweep");
  return 0;
}
