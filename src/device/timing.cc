#include "device/timing.h"

#include "device/memory.h"

namespace pantograph::device {

std::vector<double> time_each(int runs, void* stream, const std::function<void()>& launch) {
  std::vector<Event> events;  // made before, not between the runs
  for (int i = 0; i <= runs; ++i) events.emplace_back(create_event(true));
  record(events.front().get(), stream);
  for (int i = 1; i <= runs; ++i) {
    launch();
    record(events[static_cast<std::size_t>(i)].get(), stream);
  }
  wait(events.back().get());
  std::vector<double> times;
  for (std::size_t i = 1; i < events.size(); ++i) {
    times.push_back(milliseconds(events[i - 1].get(), events[i].get()));
  }
  return times;
}

}  // namespace pantograph::device
