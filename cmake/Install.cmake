# The usual layout. Programs start each other and are sent to nodes from one folder, so that all of
# them lie in libexec/assay; what people call is linked from bin.
include(GNUInstallDirs)
if(ASSAY_TRAIN_ALONE)
  return()
endif()
set(programs_dir ${CMAKE_INSTALL_LIBEXECDIR}/assay)

install(TARGETS assay assay-agent assay-micro assay-nvml
  RUNTIME DESTINATION ${programs_dir} COMPONENT assay)
install(TARGETS ais_utils RUNTIME DESTINATION ${programs_dir}/ais COMPONENT assay)
install(TARGETS ais_utils_library LIBRARY DESTINATION ${programs_dir}/ais COMPONENT assay)
install(FILES ${PROJECT_SOURCE_DIR}/apps/ais-utils/ais_utils.py ${PROJECT_SOURCE_DIR}/apps/ais-utils/set_result.py
  DESTINATION ${programs_dir}/ais COMPONENT assay)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conf DESTINATION ${CMAKE_INSTALL_DATADIR}/assay COMPONENT assay)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT assay
  PATTERN dev EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT assay)

# link(NAME COMPONENT): bin/NAME leads to the program, also where the whole is moved elsewhere.
function(install_link name component)
  install(CODE "
    set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    file(MAKE_DIRECTORY \"\${bin}\")
    file(CREATE_LINK \"../${programs_dir}/${name}\" \"\${bin}/${name}\" SYMBOLIC)"
    COMPONENT ${component})
endfunction()
install_link(assay assay)
install(CODE "
  file(CREATE_LINK libais_utils.so
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${programs_dir}/ais/libset_result.so\" SYMBOLIC)"
  COMPONENT assay)
install_link(assay-agent assay)

if(TARGET assay-train)
  install(TARGETS assay-train RUNTIME DESTINATION ${programs_dir} COMPONENT assay-train)
  install_link(assay-train assay-train)
endif()

# Manual pages and completions are made by the program itself.
set(generated ${CMAKE_BINARY_DIR}/generated/install)
set(completions ${generated}/assay.bash ${generated}/_assay ${generated}/assay.fish)
add_custom_command(OUTPUT ${generated}/man/assay.1 ${completions}
  DEPENDS assay
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}/man
  COMMAND assay man-pages ${generated}/man
  COMMAND sh -c "'$<TARGET_FILE:assay>' completion bash > assay.bash && '$<TARGET_FILE:assay>' completion zsh > _assay && '$<TARGET_FILE:assay>' completion fish > assay.fish"
  WORKING_DIRECTORY ${generated} VERBATIM)
file(MAKE_DIRECTORY ${generated})
add_custom_target(install-files DEPENDS ${generated}/man/assay.1 ${completions})
add_dependencies(programs install-files)
install(CODE "
  file(GLOB pages \"${generated}/man/*.1\")
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
  file(MAKE_DIRECTORY \"\${folder}\")
  foreach(page IN LISTS pages)
    get_filename_component(name \"\${page}\" NAME)
    # Without name and time in its head, so that the same page gives the same bytes.
    execute_process(COMMAND gzip -9n -c \"\${page}\" OUTPUT_FILE \"\${folder}/\${name}.gz\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT assay)
install(FILES ${generated}/assay.bash RENAME assay
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT assay)
install(FILES ${generated}/_assay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT assay)
install(FILES ${generated}/assay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT assay)

# The server as a service of its own user.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/assay-server.service
  DESTINATION lib/systemd/system COMPONENT assay-server)

foreach(component assay assay-train assay-server)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
endforeach()

include(cmake/Package.cmake)
