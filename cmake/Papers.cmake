# What is installed for people to read: the manual pages of the library and its reference in HTML,
# both made from the headers where there is a Python, the guide, and the examples.
set(doc ${CMAKE_INSTALL_DATADIR}/doc/tinkc)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
    set(api ${CMAKE_BINARY_DIR}/api)
    set(scripts ${CMAKE_SOURCE_DIR}/scripts)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/tinkc/*.h*)
    add_custom_command(OUTPUT ${api}/stamp
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${api}
        COMMAND ${Python3_EXECUTABLE} -B ${scripts}/gen-man3.py ${api}/man3
        COMMAND ${Python3_EXECUTABLE} -B ${scripts}/gen-html.py ${api}/html
        COMMAND ${CMAKE_COMMAND} -E touch ${api}/stamp
        DEPENDS ${headers} ${scripts}/gen-man3.py ${scripts}/gen-html.py
                ${scripts}/headertext.py ${scripts}/ctext.py ${scripts}/gatelib.py
        COMMENT "Writing manual pages and the reference of the library" VERBATIM)
    add_custom_target(api ALL DEPENDS ${api}/stamp)
    install(DIRECTORY ${api}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(DIRECTORY ${api}/html DESTINATION ${doc})
else()
    message(STATUS "no Python: libtinkc gets no manual pages and no reference in HTML")
endif()

# The guide and the pages that it links, at the same distance from each other as in the tree.
install(DIRECTORY docs/ DESTINATION ${doc}
        FILES_MATCHING PATTERN "*.md" PATTERN schema.json PATTERN internals EXCLUDE)
install(DIRECTORY examples DESTINATION ${doc} PATTERN CMakeLists.txt EXCLUDE)
