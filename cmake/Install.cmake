# Headers, both libraries, tinkc.pc and the CMake package `tinkc` (tinkc::tinkc, shared;
# tinkc::static). The package files are our own templates instead of install(EXPORT): the
# private libraries come from pkg-config, and exported targets would carry this machine's
# paths to them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tinkc tinkc_static
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tinkc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

list(JOIN TINKC_PRIVATE_LIBS " " TINKC_PC_LIBS_PRIVATE)
string(REPLACE "-l" "" TINKC_PRIVATE_NAMES "${TINKC_PC_LIBS_PRIVATE}")
# relative to where the file lies, so that `cmake --install --prefix` needs no rebuild
file(RELATIVE_PATH TINKC_PC_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/tinkc.pc.in ${CMAKE_BINARY_DIR}/tinkc.pc @ONLY)
# for programs that use the build tree (PKG_CONFIG_PATH=build): pkg-config prefers this file
configure_file(cmake/tinkc-uninstalled.pc.in ${CMAKE_BINARY_DIR}/tinkc-uninstalled.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tinkc.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tinkc)
configure_package_config_file(cmake/tinkcConfig.cmake.in
    ${CMAKE_BINARY_DIR}/tinkcConfig.cmake INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tinkcConfigVersion.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tinkcConfig.cmake
              ${CMAKE_BINARY_DIR}/tinkcConfigVersion.cmake DESTINATION ${package_dir})
