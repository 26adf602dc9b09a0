/* A scope that systemd was expected to give and does not: what was required is refused, the rest is watched or left out. Nobody answers here. */
#include "tap.h"

#include "box/prepare.h"
#include "plan/engine.h"

static void plan_init(struct cordon_plan *plan)
{
	*plan = (struct cordon_plan){
		.engine = &engines[0],
		.layers = LAYER_BIT(CGROUP) | LAYER_BIT(SECCOMP),
		.limits = { .memory_bytes = 1, .read_bps = 100 << 20, .write_bps = 50 << 20 },
		.cgroup = { .mode = CGROUP_V2,
			    .can = PLAN_CGROUP_NEEDS | CGROUP_CAN_IO | CGROUP_CAN_KILL,
			    .needs_scope = true },
	};
}

static void test_watched(void)
{
	struct cordon_error err = { 0 };
	struct cordon_plan plan;

	plan_init(&plan);
	is_num(prepare_scope(&plan, "cordon-test", &err), 0, "no scope, and none was required");
	ok(plan.limits_by_watch && plan.layers == LAYER_BIT(SECCOMP) && plan.cgroup.mode == CGROUP_NONE,
	   "the limits are watched, and the layer is not claimed");
	ok(!plan.limits.read_bps && !plan.limits.write_bps, "disk rates that nobody chose are left out");
	strv_done(&plan.notes);
}

static void test_required(void)
{
	struct cordon_error err = { 0 };
	struct cordon_plan plan;

	plan_init(&plan);
	plan.required = LAYER_BIT(CGROUP);
	is_num(prepare_scope(&plan, "cordon-test", &err), -1, "required, it is refused");
	is_num(err.code, CORDON_UNAVAILABLE, "as what cannot be had");
	ok(strstr(err.message, "no scope") && strstr(err.hint, "systemctl --user"),
	   "with a reason and a remedy: %s; %s", err.message, err.hint);
	strv_done(&plan.notes);
}

static void test_rates(void)
{
	struct cordon_error err = { 0 };
	struct cordon_plan plan;

	plan_init(&plan);
	plan.rates_needed = true;
	is_num(prepare_scope(&plan, "cordon-test", &err), -1, "disk rates that were chosen are refused");
	ok(err.code == CORDON_UNAVAILABLE && strstr(err.message, "limits.disk_read"), "by name: %s", err.message);
	plan_init(&plan);
	is_num(plan_settle_rates(&plan, &err), 0, "control: with the controller");
	is_num((long)plan.limits.read_bps, 100 << 20, "they stay");
}

int main(void)
{
	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	unsetenv("DBUS_SESSION_BUS_ADDRESS");
	test_watched();
	test_required();
	test_rates();
	return done_testing();
}
