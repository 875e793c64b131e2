// Loops over CPU threads.
#pragma once

#include <cstdint>
#include <functional>

namespace pantograph {

// Cores this process may run on (its affinity mask), at least 1.
int available_cores();

// Calls body(begin, end) on parts of [0, count), one part a thread; a part has at least `grain`
// iterations. An exception of the body leaves this function once all parts have ended.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

// Sets the number of threads that loops and oneDNN use in the calling thread, for its lifetime.
class ThreadLimit {
 public:
  // 0: one for each available core. Throws Error(kInvalidArgument).
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace pantograph
