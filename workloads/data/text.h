// SPDX-License-Identifier: Apache-2.0
//
// The data set `text`: the plain files of a folder, joined in byte order of their names; names that
// begin with a dot are left out.
//   A folder without files NAME.bin is text: a byte is a token.
//   A folder with such files holds tokens of 16 bits, little-endian; its other files are not read.
//     A .bin file begins with llm.c's header if its first number is 20240520: 256 numbers of 32
//     bits (that one, version 1, the number of tokens, zeros). Any other is tokens from its first
//     byte on, as nanoGPT writes train.bin and val.bin.
// The first floor(0.9 n) of n tokens are for training, the rest for validation. Block i of a part
// is its tokens i * context … i * context + context.
// Source: github.com/karpathy/llm.c, dev/data/data_common.py; nanoGPT, data/shakespeare/prepare.py.
#pragma once

#include <filesystem>

#include "workloads/data/sequences.h"
#include "workloads/data/split.h"

namespace regatta::workloads {

/// Reads the training and validation parts. Takes 12 bytes of memory per token. Throws:
/// RunError(Data) if the folder or a file is missing, empty or damaged, a part is shorter than a
/// block, or a token is not below the vocabulary.
DataSets load_text(const std::filesystem::path& folder, const Sequences& sequences);

/// Counts the blocks of training and validation, from the files' headers and sizes. Does not check
/// tokens. Throws: RunError(Data) like load_text().
DataSetSizes sizes_of_text(const std::filesystem::path& folder, const Sequences& sequences);

}  // namespace regatta::workloads
