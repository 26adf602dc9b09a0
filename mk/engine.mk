# The driver of foreign engines: a program of its own, the only one that links libcurl and jansson. libengine.a is all of it but main.c,
# for its tests and fuzzers.
ENGINE_SRC := $(sort $(filter-out src/engine/main.c,$(wildcard src/engine/*.c)))
ENGINE_OBJ := $(ENGINE_SRC:%.c=$(B)/%.o)
ENGINE_LIBS := -lcurl -ljansson
ENGINE_MAIN := $(B)/src/engine/main.o

all: $(B)/cordon-engine
$(B)/libengine.a: $(ENGINE_OBJ)
	@mkdir -p $(@D); rm -f $@
	ar rcs $@ $^
# base/json.c has names that jansson has, too: jansson comes first, so that base's is not pulled in; and that is looked at.
$(B)/cordon-engine: $(ENGINE_MAIN) $(B)/libengine.a $(B)/libcordon.a
	@echo "  CC $@"; $(CC) -pie $(LDFLAGS_$(V)) $(LDFLAGS) $(ENGINE_MAIN) $(B)/libengine.a $(ENGINE_LIBS) $(B)/libcordon.a $(LIBS) -o $@
	@! nm $@ | grep ' T json_' || { echo 'cordon-engine: two libraries of JSON in one program' >&2; rm -f $@; exit 1; }
-include $(ENGINE_OBJ:.o=.d) $(ENGINE_MAIN:.o=.d)
