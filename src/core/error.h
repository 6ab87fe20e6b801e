#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace assay {

/// The class of a failure; it alone decides the exit code (the table is in error.cpp).
enum class ErrorKind {
  usage,         ///< wrong command line
  config,        ///< a suite, catalog or plan file is wrong
  environment,   ///< the machine, cluster or file system is not fit
  launch,        ///< an agent or a rank could not be started
  round_failed,  ///< a round ran and failed
  invalid,       ///< finished, but the result is INVALID
  internal,      ///< a defect in Assay
};

/// Assay's only error type: what happened, where, and what to do about it. `where` is a place a
/// user can go to ("suite.yaml:3:5", "host node1", "rank 7"), or empty.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string what, std::string where = {}, std::string advice = {});

  [[nodiscard]] const char* what() const noexcept override { return rendered_.c_str(); }
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const std::string& advice() const noexcept { return advice_; }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string where_;
  std::string advice_;
  std::string rendered_;  // "where: message\n  advice"
};

[[nodiscard]] int exit_code(ErrorKind kind) noexcept;
/// Every exit code with its meaning, for help texts; each line reads "  2  usage or configuration".
[[nodiscard]] std::string exit_codes();
[[nodiscard]] std::string_view to_string(ErrorKind kind) noexcept;

/// An Error for a failed system call: appends strerror(errno_value) and, for the usual causes (disk
/// full, no permission, read-only), the matching advice.
[[nodiscard]] Error system_error(ErrorKind kind, std::string what, std::string where,
                                 int errno_value);

}  // namespace assay
