package pages

import "golang.org/x/sys/unix"

// fetch has the system bring all pages of b in one call. Where it cannot (before
// Linux 5.14), they come one by one.
func fetch(b []byte) { _ = unix.Madvise(whole(b), unix.MADV_POPULATE_WRITE) }
