/* libflagos-device-compare: two strided buffers on a CUDA device, compared there bit for bit.
 *
 * A plain C interface, so that the library can be loaded when it is needed and replaced without the tool. It holds a
 * CUDA runtime of its own, linked statically, which shares the device's primary context with that of the process. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAGOS_COMPARE_VERSION 1
#define FLAGOS_COMPARE_API __attribute__((visibility("default")))

/* Bytes of device memory that a comparison writes its findings to. */
#define FLAGOS_COMPARE_WORKSPACE_BYTES 64
/* Most dimensions that are left after those that can be walked as one were joined. */
#define FLAGOS_COMPARE_MAX_DIM 16

enum flagos_compare_dtype {
  FLAGOS_COMPARE_UINT8 = 0,
  FLAGOS_COMPARE_INT8 = 1,
  FLAGOS_COMPARE_INT16 = 2,
  FLAGOS_COMPARE_INT32 = 3,
  FLAGOS_COMPARE_INT64 = 4,
  FLAGOS_COMPARE_UINT16 = 5,
  FLAGOS_COMPARE_UINT32 = 6,
  FLAGOS_COMPARE_UINT64 = 7,
  FLAGOS_COMPARE_BOOL = 8, /* one byte, true unless 0 */
  FLAGOS_COMPARE_FLOAT16 = 9,
  FLAGOS_COMPARE_BFLOAT16 = 10,
  FLAGOS_COMPARE_FLOAT32 = 11,
  FLAGOS_COMPARE_FLOAT64 = 12,
  FLAGOS_COMPARE_COMPLEX32 = 13, /* two float16 */
  FLAGOS_COMPARE_COMPLEX64 = 14,
  FLAGOS_COMPARE_COMPLEX128 = 15,
  FLAGOS_COMPARE_FLOAT8_E4M3FN = 16,
  FLAGOS_COMPARE_FLOAT8_E5M2 = 17,
  FLAGOS_COMPARE_DTYPES = 18 /* how many there are */
};

enum flagos_compare_status {
  FLAGOS_COMPARE_OK = 0,
  FLAGOS_COMPARE_BAD_ARGUMENT = 1,        /* see flagos_compare_message() */
  FLAGOS_COMPARE_TOO_MANY_DIMENSIONS = 2, /* more than FLAGOS_COMPARE_MAX_DIM after joining */
  FLAGOS_COMPARE_CUDA_ERROR = 3           /* CUDA refused; after an error of a kernel the context is lost */
};

/* All memory is the caller's and is only borrowed for the call. */
struct flagos_compare_request {
  const void* a; /* element [0, ..., 0], in memory that `device` can read; aligned to the dtype's component */
  const void* b;
  int device;           /* CUDA ordinal */
  int dtype;            /* enum flagos_compare_dtype, of both */
  int dim;              /* 0 or more; 0: one element */
  const int64_t* sizes; /* host memory, `dim` each; elements, not bytes. Null when dim is 0 */
  const int64_t* strides_a;
  const int64_t* strides_b;
  void* workspace; /* FLAGOS_COMPARE_WORKSPACE_BYTES of the device's memory, aligned to 8 */
  void* stream;    /* cudaStream_t of `device`; null: the legacy default stream */
};

struct flagos_compare_result {
  int equal;         /* 1: every element has the same bits. NaN payloads and signs of zeros count */
  int64_t first;     /* row-major index of the first element that differs; -1 when equal */
  int64_t different; /* how many elements differ */
  int has_max_abs;   /* 0 when equal, and where each distance is NaN */
  double max_abs;    /* greatest |a - b|, each converted to double first (components of a complex number too, then
                      * hypot); NaN is left out, infinity may come out */
};

/* Compares, on `request->stream`, and waits for the answer. When equal, memory is read once; else twice, the second
 * time for index, number and distance. Returns an enum flagos_compare_status; `*result` holds only after
 * FLAGOS_COMPARE_OK. Any thread; the thread's current device is what it was afterwards. Throws nothing. */
FLAGOS_COMPARE_API int flagos_compare(const struct flagos_compare_request* request,
                                      struct flagos_compare_result* result);

/* What the last flagos_compare() of this thread that failed had to say. The string is the library's, and stays until
 * the thread's next failure. Never null. */
FLAGOS_COMPARE_API const char* flagos_compare_message(void);

/* FLAGOS_COMPARE_VERSION of the library: another one has other structs. */
FLAGOS_COMPARE_API int flagos_compare_version(void);

#ifdef __cplusplus
}
#endif
