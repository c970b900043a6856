// SPDX-License-Identifier: Apache-2.0
//
// Tests collectives of members that share a GPU: sums have the bits of the host's all_reduce, a
// reduce_scatter's only where the share is; an all_gather's results are the members' shares.
#include <cmath>
#include <random>
#include <thread>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/collective/all_reduce.h"
#include "kernels/comm/collective/all_reduce_members_for_test.h"
#include "kernels/cuda/device/device_op_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/graph/collective.h"

namespace regatta::cuda {
namespace {

using regatta::testing_support::Exchanged;
using regatta::testing_support::held;
using testing_support::cuda_table;

struct Case {
  std::string algorithm;
  std::int64_t members = 1;
  std::int64_t elements = 1;
  std::int64_t group = 0;
  std::int64_t skipped = 0;  ///< elements before each bucket
  ElementType element = ElementType::F32;
};

using Buckets = std::vector<std::vector<float>>;  ///< by member

/// Values of many magnitudes, so that another order of additions gives other bits.
Buckets random_buckets(const Case& test, std::mt19937& random) {
  std::uniform_real_distribution<float> exponent(-20, 20);
  Buckets buckets(static_cast<std::size_t>(test.members));
  for (std::vector<float>& bucket : buckets) {
    for (std::int64_t i = 0; i < test.elements; ++i) {
      const float sign = random() % 2 == 0 ? 1.0F : -1.0F;
      bucket.push_back(held(test.element, std::exp2(exponent(random)) * sign));
    }
  }
  return buckets;
}

Buckets summed_by_the_host(const Case& test, const Buckets& buckets) {
  comm::AllReduceGroup group({.algorithm = test.algorithm,
                              .members = test.members,
                              .group = test.group,
                              .element = test.element});
  std::vector<std::thread> threads;
  std::vector<Exchanged> exchanged(buckets.size(), {test.element, test.elements});
  for (std::size_t m = 0; m < buckets.size(); ++m) {
    exchanged[m].values() = buckets[m];
    exchanged[m].open();
    group.join(static_cast<std::int64_t>(m), exchanged[m].memory(), test.elements);
  }
  for (std::int64_t m = 0; m < test.members; ++m) {
    threads.emplace_back([&group, m] {
      WaitClock waits;
      group.run(m, Patience{}, {.peer_waits = &waits, .received = [](auto, auto) {}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  Buckets sums;
  for (Exchanged& each : exchanged) {
    each.close();
    sums.push_back(each.values());
  }
  return sums;
}

Node node_of(const Case& test, Op op = Op::AllReduce) {
  Node node;
  node.op = op;
  node.member = test.members - 1;
  node.attributes = {
      {"group", test.group}, {"members", test.members}, {"algorithm", test.algorithm}};
  return node;
}

class Collective : public testing_support::OnDevices {
 protected:
  /// A tensor on the device, behind the skipped elements.
  Tensor tensor_of(const Case& test, const std::vector<float>& values) {
    const TensorType type{test.element, {std::ssize(values)}};
    Exchanged exchanged(test.element, std::ssize(values));
    exchanged.values() = values;
    exchanged.open();
    const std::int64_t skipped = test.skipped * size_of(test.element);
    const Tensor tensor{.type = type,
                        .data = allocate<std::byte>(skipped + type.bytes()) + skipped};
    device().write(tensor.data, exchanged.memory(), type.bytes());
    return tensor;
  }
  Buckets values_of(const std::vector<Tensor>& tensors) {
    Buckets values;
    for (const Tensor& tensor : tensors) {
      Exchanged exchanged(tensor.type.element, tensor.elements());
      device().read(exchanged.memory(), tensor.data, tensor.type.bytes());
      exchanged.close();
      values.push_back(exchanged.values());
    }
    return values;
  }
  void run(const Node& node, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    const auto kernel = cuda_table().build({.node = node,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .variables = {},
                                            .versions_seen = {},
                                            .queue = &queue()});
    kernel->run({});
    queue().finish();
  }

  Buckets sum(const Case& test, const Buckets& buckets, Op op = Op::AllReduce) {
    std::vector<Tensor> tensors;
    for (const std::vector<float>& bucket : buckets) tensors.push_back(tensor_of(test, bucket));
    run(node_of(test, op), tensors, tensors);
    return values_of(tensors);
  }
};

constexpr std::pair<std::int64_t, ElementType> kSkippedAndElement[] = {
    {0, ElementType::F32}, {1, ElementType::F32}, {0, ElementType::BF16}, {1, ElementType::BF16}};

constexpr std::int64_t kMembers[] = {1, 2, 3, 5, 8};
constexpr std::int64_t kElements[] = {1, 2, 3, 7, 64, 1001, 4099};

TEST_P(Collective, GivesTheBitsOfTheHost) {
  std::mt19937 random(23);
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    if (!has_addition_orders(algorithm)) continue;  // the host adds instead
    for (const std::int64_t members : kMembers) {
      for (const std::int64_t elements : kElements) {
        for (const auto& [skipped, element] : kSkippedAndElement) {
          const Case test{.algorithm = std::string(algorithm),
                          .members = members,
                          .elements = elements + static_cast<std::int64_t>(random() % 5),
                          .group = static_cast<std::int64_t>(random() % 7),
                          .skipped = skipped,
                          .element = element};
          const Buckets buckets = random_buckets(test, random);
          EXPECT_EQ(sum(test, buckets), summed_by_the_host(test, buckets))
              << algorithm << " of " << members << " members, " << test.elements << " elements of "
              << to_string(element) << ", group " << test.group << ", skipped " << skipped;
        }
      }
    }
  }
}

std::vector<Case> cases_of_shares() {
  std::vector<Case> cases;
  for (const std::int64_t members : kMembers) {
    for (const std::int64_t elements : kElements) {
      for (const auto& [skipped, element] : kSkippedAndElement) {
        cases.push_back({.algorithm = "ring",
                         .members = members,
                         .elements = elements,
                         .skipped = skipped,
                         .element = element});
      }
    }
  }
  return cases;
}

TEST_P(Collective, LeavesTheSumsOfAShareAtItsMemberAlone) {
  std::mt19937 random(31);
  for (const Case& test : cases_of_shares()) {
    const std::int64_t members = test.members, elements = test.elements;
    const Buckets buckets = random_buckets(test, random);
    const Buckets sums = summed_by_the_host(test, buckets);
    Buckets expected = buckets;
    for (std::int64_t m = 0; m < members; ++m) {
      const Range own = share(elements, members, share_at(m, members));
      std::copy(sums[0].begin() + own.begin, sums[0].begin() + own.end,
                expected[static_cast<std::size_t>(m)].begin() + own.begin);
    }
    EXPECT_EQ(sum(test, buckets, Op::ReduceScatter), expected)
        << members << " members, " << elements << " elements of " << to_string(test.element);
  }
}

TEST_P(Collective, BringsThePiecesOfEachShareToAll) {
  std::mt19937 random(37);
  for (const Case& test : cases_of_shares()) {
    const std::int64_t members = test.members, elements = test.elements;
    const Buckets before = random_buckets(test, random);
    const std::vector<float> whole = random_buckets(test, random)[0];
    std::vector<Tensor> pieces, buckets;
    for (std::int64_t m = 0; m < members; ++m) {
      buckets.push_back(tensor_of(test, before[static_cast<std::size_t>(m)]));
      const Range own = share(elements, members, share_at(m, members));
      const std::int64_t cut = own.begin + own.size() / 3;
      for (const Range& piece : {Range{own.begin, cut}, Range{cut, own.end}}) {
        if (piece.size() == 0) continue;
        pieces.push_back(tensor_of(test, {whole.begin() + piece.begin, whole.begin() + piece.end}));
      }
    }
    run(node_of(test, Op::AllGather), pieces, buckets);
    EXPECT_EQ(values_of(buckets), Buckets(buckets.size(), whole))
        << members << " members, " << elements << " elements of " << to_string(test.element);
  }
}

/// Shows that the tests above can detect a wrong algorithm.
TEST_P(Collective, HasBitsThatDependOnTheAlgorithm) {
  std::mt19937 random(29);
  Case test{.members = 5, .elements = 1000, .group = 1};
  const Buckets buckets = random_buckets(test, random);
  std::vector<Buckets> sums;
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    if (!has_addition_orders(algorithm)) continue;  // the host adds instead
    test.algorithm = algorithm;
    sums.push_back(sum(test, buckets));
  }
  EXPECT_NE(sums[0], sums[1]);
  EXPECT_NE(sums[0], sums[2]);
  EXPECT_NE(sums[1], sums[2]);
}

TEST_P(Collective, RefusesOtherElementsThanF32AndBf16) {
  const Node node = node_of({.algorithm = "ring", .members = 1});
  const Tensor bucket{.type = {ElementType::I32, {4}}, .data = allocate<float>(4)};
  EXPECT_THROW(cuda_table().build({.node = node,
                                   .inputs = {&bucket, 1},
                                   .outputs = {&bucket, 1},
                                   .variables = {},
                                   .versions_seen = {},
                                   .queue = &queue()}),
               RunError);
}

INSTANTIATE_TEST_SUITE_P(On, Collective, testing_support::kDevices,
                         testing_support::name_of_device);

}  // namespace
}  // namespace regatta::cuda
