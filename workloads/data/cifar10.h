// SPDX-License-Identifier: Apache-2.0
//
// Loads CIFAR-10 from a folder with its binary version: data_batch_1.bin … data_batch_5.bin for
// training, test_batch.bin for evaluation. A file is 10,000 records; a record is one byte of label
// (0 … 9) and 3,072 bytes of picture: the planes R, G, B of 32 x 32 pixels, row-major. Source:
// Krizhevsky, "Learning multiple layers of features from tiny images", 2009;
// https://www.cs.toronto.edu/~kriz/cifar.html. `ci/fetch_cifar10 DIR` creates such a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/data/data_set.h"
#include "workloads/data/split.h"

namespace regatta::workloads {

/// The treatment of files that differ from those the authors published.
enum class DataCheck {
  Verified,   ///< such files are refused
  Unverified  ///< such files are used, and the data set is marked as unverified
};

/// Reads the whole training set or the whole test set.
/// Shapes: images [50,000 or 10,000, 32, 32, 3] labels [50,000 or 10,000]
/// Throws: RunError(Data) if a file is missing, of the wrong size, mislabelled, or differs from the
/// published one
DataSet load_cifar10(const std::filesystem::path& folder, Split split, DataCheck check);

/// The state of one of the six files.
struct FileCheck {
  std::string name;  ///< data_batch_1.bin, ...
  bool present = false;
  std::int64_t size_bytes = 0;  ///< 0 when absent
  bool size_ok = false;
  bool genuine = false;  ///< its MD5 equals that of the authors' file
};

/// Checks the six files; the training files come first in the result. Takes about half a second.
/// Does not throw if a file is absent or unreadable: the result marks it.
std::vector<FileCheck> check_cifar10(const std::filesystem::path& folder);

}  // namespace regatta::workloads
