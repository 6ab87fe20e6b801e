#include "exports/csv_table.h"

#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"

namespace assay::exports {

namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file) {
  throw Error(ErrorKind::environment, "cannot be written", file.string(),
              "is there room on the disk, and may you write there?");
}

}  // namespace

CsvTable::CsvTable(std::filesystem::path file)
    : file_(std::move(file)), temporary_(file_.string() + ".part") {
  make_directories(file_.parent_path());
  out_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!out_) cannot_write(temporary_);
}

CsvTable::~CsvTable() {
  if (finished_) return;
  std::error_code ec;
  out_.close();
  std::filesystem::remove(temporary_, ec);
}

void CsvTable::separate() {
  if (!first_) out_ << ',';
  first_ = false;
}

CsvTable& CsvTable::text(std::string_view cell) {
  separate();
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    out_ << cell;
    return *this;
  }
  out_ << '"';
  for (const char c : cell) {
    if (c == '"') out_ << '"';
    out_ << c;
  }
  out_ << '"';
  return *this;
}

CsvTable& CsvTable::number(double value) {
  separate();
  if (std::isfinite(value))
    out_ << fmt::format("{}", value);
  else
    out_ << (std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  return *this;
}

CsvTable& CsvTable::number(std::int64_t value) {
  separate();
  out_ << value;
  return *this;
}

CsvTable& CsvTable::empty() {
  separate();
  return *this;
}

void CsvTable::end_row() {
  out_ << '\n';
  first_ = true;
}

void CsvTable::finish() {
  out_.close();
  std::error_code ec;
  if (!out_.fail()) std::filesystem::rename(temporary_, file_, ec);
  if (out_.fail() || ec) cannot_write(file_);
  finished_ = true;
}

}  // namespace assay::exports
