#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "importer/flagperf.h"
#include "importer/flagperf_layout.h"
#include "pyliteral/python_literals.h"

namespace assay::importer {

namespace {

namespace fs = std::filesystem;

/// Every config_*.py below training/<vendor>/, sorted, without the framework's own folders.
std::vector<fs::path> vendor_files(const fs::path& training) {
  std::vector<fs::path> out;
  std::error_code error;
  fs::recursive_directory_iterator it(training, fs::directory_options::skip_permission_denied,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it.depth() == 0 && (name == "benchmarks" || name == "run_benchmarks")) {
      it.disable_recursion_pending();
    } else if (it.depth() >= 2 && name.starts_with("config_") && name.ends_with(".py") &&
               it->is_regular_file(ignored)) {
      out.push_back(it->path());
    }
  }
  if (error)
    throw Error(ErrorKind::environment, "the folder cannot be listed: " + error.message(),
                training.string());
  std::ranges::sort(out);
  return out;
}

SurveyedFile survey_file(const fs::path& training, const fs::path& path) {
  SurveyedFile out;
  out.file = path.lexically_relative(training).string();
  try {
    pyliteral::Module module = pyliteral::parse_python_file(path, out.file);
    out.values = module.settings.size();
    for (const pyliteral::NotLiteral& name : module.not_literal)
      out.not_literal.emplace_back(name.name, name.what);
    out.fully_read = module.fully_read();
    out.syntax_ok = module.syntax_ok;
    out.diagnostics = std::move(module.diagnostics);
  } catch (const Error& error) {
    out.syntax_ok = false;
    out.diagnostics.push_back({out.file, 0, 0, Severity::error, error.message()});
  }
  return out;
}

std::string_view state(const SurveyedFile& file) {
  return file.fully_read ? "fully" : file.syntax_ok ? "partly" : "unreadable";
}

}  // namespace

ImportSurvey import_survey(const fs::path& dir) {
  const fs::path training = find_training(dir);
  ImportSurvey out;
  for (const fs::path& path : vendor_files(training)) {
    SurveyedFile file = survey_file(training, path);
    (file.fully_read ? out.fully : file.syntax_ok ? out.partly : out.unreadable) += 1;
    out.values += file.values;
    out.files.push_back(std::move(file));
  }
  return out;
}

Json to_json(const ImportSurvey& survey) {
  Json files = Json::array();
  for (const SurveyedFile& file : survey.files) {
    Json names = Json::object();
    for (const auto& [name, what] : file.not_literal) names[name] = what;
    Json remarks = Json::array();
    for (const Diagnostic& diagnostic : file.diagnostics)
      if (diagnostic.severity != Severity::note) remarks.push_back(to_string(diagnostic));
    Json entry{{"file", file.file}, {"read", state(file)}, {"values", file.values}};
    if (!names.empty()) entry["not_literal"] = std::move(names);
    if (!remarks.empty()) entry["remarks"] = std::move(remarks);
    files.push_back(std::move(entry));
  }
  return {{"files", survey.files.size()}, {"fully", survey.fully},
          {"partly", survey.partly},      {"unreadable", survey.unreadable},
          {"values", survey.values},      {"details", std::move(files)}};
}

std::string render(const ImportSurvey& survey) {
  std::string out = fmt::format(
      "{} files: {} read fully, {} partly, {} that Python does not accept; {} values\n",
      survey.files.size(), survey.fully, survey.partly, survey.unreadable, survey.values);
  for (const SurveyedFile& file : survey.files) {
    if (file.fully_read) continue;
    out += fmt::format("\n{}: {}, {} values read\n", file.file, state(file), file.values);
    for (const auto& [name, what] : file.not_literal)
      out += fmt::format("  {} is {}\n", name, what);
    for (const Diagnostic& diagnostic : file.diagnostics)
      if (diagnostic.severity != Severity::note)
        out += fmt::format("  {}\n", to_string(diagnostic));
  }
  return out;
}

}  // namespace assay::importer
