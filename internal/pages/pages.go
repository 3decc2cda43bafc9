// Package pages makes large slices whose memory is there at once. A fresh page
// of memory is fetched from the system when it is first written to, each with a
// trap of its own; on a virtual machine that takes longer than all that is then
// done with the page.
package pages

import (
	"os"
	"unsafe"
)

const (
	few   = 1 << 20 // bytes that are not worth a call
	large = 2 << 20 // what a large page has
)

// Make is make([]T, 0, n).
func Make[T any](n int) []T {
	s := make([]T, n)
	if size := n * int(unsafe.Sizeof(*new(T))); size >= few {
		fetch(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size))
	}
	return s[:0]
}

// whole is the part of b that is whole pages.
func whole(b []byte) []byte {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	b = b[min(skip, len(b)):]
	return b[:len(b)&^(page-1)]
}

// split cuts b into at most n parts of about the same size, between large pages.
func split(b []byte, n int) [][]byte {
	var list [][]byte
	for ; n > 1; n-- {
		end := len(b) / n
		end -= int((uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(end)) % large)
		if end > 0 {
			list, b = append(list, b[:end]), b[end:]
		}
	}
	return append(list, b)
}
