# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cadre_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cadre)

install(TARGETS cadre EXPORT cadreTargets FILE_SET HEADERS)
if(CADRE_BUILD_MANAGE)
    install(TARGETS cadre_manage EXPORT cadreTargets FILE_SET HEADERS)
    install(TARGETS cadrectl)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/cadrectl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(EXPORT cadreTargets NAMESPACE cadre:: DESTINATION ${cadre_package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cadreConfig.cmake.in cadreConfig.cmake
    INSTALL_DESTINATION ${cadre_package_dir})
# Before 1.0 a minor release may break its users.
write_basic_package_version_file(cadreConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cadreConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/cadreConfigVersion.cmake
        DESTINATION ${cadre_package_dir})

# The .pc file finds its prefix from where it lies, so that `cmake --install --prefix` is enough
# to move a build.
file(RELATIVE_PATH cadre_pc_to_prefix
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH cadre_pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH cadre_pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(cadre_pc_static "")
if(NOT BUILD_SHARED_LIBS)
    set(cadre_pc_static " -DCADRE_STATIC")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/cadre.pc.in cadre.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cadre.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
