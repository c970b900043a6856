// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/attributes.h"

#include <algorithm>
#include <cstdio>
#include <type_traits>

#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta {
namespace {

std::string format(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

std::string format(std::int64_t value) { return std::to_string(value); }
std::string format(const std::string& value) { return value; }

template <typename T>
std::string format(const std::vector<T>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + format(values[i]);
  return text + "]";
}

/// Shortens long schedules, with a hash by which different ones differ.
std::string format(const std::vector<double>& values) {
  constexpr std::size_t kMost = 12;
  if (values.size() <= kMost) return format<double>(values);
  char hash[17];
  const std::uint64_t number = fnv1a(values.data(), values.size() * sizeof(double));
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(number));
  return '[' + format(values[0]) + ',' + format(values[1]) + ",...," + format(values.back()) +
         ": " + std::to_string(values.size()) + " numbers, hash " + hash + ']';
}

template <typename T>
const T& get(const Attributes::Value* value) {
  check(value != nullptr, "a node lacks an attribute that its op needs");
  const T* typed = std::get_if<T>(value);
  check(typed != nullptr, "an attribute has another type than its op needs");
  return *typed;
}

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<std::string, Value>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

const Attributes::Values Attributes::kNone;

void Attributes::set(std::string_view name, Value value) {
  if (const Value* old = find(name); old != nullptr && *old == value) return;
  Values values;
  values.reserve(this->values().size() + (has(name) ? 0 : 1));  // exactly the room that is needed
  values.insert(values.end(), this->values().begin(), this->values().end());
  auto place = std::lower_bound(values.begin(), values.end(), name,
                                [](const auto& entry, auto key) { return entry.first < key; });
  if (place != values.end() && place->first == name) {
    place->second = std::move(value);
  } else {
    values.emplace(place, std::string(name), std::move(value));
  }
  values_ = std::make_shared<const Values>(std::move(values));
}

const Attributes::Value* Attributes::find(std::string_view name) const {
  for (const auto& entry : values()) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

void Attributes::erase(std::string_view name) {
  if (!has(name)) return;
  Values values = this->values();
  std::erase_if(values, [name](const auto& entry) { return entry.first == name; });
  values_ = values.empty() ? nullptr : std::make_shared<const Values>(std::move(values));
}

bool Attributes::has(std::string_view name) const { return find(name) != nullptr; }

std::int64_t Attributes::integer(std::string_view name) const {
  return get<std::int64_t>(find(name));
}
std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}
double Attributes::real(std::string_view name) const { return get<double>(find(name)); }
const std::string& Attributes::text(std::string_view name) const {
  return get<std::string>(find(name));
}
const std::vector<std::int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<std::int64_t>>(find(name));
}
const std::vector<double>& Attributes::reals(std::string_view name) const {
  return get<std::vector<double>>(find(name));
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes.values()) {
    if (!text.empty()) text += ", ";
    text += name + '=' + std::visit([](const auto& v) { return format(v); }, value);
  }
  return text;
}

}  // namespace regatta
