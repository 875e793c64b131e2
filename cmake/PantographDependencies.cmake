# Packages the project is built with. Each is used by the one folder that links it.

find_package(Threads REQUIRED)
if(PANTOGRAPH_VAE)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  find_package(dnnl REQUIRED CONFIG)              # CPU arithmetic; oneDNN 2.6 (Debian 12) or 3.x
  find_package(nlohmann_json REQUIRED)            # src/checkpoint/json.cc
  find_package(spdlog REQUIRED)                   # src/core/log.cc
  find_package(CLI11 REQUIRED)                    # apps/cli
  find_package(PkgConfig)                         # finds FFmpeg, which may be absent
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(FFMPEG IMPORTED_TARGET libavformat libavcodec libswscale libavutil)
  endif()
endif()
if(PANTOGRAPH_TESTS)
  find_package(GTest REQUIRED)
endif()
