#include "report/report.h"

#include "core/files.h"
#include "core/run_layout.h"
#include "page/bilingual.h"
#include "report/ais.h"
#include "report/console.h"
#include "report/csv.h"
#include "report/experiment_report.h"
#include "report/html.h"
#include "report/json_report.h"
#include "report/junit.h"
#include "report/markdown.h"
#include "report/mllog.h"

namespace assay::report {

std::span<const Format> formats() {
  static const std::vector<Format> kFormats{
      {{layout::kReportHtml},
       [](const judge::RunResult& result) { return page::bilingual(render_html(result)); }},
      {{layout::kResultsCsv}, render_csv},
      {{layout::kRanksCsv}, render_ranks_csv},
      {{layout::kJunit}, render_junit},
      {{layout::kReportText},
       [](const judge::RunResult& result) {
         return render_console(result, {.report = "report.html, beside this file"});
       }},
      {{"report.md"}, render_markdown},
      {{layout::kMllog}, nullptr, write_mllogs},
      {{layout::kSucceeded, layout::kFailed}, nullptr, write_experiments, false},
      {{layout::kTrainResult, layout::kAisResult}, nullptr, write_ais_records, false},
      {{layout::kResult}, render_json},
  };
  return kFormats;
}

void write_reports(const judge::RunResult& result, const plan::Plan& plan,
                   const std::filesystem::path& run_dir) {
  make_directories(run_dir);
  for (const Format& format : formats()) {
    if (format.render != nullptr)
      write_file_atomic(run_dir / format.files.front(), format.render(result));
    else
      format.write({result, plan, run_dir});
  }
}

}  // namespace assay::report
