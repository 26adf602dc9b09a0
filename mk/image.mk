# The image program: a program of its own, the only one that links libarchive. libimage.a is all of it but main.c, for its
# tests and fuzzers. The libraries behind libarchive are those of the compressions that it reads here.
IMAGE_OBJ := $(IMAGE_SRC:%.c=$(B)/%.o)
IMAGE_LIBS := -larchive -lcrypto -lnettle -lacl -llzma -lzstd -lbz2 -lz

$(B)/libimage.a: $(IMAGE_OBJ)
	@mkdir -p $(@D); rm -f $@
	ar rcs $@ $^
all: $(B)/cordon-image
$(B)/cordon-image: $(B)/src/image/main.o $(B)/libimage.a $(B)/libcordon.a
	@echo "  CC $@"; $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $^ $(IMAGE_LIBS) $(LIBS) -o $@
-include $(IMAGE_OBJ:.o=.d) $(B)/src/image/main.d
