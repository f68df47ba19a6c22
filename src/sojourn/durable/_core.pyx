# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""CRC-32C and gates in C: `_crc.py` and `_gate.py` say what they mean.

Different from there: of a checksum eight bytes are taken at a time, by eight tables, and without the GIL where there
are many. Gates are opened without the GIL: whoever is woken while it is held would only have to sleep again.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint32_t

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    ctypedef enum PyLockStatus:
        PY_LOCK_FAILURE
        PY_LOCK_ACQUIRED
        PY_LOCK_INTR
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag)
    void PyThread_release_lock(PyThread_type_lock lock)

cdef uint32_t POLYNOMIAL = 0x82F63B78
cdef uint32_t[8][256] tables


cdef void fill_tables() noexcept:
    cdef uint32_t crc
    cdef int byte, i
    for byte in range(256):
        crc = byte
        for i in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
        tables[0][byte] = crc
    for byte in range(256):
        for i in range(1, 8):
            tables[i][byte] = (tables[i - 1][byte] >> 8) ^ tables[0][tables[i - 1][byte] & 0xFF]


fill_tables()


cdef uint32_t run(const uint8_t* data, Py_ssize_t size, uint32_t crc) noexcept nogil:
    cdef uint32_t low, high
    while size >= 8:
        low = (data[0] | (<uint32_t>data[1] << 8) | (<uint32_t>data[2] << 16) | (<uint32_t>data[3] << 24)) ^ crc
        high = data[4] | (<uint32_t>data[5] << 8) | (<uint32_t>data[6] << 16) | (<uint32_t>data[7] << 24)
        crc = (tables[7][low & 0xFF] ^ tables[6][(low >> 8) & 0xFF] ^ tables[5][(low >> 16) & 0xFF] ^ tables[4][low >> 24]
               ^ tables[3][high & 0xFF] ^ tables[2][(high >> 8) & 0xFF] ^ tables[1][(high >> 16) & 0xFF] ^ tables[0][high >> 24])
        data += 8
        size -= 8
    while size > 0:
        crc = tables[0][(crc ^ data[0]) & 0xFF] ^ (crc >> 8)
        data += 1
        size -= 1
    return crc


def crc32c(const uint8_t[::1] data not None, uint32_t crc=0):
    """The checksum of `data`; of what follows data whose checksum is `crc`, the checksum of both."""
    cdef Py_ssize_t size = data.shape[0]
    cdef const uint8_t* start = &data[0] if size else NULL
    crc ^= 0xFFFFFFFF
    if size > 65536:
        with nogil:
            crc = run(start, size, crc)
    else:
        crc = run(start, size, crc)
    return crc ^ 0xFFFFFFFF


cdef class Gate:
    """Closed, until it is opened, once; for one who waits."""

    cdef PyThread_type_lock lock

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock is NULL:
            raise MemoryError
        PyThread_acquire_lock_timed(self.lock, 0, 0)

    def __dealloc__(self):
        if self.lock is not NULL:
            PyThread_free_lock(self.lock)

    def wait(self):
        """Sleep until it is open; Ctrl-C ends that."""
        cdef PyLockStatus status = PY_LOCK_INTR
        while status == PY_LOCK_INTR:
            with nogil:
                status = PyThread_acquire_lock_timed(self.lock, -1, 1)
            if status == PY_LOCK_INTR:
                PyErr_CheckSignals()


def open_all(gates):
    """Wake everybody."""
    cdef list kept = list(gates)  # until all are open: whoever is woken may let go of its gate
    cdef Py_ssize_t i, count = len(kept)
    cdef PyThread_type_lock* locks = <PyThread_type_lock*>PyMem_Malloc(count * sizeof(PyThread_type_lock))
    if locks is NULL:
        raise MemoryError
    try:
        for i in range(count):
            locks[i] = (<Gate?>kept[i]).lock
        with nogil:
            for i in range(count):
                PyThread_release_lock(locks[i])
    finally:
        PyMem_Free(locks)
