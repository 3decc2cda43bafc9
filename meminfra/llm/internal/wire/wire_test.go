package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "1.5": 1500 * time.Millisecond, "-3": 0, "soon": 0, "1e30": 0, "NaN": 0,
		"Fri, 01 May 2026 12:00:20 GMT": 20 * time.Second, "Fri, 01 May 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}, now); got != 250*time.Millisecond {
		t.Errorf("%v", got)
	}
}

func TestFailuresTellNothing(t *testing.T) {
	const secret = "sk-secret"
	d := NewDoer("p", nil)
	wrap := func(err error) error { return &url.Error{Op: "Post", URL: "https://h/?key=" + secret, Err: err} }
	for name, tt := range map[string]struct {
		err       error
		retryable bool
		reason    string
	}{
		"refused":   {wrap(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), true, "connection refused"},
		"no host":   {wrap(&net.DNSError{Name: secret, Err: "no such host"}), true, "host not found"},
		"cut":       {io.ErrUnexpectedEOF, true, "connection closed"},
		"timeout":   {wrap(context.DeadlineExceeded), true, "timeout"},
		"redirect":  {wrap(errRedirect), false, "redirect to another host refused"},
		"other":     {errors.New("reply was " + secret), false, "malformed answer"},
		"of the op": {wrap(errors.New(secret)), true, "connection failed"},
	} {
		var e *llm.Error
		err := d.Failure(tt.err)
		if !errors.As(err, &e) || e.Retryable != tt.retryable || e.Reason != tt.reason || strings.Contains(fmt.Sprintf("%v %+v", err, *e), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Failure(wrap(context.Canceled)); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
	if d.Failure(nil) != nil {
		t.Error("no error became one")
	}
}

func TestCodesAndIDsArePlain(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"rate_limit","type":"t"}}`:    "rate_limit",
		`{"error":{"code":null,"type":"overloaded"}}`:   "overloaded",
		`{"error":{"code":42,"type":"x y"}}`:            "",
		`{"error":{"code":"Ada lives in Oslo"}}`:        "",
		`{"error":"text"}`:                              "",
		`not JSON`:                                      "",
		`{"error":{"code":"` + strings.Repeat("a", 200): "",
	} {
		if got := errorCode([]byte(body)); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	if got := requestID(http.Header{"X-Request-Id": {"a b"}, "Request-Id": {"req_1"}}); got != "req_1" {
		t.Errorf("%q", got)
	}
}
