# cordon-init: the entry process in a container of a foreign engine. Static, since the container's root may hold anything.
INNER_SRC := $(sort $(wildcard src/inner/*.c))
INNER_OBJ := $(INNER_SRC:%.c=$(B)/%.o)

all: $(B)/cordon-init
$(B)/cordon-init: $(INNER_OBJ) $(B)/libcordon.a
	@echo "  CC $@"; $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $^ -o $@
-include $(INNER_OBJ:.o=.d)

# Its test runs the program itself.
$(B)/unit/inner_init: $(B)/cordon-init

# A test of egress has the inside of what is carried to it.
UNIT_LIBS_egress_carried_box = $(B)/src/inner/carry.o $(B)/libcordon.a
$(B)/unit/egress_carried_box: $(B)/src/inner/carry.o
