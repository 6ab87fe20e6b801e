#pragma once

#include <string>

#include "core/error.h"

namespace testing {}

namespace assay::testing {

using namespace ::testing;  // in namespaces of assay, too, testing::Test is GoogleTest's

/// The rendered message of the Error that `f` throws.
template <class F>
std::string error_of(F&& f) {
  try {
    (void)f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace assay::testing
