package pages

import "golang.org/x/sys/unix"

// fetch has the system bring all pages of b in one call, large pages where it
// has them. Where it cannot (before Linux 5.14), they come one by one.
func fetch(b []byte) {
	b = whole(b)
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	_ = unix.Madvise(b, unix.MADV_POPULATE_WRITE)
}
