#include "jobs/job_uploads.h"

#include "database/database.h"

namespace assay::jobs {

std::set<std::string> uploads_in(const std::filesystem::path& file) {
  database::Options options;
  options.read_only = true;
  database::Database database(file, options);
  database::Statement query = database.prepare("SELECT DISTINCT code FROM details");
  std::set<std::string> uploads;
  while (query.step()) uploads.insert(query.text(0));
  uploads.erase("");
  return uploads;
}

}  // namespace assay::jobs
