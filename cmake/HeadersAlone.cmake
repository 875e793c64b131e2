# Proves that each header can be included first: `cmake --build build --target headers_alone`
# compiles one file for each that includes nothing else. A public header sees include/ only.

function(pantograph_headers_alone name base)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${base}/*.h)
  add_library(pantograph_${name} INTERFACE)
  target_sources(pantograph_${name} INTERFACE
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/${base} FILES ${headers})
  target_link_libraries(pantograph_${name} INTERFACE pantograph_options ${ARGN})
  set_target_properties(pantograph_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_dependencies(headers_alone pantograph_${name}_verify_interface_header_sets)
endfunction()

add_custom_target(headers_alone)
pantograph_headers_alone(public_headers include)
pantograph_headers_alone(internal_headers src pantograph_public_headers DNNL::dnnl)
