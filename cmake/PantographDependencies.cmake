# Packages the project is built with. Each is used by the one folder that links it.

find_package(Threads REQUIRED)
if(PANTOGRAPH_VAE)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  find_package(dnnl REQUIRED CONFIG)              # CPU arithmetic; oneDNN 2.6 (Debian 12) or 3.x
  find_package(nlohmann_json REQUIRED)            # src/checkpoint/json.cc
  find_package(spdlog REQUIRED)                   # src/core/log.cc
  find_package(CLI11 REQUIRED)                    # apps/cli
  find_package(PkgConfig)                         # finds FFmpeg, PCRE2 and utf8proc
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(FFMPEG IMPORTED_TARGET libavformat libavcodec libswscale libavutil)
    pkg_check_modules(PCRE2 IMPORTED_TARGET libpcre2-8)      # the tokenizer's regular expressions
    pkg_check_modules(UTF8PROC IMPORTED_TARGET libutf8proc)  # and its Unicode normalisation
  endif()
  if(NOT PCRE2_FOUND OR NOT UTF8PROC_FOUND)
    message(STATUS "PCRE2 or utf8proc is missing: no text encoder (libpcre2-dev, libutf8proc-dev)")
  endif()
endif()
if(PANTOGRAPH_TESTS)
  find_package(GTest REQUIRED)
endif()
