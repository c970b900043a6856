// SPDX-License-Identifier: Apache-2.0
//
// Pushes that are summed as they arrive, over real connections.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "kernels/comm/grpc/exchange_for_test.h"

namespace regatta::comm {
namespace {

using test::End;
using test::options_of;

/// Messages from processes 1, 2, … to process 0, each added onto the sum of those before it.
class ArrivingSum {
 public:
  ArrivingSum(End& server, int workers, std::int64_t count)
      : values(static_cast<std::size_t>(count)),
        view_{.type = {ElementType::F32, {count}}, .data = values.data()} {
    for (std::int64_t worker = 1; worker <= workers; ++worker) {
      const Node& node = nodes_.emplace_back(
          Node{.op = Op::Receive, .attributes = {{"message", worker}, {"peer", worker}}});
      KernelRequest request{.node = node};
      request.outputs = std::span(&view_, 1);
      if (worker > 1) request.inputs = request.outputs;
      request.abort = &abort_;
      kernels_.push_back(server.table.build(request));
    }
  }
  void receive(int worker, std::int64_t step) {
    kernels_.at(static_cast<std::size_t>(worker - 1))
        ->run({.step = step, .examples = 0, .counters = &counters_});
  }

  std::vector<float> values;

 private:
  Tensor view_;
  AbortFlag abort_;
  LaneCounters counters_;
  std::deque<Node> nodes_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

TEST(GrpcExchange, AddsWhatHasComeWhileTheNextIsNotEvenSent) {
  constexpr std::int64_t kCount = 1'300'000;  // two chunks
  constexpr std::int64_t kSteps = 2;
  const auto term = [](int worker, std::int64_t step, std::size_t i) {
    return 1.0F / static_cast<float>(3 * worker + step + static_cast<std::int64_t>(i % 97) + 1);
  };
  End server(options_of(0, 4));
  const std::string address = server.exchange.serve();
  ArrivingSum sum(server, 3, kCount);
  std::atomic<std::int64_t> two_are_added{0};  // steps in which two were added
  std::vector<std::thread> workers;
  for (int process = 1; process < 4; ++process) {
    workers.emplace_back([&, process] {
      End worker(options_of(process, 4));
      worker.exchange.connect(0, address);
      const auto push = worker.send(process, 0, {kCount * 4});
      for (std::int64_t step = 0; step < kSteps; ++step) {
        while (process == 3 && two_are_added <= step) std::this_thread::yield();
        std::vector<float> terms(kCount);
        for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = term(process, step, i);
        std::memcpy(push->tensors[0].data(), terms.data(), push->tensors[0].size());
        push->run(step);
      }
    });
  }
  const auto wrong = [&](int last, std::int64_t step) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      float expected = term(1, step, i);
      for (int worker = 2; worker <= last; ++worker) expected += term(worker, step, i);
      count += sum.values[i] != expected ? 1 : 0;
    }
    return count;
  };
  for (std::int64_t step = 0; step < kSteps; ++step) {
    for (int worker : {1, 2}) sum.receive(worker, step);
    EXPECT_EQ(wrong(2, step), 0);
    ++two_are_added;
    sum.receive(3, step);
    EXPECT_EQ(wrong(3, step), 0);
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace regatta::comm
