#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace assay::exports {

/// A table that pandas, DuckDB and R read without options: a header, commas, LF line ends, UTF-8,
/// empty cells for unknown values, NaN and Infinity under these names. Written to a temporary file
/// and renamed at the end, so that no reader sees half a table. Single-threaded.
class CsvTable {
 public:
  /// `file` appears with finish(). Like the other functions, throws Error of kind environment.
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
