# assay_assets(LIBRARY FILE...): the library's files of assets/ become the constants of the header
# LIBRARY/LIBRARY_assets.h: assets/masthead.html is assay::LIBRARY::assets::kMasthead, and all style
# sheets together are kStyle.
function(assay_assets library)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/assets/ OUTPUT_VARIABLE files)
  assay_embed(${library} ${files})
endfunction()

# assay_embed(LIBRARY FILE...): the same for files anywhere, relative to the folder.
function(assay_embed library)
  set(files "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${file})
  endforeach()
  list(JOIN files "|" joined)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/${library}_assets.h)
  cmake_path(GET CMAKE_CURRENT_BINARY_DIR PARENT_PATH include)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedAssets.cmake)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} -DNAMESPACE=assay::${library}::assets -DFILES=${joined}
            -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  target_sources(assay_${library} PRIVATE ${header})
  target_include_directories(assay_${library} PUBLIC ${include})
endfunction()

# assay_embed_texts(LIBRARY NAMESPACE NAME HEADER FILE...): the texts of the files, in any folder, become
# the constant NAME of NAMESPACE in HEADER, which only the library itself can include.
function(assay_embed_texts library namespace name header)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/texts)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake)
  list(JOIN ARGN "|" joined)
  add_custom_command(OUTPUT ${folder}/${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${folder}/${header} -DNAMESPACE=${namespace} -DNAME=${name}
            -DFILES=${joined} -P ${script}
    DEPENDS ${ARGN} ${script} VERBATIM)
  target_sources(assay_${library} PRIVATE ${folder}/${header})
  target_include_directories(assay_${library} PRIVATE ${folder})
endfunction()
