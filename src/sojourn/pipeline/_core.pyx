# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, binding=False
"""Passes over columns, compiled: each does in one pass over Arrow's and NumPy's memory what takes NumPy several.

`texts.py` and `kernel/search.py` say what each gives, in NumPy: read those first. The answers are the same, to the last
bit. What is different here:

* Nothing holds the GIL while it runs, so that shards are decided on all cores.
* Texts are looked at where they are: Arrow's bounds and bytes, and the rows that are meant.
* Texts get their codes from an open hash table, whose slots hold half of a hash beside the code: so bytes are compared
  once per row, with those of a name that has been copied next to its neighbours.
* Rows and codes have 32 bits. More rows than that in one piece are refused.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

cdef extern from *:
    """
    #define fetch_ahead(address) __builtin_prefetch(address)
    """
    void fetch_ahead(const void* address) noexcept nogil      # from memory, while there is something else to do

cdef enum:
    MOST_WORDS = 64         # of a text that are hashed, where that is for dealing out
    AHEAD = 48              # rows that are fetched before it is their turn
    BLOCK = 128             # rows that are hashed before the first of them is looked up
    FEW = 512               # names that there is always room for

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15

MOST_ROWS = 2**31 - 1
"""How many rows a call takes."""

ctypedef fused Bound:       # of Arrow's texts, plain and large
    int32_t
    int64_t

ctypedef fused Row:
    int32_t
    int64_t

ctypedef fused Code:
    uint8_t
    uint16_t
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef struct Slot:
    uint32_t tag
    int32_t next_code       # after that of its name; 0 in an empty slot


def check_rows(count):
    """Refuse what does not fit 32 bits."""
    if count > MOST_ROWS:
        raise OverflowError(f"{count:,} rows at once are too many; {MOST_ROWS:,} fit: deal them out first")


# Texts

cdef inline uint64_t short_word(const uint8_t* text, int64_t length) noexcept nogil:
    """A text of 1 to 7 bytes as a number."""
    cdef uint32_t first, last
    if length >= 4:
        memcpy(&first, text, 4)
        memcpy(&last, text + length - 4, 4)
        return first | <uint64_t> last << ((length - 4) * 8)
    return text[0] | <uint64_t> text[length >> 1] << ((length >> 1) * 8) | <uint64_t> text[length - 1] << ((length - 1) * 8)


cdef inline uint64_t hash_of(const uint8_t* text, int64_t length, int64_t most_words) noexcept nogil:
    cdef uint64_t mixed = 0, word
    cdef int64_t words, place, at
    if length >= 8:
        memcpy(&mixed, text + length - 8, 8)
    elif length:
        mixed = short_word(text, length)
    mixed = (mixed ^ <uint64_t> length) * GOLDEN
    words = (length + 7) >> 3
    if words > most_words:
        words = most_words
    for place in range(1, words):
        at = place * 8 if length <= most_words * 8 else length * place // most_words
        memcpy(&word, text + at - 8, 8)
        mixed = (mixed ^ (mixed >> 29) ^ word) * GOLDEN
    return mixed


def hashes(const Bound[::1] bounds, const uint8_t[::1] data):
    """As `texts.hashes`, of the texts that lie between these bounds."""
    cdef int64_t row, count = len(bounds) - 1
    cdef const uint8_t* bytes_ = &data[0] if len(data) else NULL
    mixed = np.empty(max(count, 0), np.uint64)
    cdef uint64_t[::1] out = mixed
    with nogil:
        for row in range(count):
            out[row] = hash_of(bytes_ + bounds[row], bounds[row + 1] - bounds[row], MOST_WORDS)
    return mixed


def shards(const Bound[::1] bounds, const uint8_t[::1] data, uint64_t count, uint16_t[::1] out):
    """The shard of each text, of `count` shards, into `out`."""
    cdef int64_t row
    cdef const uint8_t* bytes_ = &data[0] if len(data) else NULL
    cdef uint64_t mixed
    with nogil:
        for row in range(len(bounds) - 1):
            mixed = hash_of(bytes_ + bounds[row], bounds[row + 1] - bounds[row], MOST_WORDS)
            out[row] = <uint16_t> ((mixed >> 32) * count >> 32)


cdef struct Names:
    Slot* slots             # at least twice as many as there are names
    uint32_t mask
    int32_t count
    int64_t room            # for so many names
    int64_t* starts         # of each name in `data`, and of the next
    uint8_t* data
    int64_t used
    int64_t space           # for so many bytes


cdef bint begin(Names* names, int64_t count) noexcept nogil:
    """Room for some of the names of so many rows: memory that is not used yet costs nothing. False if there is none left."""
    cdef int64_t size = 2 * FEW
    memset(names, 0, sizeof(Names))
    names.room = count // 4 + FEW
    while size <= 2 * names.room:
        size *= 2
    names.mask = <uint32_t> (size - 1)
    names.slots = <Slot*> calloc(size, sizeof(Slot))
    names.starts = <int64_t*> malloc((names.room + 1) * sizeof(int64_t))
    if names.slots == NULL or names.starts == NULL:
        return False
    names.starts[0] = 0
    return True


cdef void end(Names* names) noexcept nogil:
    free(names.slots)
    free(names.starts)
    free(names.data)


cdef bint make_room(Names* names, int64_t more, int64_t length) noexcept nogil:
    """Room for more names, of this length together."""
    cdef void* grown
    if names.used + length > names.space:
        names.space = 2 * names.space + length
        grown = realloc(names.data, names.space)
        if grown == NULL:
            return False
        names.data = <uint8_t*> grown
    if names.count + more > names.room:
        names.room = 2 * names.room + more
        grown = realloc(names.starts, (names.room + 1) * sizeof(int64_t))
        if grown == NULL:
            return False
        names.starts = <int64_t*> grown
    while 2 * (names.count + more) > names.mask:
        if not double_slots(names):
            return False
    return True


cdef bint double_slots(Names* names) noexcept nogil:
    cdef int64_t old, size = 2 * (<int64_t> names.mask + 1)
    cdef uint32_t place, mask = <uint32_t> (size - 1)
    cdef Slot* slots = <Slot*> calloc(size, sizeof(Slot))
    if slots == NULL:
        return False
    for old in range(size // 2):
        if names.slots[old].next_code:
            place = names.slots[old].tag & mask
            while slots[place].next_code:
                place = (place + 1) & mask
            slots[place] = names.slots[old]
    free(names.slots)
    names.slots, names.mask = slots, mask
    return True


cdef inline bint is_same(const uint8_t* one, const uint8_t* other, int64_t length) noexcept nogil:
    """As memcmp, which takes longer to call than short texts take to compare."""
    cdef uint64_t first, second
    cdef int64_t at
    if length < 8:
        return length == 0 or short_word(one, length) == short_word(other, length)
    if length > 64:
        return memcmp(one, other, length) == 0
    for at in range(0, length - 8, 8):
        memcpy(&first, one + at, 8)
        memcpy(&second, other + at, 8)
        if first != second:
            return False
    memcpy(&first, one + length - 8, 8)
    memcpy(&second, other + length - 8, 8)
    return first == second


cdef inline uint32_t tag_of(const uint8_t* text, int64_t length) noexcept nogil:
    """Half of a hash of the whole text. What texts were dealt out by is mixed once more: all of these are of one shard."""
    cdef uint64_t mixed = hash_of(text, length, length + 1)
    return <uint32_t> ((mixed ^ (mixed >> 29)) * GOLDEN >> 32)


cdef inline int32_t code_of(Names* names, const uint8_t* text, int64_t length, uint32_t tag) noexcept nogil:
    """The code of a text: a new one if it has not been seen. There must be room."""
    cdef uint32_t place = tag & names.mask
    cdef int32_t code
    cdef int64_t start
    while names.slots[place].next_code:
        if names.slots[place].tag == tag:
            code = names.slots[place].next_code - 1
            start = names.starts[code]
            if names.starts[code + 1] - start == length and is_same(names.data + start, text, length):
                return code
        place = (place + 1) & names.mask
    code = names.count
    memcpy(names.data + names.used, text, length)
    names.used += length
    names.count += 1
    names.starts[names.count] = names.used
    names.slots[place].tag = tag
    names.slots[place].next_code = names.count
    return code


cdef bint look_up(Names* names, const Bound[::1] bounds, const uint8_t* data, const Row[::1] rows, int64_t low,
                  int64_t high, int32_t[::1] out) noexcept nogil:
    """The codes of at most BLOCK rows: low to high."""
    cdef uint32_t[BLOCK] tags
    cdef int64_t i, row, length, total = 0
    for i in range(low, high):
        if i + 2 * AHEAD < len(rows):
            fetch_ahead(&bounds[rows[i + 2 * AHEAD]])
            fetch_ahead(data + bounds[rows[i + AHEAD]])
        row = rows[i]
        length = bounds[row + 1] - bounds[row]
        total += length
        tags[i - low] = tag_of(data + bounds[row], length)
        fetch_ahead(&names.slots[tags[i - low] & names.mask])
    if not make_room(names, high - low, total):
        return False
    for i in range(low, high):
        row = rows[i]
        out[i] = code_of(names, data + bounds[row], bounds[row + 1] - bounds[row], tags[i - low])
    return True


def coded(const Bound[::1] bounds, const uint8_t[::1] data, const Row[::1] rows):
    """As `texts.coded`: the code of the text in each of these rows; the bounds and the bytes of the different texts."""
    check_rows(len(rows))
    cdef int64_t low = 0, count = len(rows)
    cdef const uint8_t* bytes_ = &data[0] if len(data) else NULL
    cdef Names names
    cdef bint has_room = begin(&names, count)
    codes = np.empty(count, np.int32)
    cdef int32_t[::1] out = codes
    try:
        with nogil:
            while has_room and low < count:
                has_room = look_up(&names, bounds, bytes_, rows, low, min(low + BLOCK, count), out)
                low += BLOCK
        if not has_room:
            raise MemoryError(f"no memory for the different texts of {count:,} rows")
        return codes, *copied(&names, np.asarray(bounds).dtype)
    finally:
        end(&names)


cdef copied(Names* names, kind):
    """The bounds and the bytes of the names, as arrays."""
    starts, data = np.empty(names.count + 1, kind), np.empty(names.used, np.uint8)
    starts[:] = <int64_t[:names.count + 1]> names.starts
    if names.used:
        data[:] = <uint8_t[:names.used]> names.data
    return starts, data


def taken(const Bound[::1] bounds, const uint8_t[::1] data, const Row[::1] rows):
    """As `texts.taken`: the bounds and the bytes of the texts in these rows."""
    cdef int64_t i, row, count = len(rows), end = 0
    cdef const uint8_t* bytes_ = &data[0] if len(data) else NULL
    ends = np.empty(count + 1, np.asarray(bounds).dtype)
    cdef Bound[::1] out_ends = ends
    out_ends[0] = 0
    with nogil:
        for i in range(count):
            end += bounds[rows[i] + 1] - bounds[rows[i]]
            out_ends[i + 1] = <Bound> end
    written = np.empty(end, np.uint8)
    cdef uint8_t[::1] out = written
    with nogil:
        for i in range(count):
            if i + AHEAD < count:
                fetch_ahead(bytes_ + bounds[rows[i + AHEAD]])
            row = rows[i]
            if bounds[row + 1] > bounds[row]:
                memcpy(&out[0] + out_ends[i], bytes_ + bounds[row], bounds[row + 1] - bounds[row])
    return ends, written


def joined(const uint8_t[::1] before, const Bound[::1] bounds, const uint8_t[::1] data, const int64_t[::1] numbers,
           const int64_t[::1] ordinals):
    """As `outcomes.operation_ids`: the bounds and the bytes of before + text + "/" + number (+ "#" + ordinal)."""
    cdef int64_t row, count = len(numbers), most = len(before), length, end = 0
    cdef const uint8_t* bytes_ = &data[0] if len(data) else NULL
    cdef const uint8_t* before_ = &before[0] if most else NULL
    cdef uint8_t* to
    ends = np.empty(count + 1, np.int64)
    cdef int64_t[::1] out_ends = ends
    out_ends[0] = 0
    with nogil:
        for row in range(count):
            end += most + bounds[row + 1] - bounds[row] + 1 + digits_of(numbers[row])
            if ordinals[row] > 1:
                end += 1 + digits_of(ordinals[row])
            out_ends[row + 1] = end
    written = np.empty(end, np.uint8)
    cdef uint8_t[::1] out = written
    with nogil:
        for row in range(count):
            to = &out[0] + out_ends[row]
            memcpy(to, before_, most)
            length = bounds[row + 1] - bounds[row]
            memcpy(to + most, bytes_ + bounds[row], length)
            to[most + length] = c"/"
            to = &out[0] + out_ends[row + 1]
            if ordinals[row] > 1:
                to = write_digits(to, ordinals[row]) - 1
                to[0] = c"#"
            write_digits(to, numbers[row])
    return ends, written


cdef inline int64_t digits_of(int64_t number) noexcept nogil:
    """How many characters a number has, with its sign."""
    cdef uint64_t rest = <uint64_t> number if number >= 0 else -<uint64_t> number
    cdef int64_t digits = 1 if number >= 0 else 2
    while rest >= 10000:
        rest //= 10000
        digits += 4
    return digits + (rest >= 10) + (rest >= 100) + (rest >= 1000)


cdef inline uint8_t* write_digits(uint8_t* end, int64_t number) noexcept nogil:
    """Write a number that ends there; where it starts."""
    cdef uint64_t rest = <uint64_t> number if number >= 0 else -<uint64_t> number
    while True:
        end -= 1
        end[0] = c"0" + <uint8_t> (rest % 10)
        rest //= 10
        if not rest:
            break
    if number < 0:
        end -= 1
        end[0] = c"-"
    return end


# Rows

def ascends(const int64_t[::1] values, const int32_t[::1] order, const int64_t[::1] starts):
    """As `search.ascends`."""
    cdef int64_t group, place
    cdef bint has_fallen = False
    with nogil:
        for group in range(len(starts) - 1):
            for place in range(starts[group] + 1, starts[group + 1]):
                has_fallen |= values[order[place]] < values[order[place - 1]]
    return not has_fallen


def placed(const Code[::1] codes, int64_t size, const int64_t[::1] sequence):
    """As `search.placed`: rows in the order of their codes, which are < `size`; and where those of each code start."""
    check_rows(len(codes))
    cdef int64_t i, place, count = len(codes), end = 0
    starts, order = np.zeros(size + 1, np.int64), np.empty(count, np.int32)
    cdef int64_t[::1] next_ = np.zeros(size + 1, np.int64)
    cdef int64_t[::1] first = starts
    cdef int32_t[::1] out = order
    cdef bint is_in_turn = sequence is None
    with nogil:
        for place in range(count):
            next_[codes[place]] += 1
        for i in range(size):
            first[i] = end
            end += next_[i]
            next_[i] = first[i]
        first[size] = end
        for i in range(count):
            place = i if is_in_turn else sequence[i]
            out[next_[codes[place]]] = <int32_t> place
            next_[codes[place]] += 1
    return order, starts


# The kernel

def groups(const int64_t[::1] starts, int64_t count):
    """As `passes.groups`."""
    cdef int64_t group, row
    found = np.empty(count, np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for group in range(len(starts) - 1):
            for row in range(starts[group], starts[group + 1]):
                out[row] = group
    return found


def instants(const int64_t[::1] at, const int64_t[::1] starts):
    """As `passes.instants`."""
    cdef int64_t group, row, first
    found = np.empty(len(at), np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for group in range(len(starts) - 1):
            first = starts[group]
            for row in range(starts[group], starts[group + 1]):
                if at[row] != at[first]:
                    first = row
                out[row] = first
    return found


def marked(const uint8_t[::1] flags, const int64_t[::1] at):
    """As `passes.marked`."""
    cdef int64_t row, found = 0, count = len(flags)
    before = np.empty(count + 1, np.int64)
    cdef int64_t[::1] out_before = before
    with nogil:
        for row in range(count):
            out_before[row] = found
            found += flags[row] != 0
        out_before[count] = found
    rows, times = np.empty(found + 1, np.int64), np.empty(found + 1, np.int64)
    cdef int64_t[::1] out_rows = rows, out_times = times
    with nogil:
        for row in range(count):            # the last is overwritten until one is marked
            out_rows[out_before[row]] = row
            out_times[out_before[row]] = at[row]
    return rows[:found], times[:found], before


def narrowed(const int64_t[::1] rows, const int64_t[::1] at, const uint8_t[::1] flags, int64_t count):
    """As `passes.narrowed`."""
    cdef int64_t place, row = 0, found = 0
    before = np.empty(count + 1, np.int64)
    kept_rows, kept_times = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    cdef int64_t[::1] out_before = before, out_rows = kept_rows, out_times = kept_times
    with nogil:
        for place in range(len(rows)):
            if flags[place]:
                while row <= rows[place]:
                    out_before[row] = found
                    row += 1
                out_rows[found] = rows[place]
                out_times[found] = at[place]
                found += 1
        while row <= count:
            out_before[row] = found
            row += 1
    return kept_rows[:found], kept_times[:found], before


def nth_times(const int64_t[::1] at, const int64_t[::1] low, const int64_t[::1] high, int64_t nth,
              const int64_t[::1] opened_at, int64_t never):
    """As `passes.nth_times`."""
    cdef int64_t i, last
    found = np.empty(len(low), np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for i in range(len(low)):
            last = low[i] + nth - 1
            if last < high[i]:
                out[i] = at[last] if at[last] > opened_at[i] else opened_at[i]
            else:
                out[i] = never
    return found


def verdict(const int64_t[::1] met_at, const int64_t[::1] cancelled_at, const int64_t[::1] deadline, int64_t as_of):
    """As `judge.verdict`: endings by their codes there, and times."""
    cdef int64_t i, count = len(met_at)
    endings, times = np.empty(count, np.int8), np.empty(count, np.int64)
    cdef int8_t[::1] ending = endings
    cdef int64_t[::1] at = times
    with nogil:
        for i in range(count):
            if met_at[i] <= deadline[i] and met_at[i] <= cancelled_at[i]:
                ending[i], at[i] = 0, met_at[i]
            elif cancelled_at[i] <= deadline[i]:
                ending[i], at[i] = 2, cancelled_at[i]
            else:
                ending[i], at[i] = 1, deadline[i]
            if at[i] > as_of:
                ending[i], at[i] = 3, as_of
    return endings, times


def count_until(const int64_t[::1] times, const int64_t[::1] low, const int64_t[::1] high, const int64_t[::1] until):
    """As `search.count_until`."""
    cdef int64_t i, first, count, half
    found = np.empty(len(low), np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for i in range(len(low)):
            first, count = low[i], high[i] - low[i]
            while count > 0:
                half = count >> 1
                if times[first + half] <= until[i]:
                    first += half + 1
                    count -= half + 1
                else:
                    count = half
            out[i] = first - low[i]
    return found


def previous(const int64_t[::1] before, const int64_t[::1] starts, const Row[::1] sources, int64_t most):
    """As `passes.previous`, of sources from 0 to `most`."""
    cdef int64_t group, place
    cdef int64_t[::1] last = np.full(most + 1, -1)
    found = np.empty(len(sources), np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for group in range(len(starts) - 1):
            for place in range(before[starts[group]], before[starts[group + 1]]):
                out[place] = last[sources[place]] if last[sources[place]] >= before[starts[group]] else -1
                last[sources[place]] = place
    return found


# Results

def interval_places(const int64_t[::1] values, const int64_t[::1] width, const int64_t[::1] begin,
                    const int64_t[::1] first):
    """As `bins.Grid.place`: values from 0 on in parts of intervals of one width; those below 0 are their mirror image."""
    cdef int64_t i, part, sign, value, last = len(begin) - 1
    found = np.empty(len(values), np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for i in range(len(values)):
            sign = values[i] >> 63
            value = values[i] ^ sign
            part = 0
            while part < last and value >= begin[part + 1]:
                part += 1
            out[i] = (first[part] + (value - begin[part]) // width[part]) ^ sign
    return found


def counted(const int64_t[::1] codes, const int64_t[::1] classes, int64_t size, int64_t number):
    """As `bins._counted`."""
    cdef int64_t i
    found = np.zeros((size, number), np.int64)
    cdef int64_t[:, ::1] out = found
    with nogil:
        for i in range(len(codes)):
            out[codes[i], classes[i]] += 1
    return found
