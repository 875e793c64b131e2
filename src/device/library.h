// Libraries that only a GPU needs, opened when first used: the program runs without them.
#pragma once

#include <string>
#include <vector>

namespace pantograph::device {

enum class GpuLibrary { kCublasLt, kCudnn, kNccl, kCupti, kNvml };

struct LoadedLibrary {
  void* handle = nullptr;
  std::string path;
  std::string source;  // "already loaded", "PANTOGRAPH_CUDNN", "python", "system"
};

// Opens a library, once in the life of the process. Looked for in this order: what the process has
// loaded already; the file or folder that an environment variable names (PANTOGRAPH_CUDNN,
// PANTOGRAPH_CUBLASLT, PANTOGRAPH_NCCL, PANTOGRAPH_CUPTI); the nvidia packages of the python3 on
// the path; the system. Python's and the system's are never mixed: what the first library came from
// is where the others are taken from. Throws Error: kNotFound saying where it was looked for,
// kFormat where a file that was named cannot be opened.
const LoadedLibrary& load(GpuLibrary library);

// A function of a loaded library. Throws Error(kUnsupported) where it has none of that name.
void* symbol(GpuLibrary library, const char* name);
template <typename Function>
Function* function(GpuLibrary library, const char* name) {
  return reinterpret_cast<Function*>(symbol(library, name));
}

// One line for each library, with version and path or why it is absent.
std::vector<std::string> describe_libraries();

}  // namespace pantograph::device
