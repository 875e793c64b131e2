# Proves that each header can be included first: `cmake --build build --target headers_alone`
# compiles one file for each that includes nothing else. A public header sees include/ only; those of
# src/kernels name CUDA types and are left out where there is no toolkit.

# pantograph_headers_alone(NAME FOLDER LIBRARY...)
function(pantograph_headers_alone name folder)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  if(NOT PANTOGRAPH_HAS_CUDA)
    list(FILTER headers EXCLUDE REGEX "/src/kernels/")
  endif()
  add_library(pantograph_${name} INTERFACE)
  target_sources(pantograph_${name} INTERFACE
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/${folder} FILES ${headers})
  target_link_libraries(pantograph_${name} INTERFACE pantograph_options ${ARGN})
  set_target_properties(pantograph_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_dependencies(headers_alone pantograph_${name}_verify_interface_header_sets)
endfunction()

add_custom_target(headers_alone)
pantograph_headers_alone(public_headers include)
pantograph_headers_alone(internal_headers src pantograph_public_headers
  $<TARGET_NAME_IF_EXISTS:DNNL::dnnl> $<TARGET_NAME_IF_EXISTS:CUDA::cudart_static>)
