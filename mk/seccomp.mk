# The filters' generator reads the table's header, too; two tests compare with libseccomp.
$(GEN)/seccomp-gen: src/os/seccomp_table.h src/os/seccomp.h
UNIT_LIBS_seccomp_filter := -lseccomp
UNIT_LIBS_seccomp_install := -lseccomp
