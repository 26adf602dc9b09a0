# The command, cordon-init and cordon-engine are linked with musl where that works (tools/lite.sh): before main() glibc asks the processor some sixty questions,
# each of which is an exit to the host in a virtual machine, and touches as many pages, which every fork copies; together a tenth of a
# run. Everything else, the library too, is glibc's; LITE=no links these with it as well.
MACHINE := $(shell $(CC) -dumpmachine)
MUSL := $(patsubst %-gnu,%-musl,$(MACHINE))
MUSL_LIB := /usr/lib/$(MUSL)
L := $(B)/lite
# musl's headers, and beside them what is the same for every C library: the kernel's, and those of the libraries.
LITE_INCLUDE := -nostdinc -isystem /usr/include/$(MUSL) -isystem $(shell $(CC) -print-file-name=include) -idirafter $(GEN)/include
LITE_LINK = $(CC) -static-pie -nostdlib -nostartfiles $(LDFLAGS_$(V)) $(LDFLAGS) $(MUSL_LIB)/rcrt1.o $(MUSL_LIB)/crti.o
LITE_LIBC = $(MUSL_LIB)/libc.a $(shell $(CC) -print-libgcc-file-name) $(MUSL_LIB)/crtn.o
LITE_LIBS := $(foreach lib,fyaml idn2 unistring,/usr/lib/$(MACHINE)/lib$(lib).a)
LITE_JSON := /usr/lib/$(MACHINE)/libjansson.a
# Its macros convert between signs where glibc's do not; the same sources are held to all warnings with glibc.
LITE_CFLAGS = $(LITE_INCLUDE) -include src/musl/musl.h $(CFLAGS_ALL) -Wno-conversion -Wno-sign-conversion -Wno-sign-compare -Wno-format-truncation

ifeq ($(V),release)
ifneq ($(wildcard $(MUSL_LIB)/rcrt1.o),)
include $(GEN)/lite.mk
endif
endif
$(GEN)/lite.mk: mk/lite.mk tools/lite.sh $(wildcard src/musl/*)
	@rm -rf $(GEN)/include && mkdir -p $(GEN)/include
	@ln -s /usr/include/linux /usr/include/asm-generic /usr/include/$(MACHINE)/asm /usr/include/libfyaml.h /usr/include/idn2.h \
		/usr/include/jansson.h /usr/include/jansson_config.h $(GEN)/include/
	@CC='$(CC)' sh tools/lite.sh '$(LITE_INCLUDE) -Isrc' '$(LITE_LINK)' '$(LITE_LIBS) $(LITE_JSON) $(LITE_LIBC)' > $@

INNER_SRC := $(sort $(wildcard src/inner/*.c))
INNER_OBJ := $(INNER_SRC:%.c=$(B)/%.o)

ifeq ($(LITE),yes)
LITE_LIB_OBJ := $(LIB_SRC:%.c=$(L)/%.o) $(GEN_SRC:$(GEN)/%.c=$(L)/gen/%.o)
LITE_OWN := $(L)/src/musl/checked.o $(L)/src/musl/alloc.o $(L)/src/musl/relro.o
LITE_CLI_OBJ := $(CLI_SRC:%.c=$(L)/%.o) $(L)/gen/completions.o $(LITE_OWN)
LITE_INNER_OBJ := $(INNER_SRC:%.c=$(L)/%.o) $(L)/src/musl/relro.o

$(L)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(LITE_CFLAGS) -c $< -o $@
# The compiler must not take its own idea of malloc() for ours.
$(L)/src/musl/alloc.o: LITE_CFLAGS += -fno-builtin
$(L)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(LITE_CFLAGS) -c $< -o $@
$(L)/libcordon.a: $(LITE_LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^
$(B)/cordon: $(LITE_CLI_OBJ) $(L)/libcordon.a
	@echo "  CC $@"; $(LITE_LINK) $^ $(LITE_LIBS) $(LITE_LIBC) -o $@
$(B)/cordon-init: $(LITE_INNER_OBJ) $(L)/libcordon.a
	@echo "  CC $@"; $(LITE_LINK) $^ $(LITE_LIBC) -o $@
-include $(LITE_LIB_OBJ:.o=.d) $(LITE_CLI_OBJ:.o=.d) $(LITE_INNER_OBJ:.o=.d)
else
$(B)/cordon: $(CLI_OBJ) $(B)/gen/completions.o $(B)/libcordon.a
	@echo "  CC $@"; $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $^ $(LIBS) -o $@
$(B)/cordon-init: $(INNER_OBJ) $(B)/libcordon.a
	@echo "  CC $@"; $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $^ -o $@
endif
