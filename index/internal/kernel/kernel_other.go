//go:build !amd64

package kernel

var available = []kernels{plain}
