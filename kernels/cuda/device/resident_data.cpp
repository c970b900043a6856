// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/resident_data.h"

#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "kernels/cuda/device/upload.h"

namespace regatta::cuda {
namespace {

std::shared_ptr<const ResidentData> where_it_is(const DataSet& data) {
  auto view = std::make_shared<ResidentData>();
  view->images = data.images.data();
  view->labels = data.labels.data();
  view->features = data.features.data();
  view->targets = data.targets.data();
  return view;
}

std::shared_ptr<const ResidentData> uploaded(Device& device, const DataSet& data) {
  auto copy = std::make_shared<ResidentData>();
  copy->memory[0] = upload(device, std::span(data.images));
  copy->memory[1] = upload(device, std::span(data.labels));
  copy->memory[2] = upload(device, std::span(data.features));
  copy->memory[3] = upload(device, std::span(data.targets));
  copy->images = copy->memory[0].as<std::uint8_t>();
  copy->labels = copy->memory[1].as<std::int32_t>();
  copy->features = copy->memory[2].as<float>();
  copy->targets = copy->memory[3].as<float>();
  return copy;
}

}  // namespace

std::shared_ptr<const ResidentData> resident(const Queue& queue, const DataSet& data) {
  if (queue.emulated()) return where_it_is(data);
  static std::mutex mutex;
  static std::map<std::pair<Device*, const DataSet*>, std::weak_ptr<const ResidentData>> known;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const ResidentData>& slot = known[{&queue.device(), &data}];
  std::shared_ptr<const ResidentData> held = slot.lock();
  if (held == nullptr) slot = held = uploaded(queue.device(), data);
  return held;
}

}  // namespace regatta::cuda
