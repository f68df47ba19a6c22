/* Memory for TimerTask objects: pages of equal slots, given back to the system as soon as they are empty.
 *
 * A timer's tasks come and go by the hundred thousand. In the general allocator touching fresh memory, 4 KiB at a time,
 * was a third of the cost of adding a task. Here all pages but the first ask for huge pages, which are made present in
 * one go; the page of a slot is found through its address alone; and when all tasks are gone nothing is held but the
 * first 64 KiB of one page, which keeps a program with few tasks from mapping and unmapping for each.
 *
 * The GIL is the lock. Without mmap the general allocator serves.
 */

#if defined(__linux__) || defined(__APPLE__)
#include <stdint.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)1 << 21)
#define KEPT_BYTES ((size_t)1 << 16)
#define HEAD_BYTES ((size_t)64) /* of a page: slots of 64 bytes then lie in one line of the cache each */

typedef struct Page {
    struct Page *prev, *next; /* among the pages that have room */
    void *freed;              /* slots given back, each pointing to the next */
    char *fresh;              /* from here on, slots never used */
    size_t used;
    size_t touched; /* how many bytes have been in use since they were last given back */
    int is_huge;
} Page;

static Page roomy = {&roomy, &roomy, NULL, NULL, 0, 0, 0}; /* root of the list */
static Page *spare = NULL; /* empty */
static size_t pages = 0;

static inline void page_unlink(Page *page) {
    page->prev->next = page->next;
    page->next->prev = page->prev;
}

static inline void page_link(Page *page) {
    page->next = roomy.next;
    page->prev = &roomy;
    page->next->prev = roomy.next = page;
}

static Page *page_new(void) {
    int is_huge = 0;
    /* Twice the size, less what is not aligned: so the page of a slot is its address rounded down. */
    char *raw = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    char *page = (char *)(((uintptr_t)raw + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1));
    if (page > raw) munmap(raw, page - raw);
    if (page < raw + PAGE_BYTES) munmap(page + PAGE_BYTES, raw + PAGE_BYTES - page);
#ifdef MADV_HUGEPAGE
    if (pages > 0) /* a kernel without huge pages says no, and that is fine */
        is_huge = madvise(page, PAGE_BYTES, MADV_HUGEPAGE) == 0;
#endif
    pages++;
    ((Page *)page)->is_huge = is_huge;
    ((Page *)page)->fresh = page + HEAD_BYTES;
    return (Page *)page;
}

static void page_release(Page *page) {
    munmap(page, PAGE_BYTES);
    pages--;
}

static void page_emptied(Page *page) {
    size_t others_in_use = pages - 1 - (spare != NULL);
    page_unlink(page);
    page->freed = NULL;
    page->fresh = (char *)page + HEAD_BYTES;
    if (others_in_use > 0) {
        if (spare == NULL) spare = page; /* likely to be needed again */
        else page_release(page);
        return;
    }
    if (spare != NULL) page_release(spare);
    spare = NULL;
    if (page->is_huge) {
        page_release(page);
        return;
    }
    spare = page;
    if (page->touched > KEPT_BYTES) (void)madvise((char *)page + KEPT_BYTES, PAGE_BYTES - KEPT_BYTES, MADV_DONTNEED);
    page->touched = KEPT_BYTES;
}

static inline int page_is_full(Page *page, size_t slot_bytes) {
    return page->freed == NULL && page->fresh + slot_bytes > (char *)page + PAGE_BYTES;
}

static void *task_memory_get(size_t slot_bytes) {
    Page *page = roomy.next;
    void *slot;
    if (page == &roomy) {
        page = spare != NULL ? spare : page_new();
        if (page == NULL) return NULL;
        spare = NULL;
        page_link(page);
    }
    if (page->freed != NULL) {
        slot = page->freed;
        page->freed = *(void **)slot;
    } else {
        slot = page->fresh;
        page->fresh += slot_bytes;
        if ((size_t)(page->fresh - (char *)page) > page->touched) page->touched = page->fresh - (char *)page;
    }
    page->used++;
    if (page_is_full(page, slot_bytes)) page_unlink(page);
    return slot;
}

static void task_memory_put(void *slot, size_t slot_bytes) {
    Page *page = (Page *)((uintptr_t)slot & ~(uintptr_t)(PAGE_BYTES - 1));
    if (page_is_full(page, slot_bytes)) page_link(page);
    *(void **)slot = page->freed;
    page->freed = slot;
    if (--page->used == 0) page_emptied(page);
}

#else
#define task_memory_get(slot_bytes) PyObject_Malloc(slot_bytes)
#define task_memory_put(slot, slot_bytes) PyObject_Free(slot)
#endif

/* The slots tp_alloc and tp_free of TimerTask. A subclass made in C inherits them and may be larger: it gets Python's own
 * memory, as does one made in Python. */

static size_t task_bytes = 0;

static PyObject *task_alloc(PyTypeObject *type, Py_ssize_t items) {
    PyObject *task;
    if ((size_t)type->tp_basicsize != task_bytes) return PyType_GenericAlloc(type, items);
    task = (PyObject *)task_memory_get(task_bytes);
    if (task == NULL) return PyErr_NoMemory();
    memset(task, 0, task_bytes);
    return PyObject_Init(task, type);
}

static void task_free(void *task) {
    if ((size_t)Py_TYPE((PyObject *)task)->tp_basicsize != task_bytes) PyObject_Free(task);
    else task_memory_put(task, task_bytes);
}

static void task_memory_serve(PyTypeObject *type) {
    task_bytes = (size_t)type->tp_basicsize;
    type->tp_alloc = task_alloc;
    type->tp_free = task_free;
}
