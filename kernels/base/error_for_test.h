// SPDX-License-Identifier: Apache-2.0
//
// For tests: the text of an error.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "kernels/base/error.h"

namespace regatta::testing_support {

/// Returns the text of the RunError that `body` throws; empty if it throws none. Fails the test if
/// the error is of another kind than `kind`.
template <typename Body>
std::string error_of(const Body& body, std::optional<ErrorKind> kind = {}) {
  try {
    body();
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), kind.value_or(error.kind())) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace regatta::testing_support
