#include "report/ais.h"

#include "core/files.h"
#include "core/run_layout.h"

namespace assay::report {

void write_ais_records(const ReportInput& input) {
  for (const judge::CaseResult& case_result : input.result.cases)
    for (const judge::RoundResult& round : case_result.rounds) {
      if (!round.ais) continue;
      const auto folder = input.run_dir / case_result.name / layout::round_folder(round.round);
      const auto put = [&](std::string_view name, const std::string& text) {
        std::error_code ignored;
        if (text.empty()) {
          std::filesystem::remove(folder / name, ignored);
          return;
        }
        make_directories(folder);  // a tester lacks a round's folder if it has no files
        write_file_atomic(folder / name, text, /*sync=*/false);
      };
      const std::string& record = round.ais->train_result_info;
      put(layout::kTrainResult, record.empty() ? "" : record + "\n");
      put(layout::kReportText, round.ais->report);
      put(layout::kAisResult, round.ais->details.empty() ? "" : dump_pretty(round.ais->details));
    }
}

}  // namespace assay::report
