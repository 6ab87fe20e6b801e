#pragma once

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace assay::commands {

/// Sets this process's language from the command line (--lang, anywhere before "--"), ASSAY_LANG or
/// the locale. Throws Error of kind usage for an unknown one.
void choose_language(int argc, const char* const* argv);

/// Makes every command accept --lang, and puts all help into the reader's language.
void speak(CLI::App& app);

/// An error as it is printed: "place: message" with the advice below, in the reader's language.
[[nodiscard]] std::string error_text(const Error& error);

}  // namespace assay::commands
