/*
 * epoch.pml - the grace period of src/store, for spin: readers that come, go,
 * pin and die, main that clears their slots, and the writer, on a machine whose
 * stores wait in a buffer each (as those of x86 do).
 *
 * The names are those of src/store/reader.c and retire.c. Each place in memory
 * has one process that stores to it, which knows what it stored last; so a
 * buffer is a queue, and a load by another process is one of memory.
 *
 * Without a rule, by -D of the names below, something that a reader may look at
 * is freed, or the writer waits for ever: tests/model/run makes sure of both.
 *
 *   NO_READER_BARRIER  none between the store of seen and the load of a root
 *   NO_WRITER_BARRIER  none between the new epoch and the scan of the slots
 *   TAG_UP_TO_SEEN     frees what was retired in an epoch that a reader is in
 *   EPOCH_BEFORE_UNLINK
 *   NO_PINS            the writer does not look at them
 *   PINS_BEFORE_SEEN   it does so first
 *   HIGH_WITH_PIN      the upper end of a pin is the epoch when it is taken
 *   BORN_AT_HIGH       what was allocated in the epoch of that end is not held
 *   CLEAR_LIVING       main clears the slot of a reader that lives
 *   NO_CLEAR           main clears none
 *   ASLEEP_ONLINE      a reader goes to sleep without going offline
 */
#ifndef READERS
#define READERS 1
#endif
#ifndef VERSIONS
#define VERSIONS 3 /* published one after the other */
#endif
#ifndef SPELLS
#define SPELLS 2   /* periods in which a reader is online */
#endif
#ifndef BATCHES
#define BATCHES 2  /* in a spell */
#endif
#define UNKNOWN 255
#define root_none VERSIONS

/* How many of the first readers may take pins, of the last may be killed. */
#ifndef PINS
#define PINS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#define MAY_PIN(r) (r < PINS)
#define MAY_DIE(r) (r >= READERS - DEATHS)

mtype = { SEEN, LOW, HIGH, EPOCH, ROOT }

/* Memory. */
byte epoch = 1;
byte root;
byte seen[READERS];
byte low[READERS];
byte high[READERS];

/* Stores on their way to it. */
chan reader_buffer[READERS] = [4] of { mtype, byte };
chan writer_buffer = [3] of { mtype, byte };

bool freed[VERSIONS + 1]; /* the last stands for none */
bool dead[READERS];
bool ended[READERS];
bool writer_done;

proctype drain_reader(byte r)
{
	mtype place;
	byte value;

end:	do
	:: atomic { reader_buffer[r] ? place, value ->
		if
		:: place == SEEN -> seen[r] = value
		:: place == LOW -> low[r] = value
		:: place == HIGH -> high[r] = value
		fi }
	od
}

proctype drain_writer()
{
	mtype place;
	byte value;

end:	do
	:: atomic { writer_buffer ? place, value ->
		if
		:: place == EPOCH -> epoch = value
		:: place == ROOT -> root = value
		fi }
	od
}

/* ---- a reader */

/*
 * A step is one load of what others store, with what follows from it for the
 * process alone: a store of its own goes no further than to its buffer. freed
 * only grows, so looking at the end of a while is looking all the while.
 */

/* Looks at all that it holds. */
inline look()
{
	d_step {
		assert(!freed[held]);
		assert(!pinned || !freed[pin_first]);
		assert(!pinned || !freed[pin_later])
	}
}

inline pin()
{
	atomic {
#ifdef HIGH_WITH_PIN
		reader_buffer[r] ! HIGH, own_seen;
#else
		reader_buffer[r] ! HIGH, UNKNOWN;
		pin_open = true;
#endif
		reader_buffer[r] ! LOW, own_seen;
		pin_first = held;
		/* The version that is current, not the one that was. */
		pin_later = root;
		pinned = true
	}
}

inline quiescent()
{
	atomic {
		held = root_none;
		e = epoch;
		if
		:: pin_open -> reader_buffer[r] ! HIGH, e; pin_open = false
		:: else
		fi;
		if
		:: e != own_seen ->
			own_seen = e;
			reader_buffer[r] ! SEEN, e
		:: else
		fi
	}
}

inline online()
{
	atomic {
		e = epoch;
		own_seen = e;
		reader_buffer[r] ! SEEN, e;
		batch = 0
	}
#ifndef NO_READER_BARRIER
	empty(reader_buffer[r]);
#endif
}

inline offline()
{
	atomic {
		own_seen = 0;
		e = 0;
		held = root_none;
		reader_buffer[r] ! SEEN, 0
	}
}

/* A pin may last until a later spell. */
inline unpin()
{
	if
	:: pinned -> atomic {
		look();
		pinned = false;
		pin_first = root_none;
		pin_later = root_none;
		reader_buffer[r] ! LOW, 0 }
	:: pinned && spell < SPELLS - 1
	:: !pinned
	fi
}

proctype reader(byte r)
{
	byte e, own_seen, held = root_none, spell, batch;
	byte pin_first = root_none, pin_later = root_none;
	bool pinned, pin_open;

	{
		do
		:: spell == SPELLS -> break
		:: else ->
			online();
			do
			:: batch == BATCHES -> break
			:: else ->
				held = root;
				if
				:: MAY_PIN(r) && !pinned -> pin()
				:: true
				fi;
				look();
				quiescent();
				batch++
			od;
#ifdef ASLEEP_ONLINE
			if
			:: spell == SPELLS - 1 -> break
			:: else
			fi;
#endif
			offline();
			unpin();
			spell++
		od;
		ended[r] = true
	} unless {
		dead[r]
	}
}

/* ---- main */

proctype killer(byte r)
{
	if
	:: !ended[r] -> dead[r] = true
	:: true
	fi
}

/* Once it has waited for the process, all of its stores have been made. */
proctype main(byte r)
{
end:
#ifdef CLEAR_LIVING
	atomic { seen[r] != 0 -> seen[r] = 0; low[r] = 0 }
#elif defined(NO_CLEAR)
	skip
#else
	atomic { dead[r] && empty(reader_buffer[r]) ->
		seen[r] = 0; low[r] = 0 }
#endif
}

/* ---- the writer */

byte retired_in[VERSIONS]; /* 0: not retired */
byte born[VERSIONS];
byte own_epoch = 1;

inline scan_seen()
{
	n = 0;
	do
	:: n == READERS -> break
	:: else -> d_step {
		s = seen[n];
		if
		:: s != 0 && (oldest == 0 || s < oldest) -> oldest = s
		:: else
		fi;
		n++ }
	od
}

inline scan_pins()
{
	n = 0;
	do
	:: n == READERS -> break
	:: else ->
		if
		:: MAY_PIN(n) -> pin_low = low[n]; pin_high = high[n]
		:: else
		fi;
		n++
	od
}

#ifdef TAG_UP_TO_SEEN
#define IS_BEFORE(tag, s) (tag <= s)
#else
#define IS_BEFORE(tag, s) (tag < s)
#endif
#ifdef BORN_AT_HIGH
#define WAS_THERE(v) (born[v] < pin_high)
#else
#define WAS_THERE(v) (born[v] <= pin_high)
#endif
#ifdef NO_PINS
#define IS_PINNED(v) false
#else
#define IS_PINNED(v) \
	(pin_low != 0 && pin_low <= retired_in[v] && WAS_THERE(v))
#endif

inline free_what_can_be()
{
	d_step {
		n = 0;
		waiting = false;
		do
		:: n == VERSIONS -> break
		:: else ->
			may_free = (oldest == 0
				|| IS_BEFORE(retired_in[n], oldest));
			may_free = may_free && !(IS_PINNED(n));
			if
			:: retired_in[n] == 0
			:: retired_in[n] != 0 && may_free ->
				freed[n] = true;
				retired_in[n] = 0
			:: retired_in[n] != 0 && !may_free -> waiting = true
			fi;
			n++
		od;
		oldest = 0; pin_low = 0; pin_high = 0; s = 0; n = 0;
		may_free = false
	}
}

inline reclaim()
{
	if
	:: bump -> atomic {
		own_epoch++;
		writer_buffer ! EPOCH, own_epoch;
		bump = false }
	:: else
	fi;
#ifdef EPOCH_BEFORE_UNLINK
	if
	:: late -> writer_buffer ! ROOT, v; late = false
	:: else
	fi;
#endif
#ifndef NO_WRITER_BARRIER
	empty(writer_buffer);
#endif
#ifdef PINS_BEFORE_SEEN
	scan_pins();
	scan_seen();
#else
	scan_seen();
	scan_pins();
#endif
	free_what_can_be()
}

proctype writer()
{
	byte v, n, s, oldest, pin_low, pin_high;
	bool waiting, bump, late, may_free;

	do
	:: v == VERSIONS - 1 -> break
	:: else -> atomic {
		v++;
		born[v] = own_epoch;
#ifdef EPOCH_BEFORE_UNLINK
		late = true;
#else
		writer_buffer ! ROOT, v;
#endif
		retired_in[v - 1] = own_epoch;
		bump = true };
		/* Not each publish is followed by one. */
		if
		:: reclaim()
		:: v < VERSIONS - 1
		fi
	od;
	/* From a timer, as long as something waits. */
	do
	:: reclaim();
		if
		:: !waiting -> break
		:: else
		fi
	od;
	writer_done = true
}

init {
	byte i;

	atomic {
		do
		:: i == READERS -> break
		:: else ->
			run drain_reader(i);
			run reader(i);
			if
			:: MAY_DIE(i) -> run killer(i); run main(i)
			:: else
			fi;
			i++
		od;
		run drain_writer();
		run writer()
	}
}

/* Retired versions are freed in the end, whatever the readers do. */
ltl all_is_freed { <> writer_done }
