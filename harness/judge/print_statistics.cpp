// SPDX-License-Identifier: Apache-2.0
//
// Computes statistics of samples, one a line, for harness/program_tests/statistics_scipy_test.py:
//   mann_whitney 1 2 3 / 4 5 6   p value
//   signed_rank 1 -2 3           p value
//   student_t 2.5 4              p value and its quantile; the last number: degrees of freedom
//   studentized_range 4 5 8      p value and its quantile; numbers: q, means, degrees of freedom
//   median_interval 1 2 3        median, low, high, coverage
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "harness/judge/statistics.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;

/// Parses the numbers up to `/` or the end of the line.
Sample next_sample(std::istringstream& words) {
  Sample sample;
  for (std::string word; words >> word && word != "/";) sample.push_back(std::stod(word));
  return sample;
}

void answer(const std::string& line) {
  std::istringstream words(line);
  std::string question;
  words >> question;
  const Sample sample = next_sample(words);
  if (question == "mann_whitney") {
    std::cout << mann_whitney_p(sample, next_sample(words)) << '\n';
  } else if (question == "signed_rank") {
    std::cout << signed_rank_p(sample) << '\n';
  } else if (question == "student_t") {
    const auto freedom = static_cast<std::size_t>(sample.at(1));
    const double p = student_t_p(sample.at(0), freedom);
    std::cout << p << ' ' << student_t_quantile(p, freedom) << '\n';
  } else if (question == "studentized_range") {
    const auto means = static_cast<std::size_t>(sample.at(1));
    const auto freedom = static_cast<std::size_t>(sample.at(2));
    const double p = studentized_range_p(sample.at(0), means, freedom);
    std::cout << p << ' ' << studentized_range_quantile(p, means, freedom) << '\n';
  } else {
    const MedianInterval interval = median_interval(sample);
    std::cout << interval.median << ' ' << interval.low << ' ' << interval.high << ' '
              << interval.coverage << '\n';
  }
}

}  // namespace
}  // namespace regatta::judge

int main() {
  std::cout.precision(17);
  for (std::string line; std::getline(std::cin, line);) regatta::judge::answer(line);
}
