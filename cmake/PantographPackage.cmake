# Debian packages, by `./run deb`: the program, the library, and what building against it takes.
# Dependencies are what dpkg-shlibdeps finds in the files.

set(debian_version ${PROJECT_VERSION}-1)
set(maintainer "The Pantograph authors <maintainers@pantograph.invalid>")

# pantograph_debian_package(COMPONENT NAME SECTION DESCRIPTION): with Debian's two documents.
macro(pantograph_debian_package component name section description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${description}")
  set(documents ${PROJECT_BINARY_DIR}/debian/${name})
  configure_file(packaging/copyright ${documents}/copyright COPYONLY)
  configure_file(packaging/changelog.in ${documents}/changelog.Debian @ONLY)
  execute_process(COMMAND gzip -9nf ${documents}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${documents}/copyright ${documents}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

pantograph_debian_package(program pantograph video
  "Turns the latents that Wan2.2's video VAE is given into a video file, in\npasses whose memory does not grow with the length of the clip.")
pantograph_debian_package(library libpantograph${PROJECT_VERSION_MAJOR} libs
  "The library that programs which decode latents of Wan2.2's video VAE are\nlinked with.")
pantograph_debian_package(development libpantograph-dev libdevel
  "Headers, and the files by which CMake and pkg-config find the library that\ndecodes latents of Wan2.2's video VAE.")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pantograph)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "decoder of Wan2.2 video latents")
set(CPACK_PACKAGE_VENDOR "The Pantograph authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer}")
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libpantograph${PROJECT_VERSION_MAJOR} (= ${debian_version})")
include(CPack)
