// SPDX-License-Identifier: Apache-2.0
//
// Filters that whiten small patches of images: their outputs are uncorrelated and have variance 1.
// With patches as rows of P, C = P'P / n (the mean is not subtracted), and v_i the eigenvector of C
// with eigenvalue l_i, filter i is v_i / sqrt(l_i + epsilon). The same filters, negated, follow.
// Source: D. Page, "How to train your ResNet" 8; K. Jordan, airbench94.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/data/data_set.h"
#include "kernels/graph/builder.h"

namespace regatta::workloads {

struct WhiteningOptions {
  std::int64_t kernel = 2;  ///< side of a patch, pixels
  /// Number of images used, from the start of the data set; all if it has fewer.
  std::int64_t images = 0;
  double epsilon = 0;
};

/// Returns the whitening filters of a data set. Images are normalised by the mean and deviation of
/// `augmentation`, but not augmented. Shapes: [2 * kernel * kernel * channels, kernel, kernel,
/// channels].
std::vector<float> whitening_filters(const DataSet& data, const Augmentation& augmentation,
                                     const WhiteningOptions& options);

/// The eigenvalues of a symmetric matrix, ascending; row i of `vectors` is the unit eigenvector of
/// values[i], with its largest component positive. eigensystem() computes them by cyclic Jacobi
/// rotations. Shapes: matrix [n, n]. Source: Golub and Van Loan, Matrix Computations, section 8.5.
struct Eigensystem {
  std::vector<double> values;
  std::vector<double> vectors;
};
Eigensystem eigensystem(std::vector<double> matrix, std::int64_t n);

}  // namespace regatta::workloads
