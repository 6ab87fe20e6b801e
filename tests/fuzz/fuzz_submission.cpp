// Any bytes as a job. Of this platform: either problems, or a submission that survives its JSON and
// whose suite can be read. Of Apulis: either a suite that can be read, or an Error of kind config.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "importer/apulis.h"
#include "jobs/cron.h"
#include "jobs/job_array.h"
#include "jobs/submission.h"
#include "plan/suite.h"

namespace {

void submission(std::string_view text) {
  using namespace assay::jobs;
  const ReadSubmission read = read_submission(assay::parse_json_or_null(text));
  if (!read.problems.empty()) return;
  const ReadSubmission again = read_submission(assay::fields_to_json(read.submission));
  if (!again.problems.empty() || again.submission != read.submission) std::abort();
  if (read.submission.command.empty()) return;
  if (assay::plan::parse_suite(suite_text(read.submission), "fuzz.yaml").cases.size() != 1)
    std::abort();
}

template <class Read>
void either_config_error(Read read) {
  try {
    read();
  } catch (const assay::Error& error) {
    if (error.kind() != assay::ErrorKind::config) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  submission(text);
  either_config_error([&] { (void)assay::jobs::Cron::parse(text, "fuzz"); });
  (void)assay::jobs::parse_array(text);
  std::string suite;
  either_config_error(
      [&] { suite = assay::importer::import_apulis_text(text, "fuzz").suite_yaml; });
  if (!suite.empty()) (void)assay::plan::parse_suite(suite, "fuzz.yaml");
  return 0;
}
