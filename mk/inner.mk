# cordon-init: the entry process in a container of a foreign engine. Static, since the container's root may hold anything.
all: $(B)/cordon-init
-include $(INNER_OBJ:.o=.d)

# Its test runs the program itself.
$(B)/unit/inner_init: $(B)/cordon-init

# A test of egress has the inside of what is carried to it.
UNIT_LIBS_egress_carried_box = $(B)/src/inner/carry.o $(B)/libcordon.a
$(B)/unit/egress_carried_box: $(B)/src/inner/carry.o
