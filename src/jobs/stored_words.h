#pragma once

// For the files of JobStore.

#include <string>

#include "core/enum_names.h"
#include "core/error.h"
#include "core/json_fields.h"

namespace assay::jobs {

/// A word that this program has written; another one means that the file is damaged.
template <NamedEnum E>
E word_of(const std::string& text) {
  const auto value = parse_enum<E>(text);
  if (!value)
    throw Error(ErrorKind::environment, "the database of jobs is damaged: '" + text + "'");
  return *value;
}

/// The same for a whole object.
template <class T>
T read_stored(const std::string& text, const std::string& where) {
  try {
    return fields_from_json<T>(parse_json(text, where), where);
  } catch (const Error& error) {
    throw Error(ErrorKind::environment, "the database of jobs is damaged: " + error.message(),
                error.where());
  }
}

}  // namespace assay::jobs
