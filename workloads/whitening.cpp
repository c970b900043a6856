// SPDX-License-Identifier: Apache-2.0
#include "workloads/whitening.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr int kMostSweeps = 100;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Rotates rows and columns p and q so that element (p, q) becomes zero.
void rotate(std::vector<double>& a, std::vector<double>& v, std::int64_t n, std::int64_t p,
            std::int64_t q) {
  const double apq = a[at(p * n + q)];
  if (apq == 0) return;
  const double theta = (a[at(q * n + q)] - a[at(p * n + p)]) / (2 * apq);
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  for (std::int64_t k = 0; k < n; ++k) {
    const double akp = a[at(k * n + p)], akq = a[at(k * n + q)];
    a[at(k * n + p)] = c * akp - s * akq;
    a[at(k * n + q)] = s * akp + c * akq;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const double apk = a[at(p * n + k)], aqk = a[at(q * n + k)];
    a[at(p * n + k)] = c * apk - s * aqk;
    a[at(q * n + k)] = s * apk + c * aqk;
    const double vpk = v[at(p * n + k)], vqk = v[at(q * n + k)];
    v[at(p * n + k)] = c * vpk - s * vqk;
    v[at(q * n + k)] = s * vpk + c * vqk;
  }
}

double off_diagonal(const std::vector<double>& a, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) sum += i == j ? 0 : a[at(i * n + j)] * a[at(i * n + j)];
  }
  return sum;
}

/// P'P / n over all patches of the images. Shapes: [patch, patch].
std::vector<double> covariance(const DataSet& data, const Augmentation& normalisation,
                               const WhiteningOptions& options) {
  const std::int64_t k = options.kernel, channels = data.channels, side = data.side;
  const std::int64_t size = k * k * channels;
  const std::int64_t images = std::min(options.images, data.count);
  std::vector<double> sums(at(size * size));
  std::vector<double> patch(at(size));
  for (std::int64_t image = 0; image < images; ++image) {
    const std::uint8_t* pixels = data.images.data() + image * side * side * channels;
    for (std::int64_t y = 0; y + k <= side; ++y) {
      for (std::int64_t x = 0; x + k <= side; ++x) {
        for (std::int64_t i = 0; i < size; ++i) {
          const std::int64_t c = i % channels, dx = i / channels % k, dy = i / channels / k;
          const double byte = pixels[((y + dy) * side + x + dx) * channels + c];
          patch[at(i)] = (byte - normalisation.mean[at(c)]) / normalisation.deviation[at(c)];
        }
        for (std::int64_t i = 0; i < size; ++i) {
          for (std::int64_t j = 0; j <= i; ++j)
            sums[at(i * size + j)] += patch[at(i)] * patch[at(j)];
        }
      }
    }
  }
  const auto count = static_cast<double>(images * (side - k + 1) * (side - k + 1));
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      sums[at(i * size + j)] /= count;
      sums[at(j * size + i)] = sums[at(i * size + j)];
    }
  }
  return sums;
}

}  // namespace

Eigensystem eigensystem(std::vector<double> matrix, std::int64_t n) {
  std::vector<double> vectors(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) vectors[at(i * n + i)] = 1;
  const double small = 1e-28 * (off_diagonal(matrix, n) + 1e-300);
  for (int sweep = 0; sweep < kMostSweeps && off_diagonal(matrix, n) > small; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) rotate(matrix, vectors, n, p, q);
    }
  }
  std::vector<std::int64_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return matrix[at(i * n + i)] < matrix[at(j * n + j)];
  });
  Eigensystem result;
  for (std::int64_t row : order) {
    result.values.push_back(matrix[at(row * n + row)]);
    const auto first = vectors.begin() + row * n;
    const double largest = *std::max_element(
        first, first + n, [](double x, double y) { return std::abs(x) < std::abs(y); });
    for (auto v = first; v != first + n; ++v) result.vectors.push_back(largest < 0 ? -*v : *v);
  }
  return result;
}

std::vector<float> whitening_filters(const DataSet& data, const Augmentation& augmentation,
                                     const WhiteningOptions& options) {
  if (!data.has_images()) {
    throw RunError(ErrorKind::Data, "data set '" + data.name +
                                        "' has no images, which this workload's first layer needs");
  }
  const std::int64_t size = options.kernel * options.kernel * data.channels;
  const Eigensystem system = eigensystem(covariance(data, augmentation, options), size);
  std::vector<float> filters(at(2 * size * size));
  for (std::int64_t i = 0; i < size; ++i) {
    const double scale = 1 / std::sqrt(system.values[at(i)] + options.epsilon);
    for (std::int64_t j = 0; j < size; ++j) {
      const auto value = static_cast<float>(scale * system.vectors[at(i * size + j)]);
      filters[at(i * size + j)] = value;
      filters[at((size + i) * size + j)] = -value;
    }
  }
  return filters;
}

}  // namespace regatta
