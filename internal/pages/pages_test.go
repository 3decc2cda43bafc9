package pages

import (
	"os"
	"testing"
	"unsafe"
)

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, few / 8, few/8 + 1, few} {
		s := Make[*int64](n)
		if len(s) != 0 || cap(s) != n {
			t.Fatalf("Make(%d) has length %d and room for %d", n, len(s), cap(s))
		}
		for i, p := range s[:n] {
			if p != nil {
				t.Fatalf("element %d of %d is not zero", i, n)
			}
		}
	}
}

func TestWholePages(t *testing.T) {
	page := os.Getpagesize()
	b := make([]byte, 4*page)
	for _, skip := range []int{0, 1, page - 1, page} {
		for _, n := range []int{0, 1, page, 2*page + 1} {
			w := whole(b[skip : skip+n])
			start := int(uintptr(unsafe.Pointer(unsafe.SliceData(w))))
			if len(w)%page != 0 || len(w) > 0 && start%page != 0 || len(w) > n || len(w) <= n-2*page {
				t.Errorf("of %d bytes at %d, %d bytes at %d", n, skip, len(w), start%page)
			}
		}
	}
}

// The parts are all of it, in order, and no large page belongs to two.
func TestSplit(t *testing.T) {
	all := make([]byte, 9*large)
	for _, skip := range []int{0, 1, large - 1} {
		for _, size := range []int{0, 1, large, 3*large + 5, 8 * large} {
			for n := range 5 {
				b := all[skip : skip+size]
				list, at := split(b, n), 0
				for _, part := range list {
					start := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
					if at > 0 && (start%large != 0 || start != uintptr(unsafe.Pointer(&b[at]))) {
						t.Errorf("of %d bytes, a part starts %d bytes into a large page", size, start%large)
					}
					at += len(part)
				}
				if at != size || len(list) > max(n, 1) || size == 8*large && len(list) < n {
					t.Errorf("%d bytes in %d parts: there are %d with %d", size, n, len(list), at)
				}
			}
		}
	}
}
