// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/capture/function_recording_for_test.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/runtime/device.h"

namespace regatta {
namespace {

class FunctionStep final : public RecordedStep {
 public:
  explicit FunctionStep(std::unique_ptr<FunctionRecording> recording)
      : recording_(std::move(recording)) {}
  void launch() override { recording_->replay(); }

 private:
  std::unique_ptr<FunctionRecording> recording_;
};

class FunctionRecorder final : public StepRecorder {
 public:
  ~FunctionRecorder() override { record_into(nullptr); }

  void begin(std::span<LaneQueue* const> queues) override {
    for (LaneQueue* queue : queues) {
      queues_.push_back(dynamic_cast<FunctionQueue*>(queue));
      check(queues_.back() != nullptr, "queues of this device record functions");
    }
    recording_ = std::make_unique<FunctionRecording>(queues.size());
    record_into(recording_.get());
  }
  Mark mark(std::size_t queue) override { return recording_->mark(queue); }
  void wait(std::size_t queue, Mark mark) override { recording_->wait(queue, mark); }
  void look() override {}
  std::unique_ptr<RecordedStep> end() override {
    record_into(nullptr);
    return std::make_unique<FunctionStep>(std::move(recording_));
  }

 private:
  void record_into(FunctionRecording* recording) {
    for (std::size_t i = 0; i < queues_.size(); ++i) queues_[i]->record_into(recording, i);
  }

  std::vector<FunctionQueue*> queues_;
  std::unique_ptr<FunctionRecording> recording_;
};

}  // namespace

void FunctionRecording::add(std::size_t queue, std::function<void()> work) {
  Item item{.queue = queue, .work = std::move(work), .after = std::exchange(waits_[queue], {})};
  if (last_[queue]) item.after.push_back(*last_[queue]);
  last_[queue] = items_.size();
  items_.push_back(std::move(item));
}

std::size_t FunctionRecording::mark(std::size_t queue) {
  add(queue, [] {});
  return *last_[queue];
}

bool FunctionRecording::is_ready(const Item& item, const std::vector<bool>& done) const {
  return std::all_of(item.after.begin(), item.after.end(),
                     [&](std::size_t other) { return done[other]; });
}

void FunctionRecording::replay() {
  std::vector<std::vector<std::size_t>> left(last_.size());  // items, by queue
  for (std::size_t i = items_.size(); i-- > 0;) left[items_[i].queue].push_back(i);
  std::vector<bool> done(items_.size());
  first_to_last_ = !first_to_last_;
  for (std::size_t count = 0; count < items_.size(); ++count) {
    const auto may_run = [&](const std::vector<std::size_t>& queue) {
      return !queue.empty() && is_ready(items_[queue.back()], done);
    };
    auto queue = left.end();
    if (first_to_last_) {
      queue = std::find_if(left.begin(), left.end(), may_run);
    } else if (const auto last = std::find_if(left.rbegin(), left.rend(), may_run);
               last != left.rend()) {
      queue = last.base() - 1;
    }
    check(queue != left.end(), "what was recorded waits for what came before it");
    const std::size_t item = queue->back();
    queue->pop_back();
    items_[item].work();
    done[item] = true;
  }
}

std::unique_ptr<StepRecorder> make_function_recorder() {
  return std::make_unique<FunctionRecorder>();
}

}  // namespace regatta
