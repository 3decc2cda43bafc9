package pages

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// fetch has the system bring all pages of b, large pages where it has them, in one
// call for each part. Where it cannot (before Linux 5.14), they come one by one.
func fetch(b []byte) {
	b = whole(b)
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	var all sync.WaitGroup
	for _, part := range split(b, parts(len(b))) {
		all.Go(func() { _ = unix.Madvise(part, unix.MADV_POPULATE_WRITE) })
	}
	all.Wait()
}

// parts is how many goroutines fetch size bytes, which the system does side by
// side: what takes the time is clearing them.
func parts(size int) int {
	const many = 8 << 20 // worth a goroutine
	return min(1+size/many, 4, runtime.GOMAXPROCS(0))
}
