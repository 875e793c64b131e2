# What every target of the project is compiled with, and the one way to make a library of a folder.

add_library(pantograph_options INTERFACE)
# A designated initializer leaves members out on purpose; GCC takes that for forgetting them.
target_compile_options(pantograph_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wno-missing-field-initializers>)
# GCC 12 warns of overlapping copies inside its own std::string (bug 105651), and of a std::function
# in a temporary as perhaps uninitialised.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(pantograph_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-maybe-uninitialized>)
endif()
# libstdc++'s own std::stable_sort calls what libstdc++ calls deprecated, which clang says at its callers.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(pantograph_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
endif()
if(PANTOGRAPH_WERROR)
  target_compile_options(pantograph_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(PANTOGRAPH_SANITIZE)
  target_compile_options(pantograph_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer>)
  target_link_options(pantograph_options INTERFACE -fsanitize=address,undefined)
endif()
if(PANTOGRAPH_FUZZ)
  target_compile_options(pantograph_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# pantograph_library(core SOURCES a.cc ... LINKS pantograph_other ... PRIVATE dnnl ...)
# One static library for a folder of src/. It may link only folders below it: that is how the
# direction apps -> pipeline -> models -> ops -> kernels -> geometry -> core is kept.
function(pantograph_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE" ${ARGN})
  add_library(pantograph_${name} STATIC ${ARG_SOURCES})
  target_include_directories(pantograph_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(pantograph_${name} PUBLIC ${ARG_LINKS} PRIVATE pantograph_options ${ARG_PRIVATE})
endfunction()
