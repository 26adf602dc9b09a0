# The filters' generator reads the table's header, too; the test of the filters compares with libseccomp.
$(GEN)/seccomp-gen: src/os/seccomp_table.h src/os/seccomp.h
UNIT_LIBS_seccomp_filter := -lseccomp
