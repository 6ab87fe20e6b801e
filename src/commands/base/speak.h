#pragma once

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace assay::commands {

/// Sets the language of this process by the command line (--lang, in any place before "--"), by
/// ASSAY_LANG or by the locale. Throws Error of kind usage for one that there is not.
void choose_language(int argc, const char* const* argv);

/// Lets every command take --lang, and puts all help into the reader's language.
void speak(CLI::App& app);

/// What went wrong as it is printed: "place: message" and the advice below, in the reader's
/// language.
[[nodiscard]] std::string error_text(const Error& error);

}  // namespace assay::commands
