#include "device/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>

#include "core/check.h"
#include "core/log.h"
#include "device/library_names.h"

namespace pantograph::device {
namespace {

namespace fs = std::filesystem;

struct Description {
  const char* name;
  std::string file;      // the name under which the dynamic linker knows it
  const char* variable;  // may name a file or a folder
  // What it opens by itself: opened first, from the same folders, so that it finds those.
  std::vector<std::string> companions;
};

Description description(GpuLibrary library) {
  const std::string cuda = "." + std::to_string(kCudaMajor);
  switch (library) {
    case GpuLibrary::kCublasLt:
      return {"cuBLASLt", "libcublasLt.so" + cuda, "PANTOGRAPH_CUBLASLT", {}};
    case GpuLibrary::kCudnn:
      return {"cuDNN",
              "libcudnn.so.9",
              "PANTOGRAPH_CUDNN",
              {"libcublasLt.so" + cuda, "libcublas.so" + cuda, "libnvrtc.so" + cuda}};
    case GpuLibrary::kNccl:
      return {"NCCL", "libnccl.so.2", "PANTOGRAPH_NCCL", {}};
    case GpuLibrary::kCupti:
      return {"CUPTI", "libcupti.so" + cuda, "PANTOGRAPH_CUPTI", {}};
    case GpuLibrary::kNvml:
      return {"NVML", "libnvidia-ml.so.1", "PANTOGRAPH_NVML", {}};
  }
  fail(ErrorKind::kInternal, "no such GPU library");
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> split_paths(const std::string& list) {
  std::vector<fs::path> paths;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ':');) {
    if (!part.empty()) paths.emplace_back(part);
  }
  return paths;
}

// Sub-folders of `folder`, in a fixed order; none where it cannot be read.
std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The lib folders of the nvidia packages that the python3 on the path would import.
std::vector<fs::path> python_folders() {
  std::vector<fs::path> packages = split_paths(environment("PYTHONPATH"));
  for (const fs::path& bin : split_paths(environment("PATH"))) {
    std::error_code error;
    if (!fs::exists(bin / "python3", error)) continue;
    for (const char* folder : {"lib", "local/lib"}) {
      for (const fs::path& version : subfolders(bin.parent_path() / folder)) {
        if (!version.filename().string().starts_with("python3")) continue;
        packages.push_back(version / "site-packages");
        packages.push_back(version / "dist-packages");
      }
    }
    break;  // the first python3 is the one
  }
  std::vector<fs::path> folders;
  for (const fs::path& package : packages) {
    for (const fs::path& part : subfolders(package / "nvidia")) folders.push_back(part / "lib");
  }
  return folders;
}

// Besides those of the dynamic linker, which come first.
std::vector<fs::path> system_folders() {
  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const fs::path root = environment(variable);
    if (!root.empty()) folders.push_back(root / "lib64");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  folders.emplace_back("/usr/local/cuda/extras/CUPTI/lib64");
  return folders;
}

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr
             ? map->l_name
             : "";
}

class Loader {
 public:
  const LoadedLibrary& load(GpuLibrary library) {
    const std::lock_guard lock(mutex_);
    const auto known = loaded_.find(library);
    if (known != loaded_.end()) return known->second;
    const Description what = description(library);
    const LoadedLibrary found = open(what);
    log(LogLevel::kDebug, what.name, ": ", found.path, " (", found.source, ")");
    return loaded_.emplace(library, found).first->second;
  }

 private:
  LoadedLibrary open(const Description& what) {
    if (void* handle = dlopen(what.file.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      return {handle, path_of(handle), "already loaded"};
    }
    const fs::path named = environment(what.variable);
    if (!named.empty()) return open_named(what, named);
    for (const char* source : {"python", "system"}) {
      if (source_ && *source_ != source) continue;
      if (const auto found = open_from(what, source)) {
        // NVML belongs to the driver and says nothing about the others.
        if (what.file != "libnvidia-ml.so.1") source_ = source;
        return *found;
      }
    }
    fail(ErrorKind::kNotFound, what.name, " (", what.file, ") is not ",
         source_ ? "where " + *source_ + " has the other GPU libraries"
                 : std::string("in python3's nvidia packages and not installed"),
         "; name it by the environment variable ", what.variable);
  }

  static LoadedLibrary open_named(const Description& what, const fs::path& named) {
    std::error_code error;
    const fs::path folder = fs::is_directory(named, error) ? named : named.parent_path();
    const fs::path file = folder == named ? named / what.file : named;
    open_companions(what, folder);
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      return {handle, path_of(handle), what.variable};
    }
    fail(ErrorKind::kFormat, what.variable, " names ", named.string(), ", which is no ", what.name,
         " that can be opened: ", dlerror());
  }

  std::optional<LoadedLibrary> open_from(const Description& what, const std::string& source) {
    const bool python = source == "python";
    const std::vector<fs::path> folders = python ? python_folders() : system_folders();
    for (const std::string& companion : what.companions) open_in(folders, companion, !python);
    if (void* handle = open_in(folders, what.file, !python)) {
      return LoadedLibrary{handle, path_of(handle), source};
    }
    return std::nullopt;
  }

  static void open_companions(const Description& what, const fs::path& folder) {
    for (const std::string& companion : what.companions) open_in({folder}, companion, false);
  }

  static void* open_in(const std::vector<fs::path>& folders, const std::string& file,
                       bool linkers_first) {
    constexpr int kFlags = RTLD_NOW | RTLD_GLOBAL;
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
    if (linkers_first) {
      if (void* handle = dlopen(file.c_str(), kFlags)) return handle;
    }
    for (const fs::path& folder : folders) {
      std::error_code error;
      if (!fs::exists(folder / file, error)) continue;
      if (void* handle = dlopen((folder / file).c_str(), kFlags)) return handle;
      log(LogLevel::kDebug, (folder / file).string(), ": ", dlerror());
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::map<GpuLibrary, LoadedLibrary> loaded_;
  std::optional<std::string> source_;
};

// One for the process, because what is loaded is the process's; never destroyed, because libraries
// may call back while the process ends.
Loader& loader() {
  static Loader& instance = *new Loader;
  return instance;
}

std::string dotted(std::uint64_t version, std::uint64_t major_unit) {
  return join(version / major_unit, ".", version % major_unit / 100, ".", version % 100);
}

std::string version_of(GpuLibrary library) {
  switch (library) {
    case GpuLibrary::kCublasLt: {
      const std::size_t version = function<std::size_t()>(library, "cublasLtGetVersion")();
      return dotted(version, 10000);
    }
    case GpuLibrary::kCudnn:
      return dotted(function<std::size_t()>(library, "cudnnGetVersion")(), 10000);
    case GpuLibrary::kNccl: {
      int version = 0;
      function<int(int*)>(library, "ncclGetVersion")(&version);
      return dotted(static_cast<std::uint64_t>(version), 10000);
    }
    case GpuLibrary::kCupti: {
      std::uint32_t version = 0;
      function<int(std::uint32_t*)>(library, "cuptiGetVersion")(&version);
      return std::to_string(version);
    }
    case GpuLibrary::kNvml:
      break;
  }
  return "";
}

}  // namespace

const LoadedLibrary& load(GpuLibrary library) {
  return loader().load(library);
}

void* symbol(GpuLibrary library, const char* name) {
  const LoadedLibrary& loaded = load(library);
  void* address = dlsym(loaded.handle, name);
  if (address == nullptr) {
    fail(ErrorKind::kUnsupported, loaded.path, " has no function ", name,
         "; install a newer version");
  }
  return address;
}

std::vector<std::string> describe_libraries() {
  std::vector<std::string> lines;
  for (const GpuLibrary library :
       {GpuLibrary::kCudnn, GpuLibrary::kCublasLt, GpuLibrary::kNccl, GpuLibrary::kCupti}) {
    const Description what = description(library);
    try {
      const LoadedLibrary& loaded = load(library);
      lines.push_back(
          join(what.name, " ", version_of(library), ": ", loaded.path, " (", loaded.source, ")"));
    } catch (const Error& error) {
      lines.push_back(join(what.name, ": ", error.what()));
    }
  }
  return lines;
}

}  // namespace pantograph::device
