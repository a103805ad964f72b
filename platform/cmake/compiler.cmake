# Ends the configuration with one line where the compiler is too old for opdump's headers.
function(opdump_check_compiler id version)
  set(least_GNU 11)
  set(least_Clang 14)
  if(DEFINED least_${id} AND version VERSION_LESS least_${id})
    message(FATAL_ERROR "opdump needs g++ ${least_GNU} or clang++ ${least_Clang}; this compiler is ${id} ${version}")
  endif()
endfunction()
