// SPDX-License-Identifier: Apache-2.0
//
// Divides the groups of a normalisation among threads: each thread takes whole groups if the number
// of threads divides the number of groups; otherwise each takes one slice of every group, and the
// slices' sums are merged in the order of the slices.
#pragma once

#include <cstdint>

#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/tensor_type.h"

namespace regatta::cpu {

struct Groups {
  Groups(const TensorType& x, std::int64_t group_count, int threads)
      : count(group_count),
        examples(x.dim(0) / group_count),
        rows(examples * x.dim(1) * x.dim(2)),
        channels(x.dim(3)),
        parts(parts_for(threads, x.elements())),
        sliced(group_count % parts != 0) {}

  /// Returns the elements of `part`'s slice of a group, or of the whole group if groups are not
  /// sliced.
  Range elements(std::int64_t group, int part) const {
    const Range mine = sliced ? share(rows, parts, part) : Range{0, rows};
    return {(group * rows + mine.begin) * channels, (group * rows + mine.end) * channels};
  }

  /// Returns the range of whole examples in `group` that `part` computes, for kernels that read
  /// neighbouring pixels and so cannot split an image.
  Range whole_examples(std::int64_t group, int part) const {
    const Range mine = sliced ? share(examples, parts, part) : Range{0, examples};
    return {group * examples + mine.begin, group * examples + mine.end};
  }
  Range elements_of(const Range& some_examples) const {
    const std::int64_t size = rows / examples * channels;
    return {some_examples.begin * size, some_examples.end * size};
  }

  /// Calls measure(group, part), then finish(group), then apply(group, part) for each group. If
  /// groups are not sliced, a thread completes one group before the next, so that apply() rereads
  /// measure()'s data from the cache.
  template <typename Measure, typename Finish, typename Apply>
  void run(const Measure& measure, const Finish& finish, const Apply& apply) const {
    if (!sliced) {
      parallel_parts(parts, [&](int part) {
        const Range mine = share(count, parts, part);
        for (std::int64_t group = mine.begin; group < mine.end; ++group) {
          measure(group, part);
          finish(group);
          apply(group, part);
        }
      });
      return;
    }
    parallel_parts(parts, [&](int part) {
      for (std::int64_t group = 0; group < count; ++group) measure(group, part);
    });
    for (std::int64_t group = 0; group < count; ++group) finish(group);
    parallel_parts(parts, [&](int part) {
      for (std::int64_t group = 0; group < count; ++group) apply(group, part);
    });
  }

  /// slices() is the number of slices of a group; slice() is the index, over all groups, of the
  /// slice that `part` measures.
  std::int64_t slices() const { return sliced ? parts : 1; }
  std::int64_t slice(std::int64_t group, int part) const {
    return group * slices() + (sliced ? part : 0);
  }

  std::int64_t count;
  std::int64_t examples;  ///< in one group
  std::int64_t rows;      ///< pixels in one group
  std::int64_t channels;
  int parts;
  bool sliced;
};

}  // namespace regatta::cpu
