/* Numbers with units: exact, and nothing guessed. */
#include "policy/unit.h"
#include "tap.h"

static const struct {
	enum option_type type;
	const char *text;
	uint64_t num;
} good[] = {
	{ TYPE_SIZE, "0", 0 },
	{ TYPE_SIZE, "1048576", 1048576 },
	{ TYPE_SIZE, "512M", 512ULL << 20 },
	{ TYPE_SIZE, "512MiB", 512ULL << 20 },
	{ TYPE_SIZE, "64K", 65536 },
	{ TYPE_SIZE, "64KiB", 65536 },
	{ TYPE_SIZE, "1G", 1ULL << 30 },
	{ TYPE_SIZE, "1.5G", 3ULL << 29 },
	{ TYPE_SIZE, "0.5K", 512 },
	{ TYPE_SIZE, "1024T", 1ULL << 50 },
	{ TYPE_SIZE, "1048576T", 1ULL << 60 },
	{ TYPE_SIZE, "1152921504606846976", 1ULL << 60 },
	{ TYPE_SIZE, "18446744073709551615", UINT64_MAX },
	{ TYPE_RATE, "100M/s", 100ULL << 20 },
	{ TYPE_RATE, "4096/s", 4096 },
	{ TYPE_DURATION, "60s", 60000 },
	{ TYPE_DURATION, "250ms", 250 },
	{ TYPE_DURATION, "0.5s", 500 },
	{ TYPE_DURATION, "5m", 300000 },
	{ TYPE_DURATION, "1.5h", 5400000 },
	{ TYPE_DURATION, "0s", 0 },
	{ TYPE_COUNT, "64", 64 },
	{ TYPE_COUNT, "20k", 20000 },
	{ TYPE_COUNT, "1.5k", 1500 },
	{ TYPE_COUNT, "2m", 2000000 },
	{ TYPE_CPUS, "1", 1000 },
	{ TYPE_CPUS, "1.0", 1000 },
	{ TYPE_CPUS, "0.25", 250 },
	{ TYPE_CPUS, "0.001", 1 },
	{ TYPE_CPUS, "12.345", 12345 },
};

static const struct {
	enum option_type type;
	const char *text, *message, *hint;
} bad[] = {
	{ TYPE_SIZE, "", "not a size", "512M" },
	{ TYPE_SIZE, "512m", "unknown unit 'm'", "512M" },
	{ TYPE_SIZE, "1GB", "unknown unit 'GB'", "1G" },
	{ TYPE_SIZE, "1kb", "unknown unit", "1K" },
	{ TYPE_SIZE, "1 G", "unknown unit", "" },
	{ TYPE_SIZE, " 1G", "not a size", "" },
	{ TYPE_SIZE, "1G ", "unknown unit", "" },
	{ TYPE_SIZE, "-1", "negative", "" },
	{ TYPE_SIZE, "-0", "negative", "" },
	{ TYPE_SIZE, "+1", "not a size", "" },
	{ TYPE_SIZE, "010", "not a size", "" },
	{ TYPE_SIZE, "0x10", "unknown unit", "" },
	{ TYPE_SIZE, "1e6", "unknown unit", "" },
	{ TYPE_SIZE, "1_000", "unknown unit", "" },
	{ TYPE_SIZE, "1,5G", "unknown unit", "" },
	{ TYPE_SIZE, ".5G", "not a size", "" },
	{ TYPE_SIZE, "1.G", "not a size", "" },
	{ TYPE_SIZE, "1.5", "not a whole number of bytes", "" },
	{ TYPE_SIZE, "0.1K", "not a whole number of bytes", "" },
	{ TYPE_SIZE, "0.0001G", "not a size", "" },
	{ TYPE_SIZE, "18446744073709551616", "too large", "" },
	{ TYPE_SIZE, "99999999999999999999999999999999999999999999T", "too large", "" },
	{ TYPE_SIZE, "99999999T", "too large", "" },
	{ TYPE_SIZE, "inf", "not a size", "" },
	{ TYPE_SIZE, "max", "not a size", "" },
	{ TYPE_SIZE, "10s", "unknown unit 's'", "" },
	{ TYPE_RATE, "100M", "not a rate", "/s" },
	{ TYPE_RATE, "100", "not a rate", "/s" },
	{ TYPE_RATE, "100M/m", "not a rate", "/s" },
	{ TYPE_RATE, "100m/s", "unknown unit", "100M/s" },
	{ TYPE_RATE, "M/s", "not a rate", "" },
	{ TYPE_DURATION, "60", "no unit", "60s" },
	{ TYPE_DURATION, "0", "no unit", "0s" },
	{ TYPE_DURATION, "60sec", "unknown unit", "60s" },
	{ TYPE_DURATION, "5min", "unknown unit", "5m" },
	{ TYPE_DURATION, "1m30s", "unknown unit", "" },
	{ TYPE_DURATION, "1d", "unknown unit", "" },
	{ TYPE_DURATION, "5M", "unknown unit", "5m" },
	{ TYPE_DURATION, "0.5ms", "not a whole number of milliseconds", "" },
	{ TYPE_DURATION, "-1s", "negative", "" },
	{ TYPE_DURATION, "99999999999999999h", "too large", "" },
	{ TYPE_COUNT, "1.5", "not a whole number", "" },
	{ TYPE_COUNT, "20K", "unknown unit", "20k" },
	{ TYPE_COUNT, "many", "not a number", "" },
	{ TYPE_CPUS, "1.0001", "not a number of CPUs", "" },
	{ TYPE_CPUS, "50%", "unknown unit", "" },
	{ TYPE_CPUS, "500m", "unknown unit", "" },
	{ TYPE_CPUS, "nan", "not a number of CPUs", "" },
};

static void test_good(void)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct unit_fault fault = { 0 };
		uint64_t num = 77, again = 78;
		char buf[32];

		ok(unit_parse(good[i].type, good[i].text, &num, &fault) == 0 && num == good[i].num,
		   "%s is %llu (got %llu %s)", good[i].text, (unsigned long long)good[i].num, (unsigned long long)num,
		   fault.message);
		unit_text(good[i].type, num, buf, sizeof(buf));
		ok(unit_parse(good[i].type, buf, &again, &fault) == 0 && again == num, "told as %s it is the same",
		   buf);
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct unit_fault fault = { 0 };
		uint64_t num = 77;
		bool refused = unit_parse(bad[i].type, bad[i].text, &num, &fault) < 0;

		ok(refused && num == 77 && strstr(fault.message, bad[i].message) && strstr(fault.hint, bad[i].hint) &&
			   fault.hint[0],
		   "'%.30s' is refused: %s (%s)", bad[i].text, fault.message, fault.hint);
	}
}

/* Every number survives being told and read again. */
static void test_round_trip(void)
{
	static const enum option_type types[] = { TYPE_SIZE, TYPE_RATE, TYPE_DURATION, TYPE_COUNT, TYPE_CPUS };
	uint64_t seed = 88172645463325252ULL, failed = 0;

	for (int i = 0; i < 200000; i++) {
		enum option_type type = types[i % 5];
		struct unit_fault fault;
		uint64_t num, again = 0;
		char buf[32];

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		num = (seed >> 14) >> (seed % 50); /* below 2^50, small ones often */
		if (i % 3 == 0)
			num &= ~0xfffffULL;
		unit_text(type, num, buf, sizeof(buf));
		if (unit_parse(type, buf, &again, &fault) < 0 || again != num) {
			note("%s: %llu became %llu", buf, (unsigned long long)num, (unsigned long long)again);
			failed++;
		}
	}
	is_num(failed, 0, "200000 numbers come back as they were told");
}

static void test_text(void)
{
	char buf[32];

	is_str(unit_text(TYPE_SIZE, 512ULL << 20, buf, sizeof(buf)), "512M", "a size in its largest unit");
	is_str(unit_text(TYPE_SIZE, 1000, buf, sizeof(buf)), "1000", "a size in bytes");
	is_str(unit_text(TYPE_RATE, 50ULL << 20, buf, sizeof(buf)), "50M/s", "a rate");
	is_str(unit_text(TYPE_DURATION, 60000, buf, sizeof(buf)), "60s", "a minute is 60s");
	is_str(unit_text(TYPE_DURATION, 300000, buf, sizeof(buf)), "5m", "five minutes");
	is_str(unit_text(TYPE_DURATION, 1500, buf, sizeof(buf)), "1500ms", "milliseconds");
	is_str(unit_text(TYPE_COUNT, 20000, buf, sizeof(buf)), "20k", "thousands");
	is_str(unit_text(TYPE_COUNT, 1024, buf, sizeof(buf)), "1024", "a count");
	is_str(unit_text(TYPE_CPUS, 1000, buf, sizeof(buf)), "1.0", "one CPU");
	is_str(unit_text(TYPE_CPUS, 1250, buf, sizeof(buf)), "1.25", "CPUs with two decimals");
	is_str(unit_text(TYPE_CPUS, 1005, buf, sizeof(buf)), "1.005", "and three");
}

int main(void)
{
	test_good();
	test_bad();
	test_round_trip();
	test_text();
	return done_testing();
}
