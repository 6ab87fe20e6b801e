#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/challenge.h"

namespace assay::commands {

struct PushRequest;

/// The program with all commands, beside `assay`.
inline constexpr const char* kFullProgram = "assay-full";

/// Pages that the browser shows while this object lives.
class LivePages {
 public:
  LivePages() = default;
  LivePages(const LivePages&) = delete;
  LivePages& operator=(const LivePages&) = delete;
  virtual ~LivePages() = default;
  [[nodiscard]] virtual std::string address() const = 0;
};

/// What only assay-full can do of the commands that `assay` has itself, because it needs servers,
/// clients or clouds.
struct Extras {
  /// Metrics and console of a run, on a port of web_port().
  std::unique_ptr<LivePages> (*show_run)(const std::filesystem::path& run, std::uint16_t port);
  int (*push)(const PushRequest& request);
  /// Throws Error if push would find no token.
  void (*check_token)(const std::string& token_file);
  Challenge (*read_challenge)(const std::string& text, const std::string& token_file,
                              const std::string& ca);
  /// Prints what may follow on the command line.
  int (*print_candidates)(const CLI::App& app, const std::vector<std::string>& words);
};

/// The program's arguments, kept for going on, and its extras, if it has any. Called first.
void set_extras(char** arguments, const Extras* extras);

/// The extras of this program. If it has none, it becomes assay-full and begins again with the same
/// arguments, so nothing may have been written or printed before. `what` is what needs them, as on
/// the command line. Throws Error of kind environment if there is no assay-full.
const Extras& extras_for(const std::string& what);
/// The same for a command that this program does not have.
[[noreturn]] void go_on_as_full(const std::string& what);

}  // namespace assay::commands
