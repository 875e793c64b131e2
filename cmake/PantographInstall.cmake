# The shared library, and what `cmake --install` and CPack put on a machine. The program is linked
# statically and stands alone; other programs link libpantograph, which shows include/pantograph only.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The folders that define what the public headers declare; the others are taken in as these need them.
add_library(pantograph_shared SHARED
  $<TARGET_OBJECTS:pantograph_base>
  $<TARGET_OBJECTS:pantograph_models>
  $<TARGET_OBJECTS:pantograph_media>)
target_link_libraries(pantograph_shared PRIVATE pantograph_options pantograph_models pantograph_media)
target_link_options(pantograph_shared PRIVATE
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/libpantograph.map LINKER:--no-undefined)
target_include_directories(pantograph_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(pantograph_shared INTERFACE cxx_std_20)
set_target_properties(pantograph_shared PROPERTIES
  LINKER_LANGUAGE CXX
  OUTPUT_NAME pantograph
  EXPORT_NAME pantograph
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libpantograph.map)

# Each verb's --help, so that the page cannot fall behind the program.
set(man_page ${PROJECT_BINARY_DIR}/pantograph.1.gz)
add_custom_command(OUTPUT ${man_page}
  COMMAND ${PROJECT_SOURCE_DIR}/tools/man_page.sh $<TARGET_FILE:pantograph_cli> | gzip -9n > ${man_page}
  DEPENDS pantograph_cli ${PROJECT_SOURCE_DIR}/tools/man_page.sh
  VERBATIM)
add_custom_target(man_page ALL DEPENDS ${man_page})

install(TARGETS pantograph_cli RUNTIME COMPONENT program)
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(TARGETS pantograph_shared EXPORT Pantograph
  LIBRARY COMPONENT library NAMELINK_COMPONENT development)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Pantograph)
install(DIRECTORY include/pantograph TYPE INCLUDE COMPONENT development)
install(EXPORT Pantograph NAMESPACE Pantograph:: FILE PantographConfig.cmake
  DESTINATION ${config_folder} COMPONENT development)
write_basic_package_version_file(PantographConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/pantograph.pc.in pantograph.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/PantographConfigVersion.cmake
  DESTINATION ${config_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/pantograph.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

include(PantographPackage)
