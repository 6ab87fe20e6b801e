# Packages: cpack -G DEB makes one of each component, cpack -G TZST one archive that can be unpacked
# anywhere. packaging/build.sh makes them so that two builds give the same bytes.
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "the Assay authors")
set(CPACK_PACKAGE_CONTACT "the Assay authors <assay@example.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measure how fast, how accurately and at what energy a cluster trains")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL assay assay-train assay-server)
if(NOT TARGET assay-train)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL assay-train)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_ASSAY_PACKAGE_NAME assay)
set(CPACK_DEBIAN_ASSAY_PACKAGE_RECOMMENDS "assay-train, openssh-client")
set(CPACK_DEBIAN_ASSAY_PACKAGE_SUGGESTS "assay-server, podman")
set(CPACK_COMPONENT_ASSAY_DESCRIPTION
  "benchmark of AI training with a verdict that can be defended
 Assay runs training workloads on one machine or a cluster (locally, over SSH,
 under Slurm, in a cloud), samples devices and power, and judges the evidence.")
set(CPACK_DEBIAN_ASSAY-TRAIN_PACKAGE_NAME assay-train)
set(CPACK_DEBIAN_ASSAY-TRAIN_PACKAGE_DEPENDS "assay (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_ASSAY-TRAIN_DESCRIPTION
  "training workloads of the benchmark assay
 ResNet, BERT and others, built with libtorch, with data that is generated
 or read from the usual formats.")
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_NAME assay-server)
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_DEPENDS "assay (>= ${PROJECT_VERSION}), adduser")
set(CPACK_DEBIAN_ASSAY-SERVER_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/packaging/postinst;${PROJECT_SOURCE_DIR}/packaging/prerm;${PROJECT_SOURCE_DIR}/packaging/postrm")
set(CPACK_COMPONENT_ASSAY-SERVER_DESCRIPTION
  "job platform and tester of the benchmark assay, as a service
 A unit for systemd that runs 'assay serve' as a user of its own. It is not
 started before it is enabled.")
include(CPack)
