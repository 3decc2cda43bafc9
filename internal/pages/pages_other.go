//go:build !linux

package pages

func fetch([]byte) {}
