# The drivers of foreign engines, programs of their own: cordon-engine calls OCI runtimes, cordon-engine-docker talks HTTP to daemons and is
# the only one that links libcurl, whose thirty libraries take as long to load as a container to start. libengine.a is all of both but
# main*.c, for their tests and fuzzers.
ENGINE_MAINS := $(sort $(wildcard src/driver/main*.c))
ENGINE_SRC := $(sort $(filter-out $(ENGINE_MAINS),$(wildcard src/driver/*.c)))
ENGINE_OBJ := $(ENGINE_SRC:%.c=$(B)/%.o)
ENGINE_LIBS := -lcurl -ljansson
ENGINE_MAIN := $(B)/src/driver/main.o

all: $(B)/cordon-engine $(B)/cordon-engine-docker $(B)/cordon-build
$(B)/libengine.a: $(ENGINE_OBJ)
	@mkdir -p $(@D); rm -f $@
	ar rcs $@ $^
# base/json.c has names that jansson has, too: jansson comes first, so that base's is not pulled in; and that is looked at.
ENGINE_JSON_CHECK = ! nm $@ | grep ' T json_take$$' || { echo '$@: two libraries of JSON in one program' >&2; rm -f $@; exit 1; }
ifeq ($(LITE),yes)
LITE_OCI_OBJ := $(patsubst %.c,$(L)/%.o,$(wildcard src/driver/oci*.c) $(addprefix src/driver/,main.c main_oci.c drive.c control.c spec.c)) $(LITE_OWN)
$(B)/cordon-engine: $(LITE_OCI_OBJ) $(L)/libcordon.a
	@echo "  CC $@"; $(LITE_LINK) $(LITE_OCI_OBJ) $(LITE_JSON) $(L)/libcordon.a $(LITE_LIBS) $(LITE_LIBC) -o $@
	@$(ENGINE_JSON_CHECK)
-include $(LITE_OCI_OBJ:.o=.d)
else
$(B)/cordon-engine: $(ENGINE_MAIN) $(B)/src/driver/main_oci.o $(B)/libengine.a $(B)/libcordon.a
	@echo "  CC $@"; $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $(filter-out $(B)/libcordon.a,$^) -ljansson $(B)/libcordon.a $(LIBS) -o $@
	@$(ENGINE_JSON_CHECK)
endif
$(B)/cordon-engine-docker: $(ENGINE_MAIN) $(B)/src/driver/main_docker.o $(B)/libengine.a $(B)/libcordon.a
	@echo "  CC $@"; $(CC) -pie $(LDFLAGS_$(V)) $(LDFLAGS) $(filter-out $(B)/libcordon.a,$^) $(ENGINE_LIBS) $(B)/libcordon.a $(LIBS) -o $@
	@$(ENGINE_JSON_CHECK)
# `cordon image build` and `pull`: the same API, and a tar.
$(B)/cordon-build: $(B)/src/driver/main_build.o $(B)/libengine.a $(B)/libcordon.a
	@echo "  CC $@"; $(CC) -pie $(LDFLAGS_$(V)) $(LDFLAGS) $(filter-out $(B)/libcordon.a,$^) $(ENGINE_LIBS) -larchive $(B)/libcordon.a $(LIBS) -o $@
	@$(ENGINE_JSON_CHECK)
-include $(ENGINE_OBJ:.o=.d) $(ENGINE_MAINS:%.c=$(B)/%.d)
