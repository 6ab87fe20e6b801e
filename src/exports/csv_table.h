#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace assay::exports {

/// A table as pandas, DuckDB and R read it without being told anything: a header, commas, lines
/// that end with LF, UTF-8, empty cells for what is not known, NaN and Infinity by these names.
/// Written beside its place and renamed at the end: a reader never sees half a table. One thread.
class CsvTable {
 public:
  /// `file` appears with finish(). Throws Error of kind environment, as the others do.
  explicit CsvTable(std::filesystem::path file);
  ~CsvTable();
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  CsvTable& text(std::string_view cell);
  CsvTable& number(double value);
  CsvTable& number(std::int64_t value);
  CsvTable& empty();
  void end_row();
  void finish();

 private:
  void separate();

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  std::ofstream out_;
  bool first_ = true;
  bool finished_ = false;
};

}  // namespace assay::exports
