// SPDX-License-Identifier: Apache-2.0
#include "workloads/whitening.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.h"

namespace regatta::workloads {
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

/// The patches of an image, as bytes. Shapes: [patch, places].
class Patches {
 public:
  Patches(const DataSet& data, std::int64_t kernel)
      : kernel_(kernel),
        side_(data.inputs.dims.at(0)),
        channels_(data.inputs.dims.at(2)),
        places_((side_ - kernel + 1) * (side_ - kernel + 1)),
        planes_(at(channels_ * side_ * side_)),
        bytes_(at(kernel * kernel * channels_ * places_)) {}

  std::int64_t places() const { return places_; }
  const std::int16_t* row(std::int64_t i) const { return bytes_.data() + i * places_; }

  /// Shapes: image [side, side, channels].
  void take(const std::uint8_t* image) {
    const std::int64_t pixels = side_ * side_, columns = side_ - kernel_ + 1;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        planes_[at(c * pixels + pixel)] = image[pixel * channels_ + c];
      }
    }
    auto next = bytes_.begin();
    for (std::int64_t dy = 0; dy < kernel_; ++dy) {
      for (std::int64_t dx = 0; dx < kernel_; ++dx) {
        for (std::int64_t c = 0; c < channels_; ++c) {
          for (std::int64_t y = dy; y < dy + columns; ++y) {
            next = std::copy_n(planes_.begin() + (c * side_ + y) * side_ + dx, columns, next);
          }
        }
      }
    }
  }

 private:
  std::int64_t kernel_, side_, channels_, places_;
  std::vector<std::int16_t> planes_;  ///< [channels, side, side]
  std::vector<std::int16_t> bytes_;
};

/// Dot product; exact for images of up to 2^15 pixels. Shapes: [count] each.
std::int64_t dot(const std::int16_t* a, const std::int16_t* b, std::int64_t count) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}

/// P'P / n over all patches of the images. With x a byte, m and d its channel's mean and deviation:
///   sum of ((x - m) / d) ((y - m') / d') = (sum xy - m' sum x - m sum y + n m m') / (d d'),
/// where the sums of bytes are integers. Shapes: [patch, patch].
std::vector<double> covariance(const DataSet& data, const Augmentation& normalisation,
                               const WhiteningOptions& options) {
  const std::int64_t side = data.inputs.dims.at(0), channels = data.inputs.dims.at(2);
  const std::int64_t size = options.kernel * options.kernel * channels;
  const std::int64_t images = std::min(options.images, data.count);
  check(side * side <= 1 << 15, "sums over an image fit into 32 bits");
  std::vector<std::int64_t> products(at(size * size)), sums(at(size));
  Patches patches(data, options.kernel);
  for (std::int64_t image = 0; image < images; ++image) {
    patches.take(data.inputs.as<std::uint8_t>().data() + image * side * side * channels);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int16_t* row = patches.row(i);
      sums[at(i)] += std::accumulate(row, row + patches.places(), std::int32_t{0});
      for (std::int64_t j = 0; j <= i; ++j) {
        products[at(i * size + j)] += dot(row, patches.row(j), patches.places());
      }
    }
  }
  const auto count = static_cast<double>(images * patches.places());
  const auto mean = [&](std::int64_t i) { return normalisation.mean[at(i % channels)]; };
  const auto deviation = [&](std::int64_t i) { return normalisation.deviation[at(i % channels)]; };
  const auto sum = [&](std::int64_t i) { return static_cast<double>(sums[at(i)]); };
  std::vector<double> result(at(size * size));
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double about_means = static_cast<double>(products[at(i * size + j)]) -
                                 mean(j) * sum(i) - mean(i) * sum(j) + count * mean(i) * mean(j);
      result[at(i * size + j)] = about_means / (deviation(i) * deviation(j) * count);
      result[at(j * size + i)] = result[at(i * size + j)];
    }
  }
  return result;
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
  if (data.inputs.dims.size() != 3) {
    throw RunError(ErrorKind::Data, "data set '" + data.name +
                                        "' has no images, which this workload's first layer needs");
  }
  const std::int64_t size = options.kernel * options.kernel * data.inputs.dims[2];
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

}  // namespace regatta::workloads
