// Package wire is what adapters over HTTP share: a client that sends a key to
// nobody but the host it was given for, and errors without content. Adapters
// hand its Doer to their SDK, so that refusals, Retry-After and request ids are
// read in one place, whatever the SDK makes of them.
package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

// maxAnswer bounds the body of an answer, maxRefusal that of an error.
const (
	maxAnswer  = 256 << 20
	maxRefusal = 64 << 10
)

// Doer sends requests to one provider.
type Doer struct {
	provider string
	client   *http.Client
}

// NewDoer returns a doer over a copy of base; nil is a client of its own.
// Redirects to another scheme, host or port are refused: they would carry the
// key or the texts to somebody whom nobody chose.
func NewDoer(provider string, base *http.Client) *Doer {
	client := http.Client{}
	if base != nil {
		client = *base
	}
	client.CheckRedirect = sameOrigin
	return &Doer{provider, &client}
}

var errRedirect = errors.New("redirect to another host refused")

func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host || len(via) > 3 {
		return errRedirect
	}
	return nil
}

// Do sends a request. The answer is one of success: any other comes back as a
// *Refusal, and no answer as an error of Failure.
func (d *Doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, d.Failure(err)
	}
	if resp.StatusCode/100 == 2 {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil && req.Context().Err() != nil {
		return nil, d.Failure(req.Context().Err())
	}
	return nil, d.refusal(resp, body)
}

// Refusal is an answer that is no success, with what it said in lower case. Said
// may quote what was sent: it is for the adapter to look for the names of
// parameters in and goes no further.
type Refusal struct {
	Err  *llm.Error
	Said string
}

func (r *Refusal) Error() string { return r.Err.Error() }

func (r *Refusal) Unwrap() error { return r.Err }

func (d *Doer) refusal(resp *http.Response, body []byte) *Refusal {
	e := &llm.Error{Provider: d.provider, Status: resp.StatusCode, RequestID: requestID(resp.Header),
		RetryAfter: retryAfter(resp.Header, time.Now()), Code: errorCode(body), Reason: strings.ToLower(http.StatusText(resp.StatusCode))}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		e.Retryable = true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
	default:
		e.Retryable = resp.StatusCode >= 500
	}
	// A quota that is used up is refused like a rate that is too high.
	if e.Code == "insufficient_quota" || strings.EqualFold(resp.Header.Get("x-should-retry"), "false") {
		e.Retryable = false
	}
	return &Refusal{e, strings.ToLower(string(body))}
}

// identifier is what error codes and request ids may be made of: text of any
// other form could be content.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$`)

func requestID(h http.Header) string {
	for _, name := range []string{"x-request-id", "request-id", "cf-ray"} {
		if id := h.Get(name); identifier.MatchString(id) {
			return id
		}
	}
	return ""
}

// errorCode reads error.code, else error.type, of an OpenAI or Anthropic error.
func errorCode(body []byte) string {
	var e struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	if code, ok := e.Error.Code.(string); ok && identifier.MatchString(code) {
		return code
	}
	if identifier.MatchString(e.Error.Type) {
		return e.Error.Type
	}
	return ""
}

// retryAfter reads Retry-After (seconds or a date) and retry-after-ms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s > 0 && s < 1e6 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// Failure is what an adapter returns for an error of its SDK: a *llm.Error, or
// the context's own. The text of any other error is dropped: it may hold an
// address with a key in it, or a piece of an answer.
func (d *Doer) Failure(err error) error {
	var known *llm.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return &llm.Error{Provider: d.provider, Reason: "timeout", Retryable: true, Err: context.DeadlineExceeded}
	case errors.Is(err, errRedirect):
		return &llm.Error{Provider: d.provider, Reason: errRedirect.Error()}
	}
	if reason := connection(err); reason != "" {
		return &llm.Error{Provider: d.provider, Reason: reason, Retryable: reason != noTrust}
	}
	return d.Malformed()
}

// CheckBase refuses a base URL that is none: not http or https, without a host, or
// with a user, query or fragment in it, where a key may hide and be printed.
func CheckBase(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("base URL: want http://HOST/PATH or https://HOST/PATH")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("base URL: no user, query or fragment; a key has its own setting")
	}
	return nil
}

// Malformed is the error of an answer that is not of the provider's form.
func (d *Doer) Malformed() error {
	return &llm.Error{Provider: d.provider, Reason: llm.ErrMalformed.Error(), Err: llm.ErrMalformed}
}

// Nothing is the error of an answer of success that holds no reply, not even an
// empty one: gateways pass on the errors of who is behind them in such.
func (d *Doer) Nothing() error {
	return &llm.Error{Provider: d.provider, Reason: "answer without a reply", Retryable: true, Err: llm.ErrMalformed}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

const noTrust = "no trusted TLS connection"

// connection says what was wrong with a connection, "" if it was none of it.
func connection(err error) string {
	var number syscall.Errno
	var name *net.DNSError
	var record *tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var op *net.OpError
	var address *url.Error
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &name):
		return "host not found"
	case errors.As(err, &record), errors.As(err, &verify), errors.As(err, &authority):
		return noTrust
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "connection closed"
	case errors.As(err, &op), errors.As(err, &address):
		return "connection failed"
	}
	return ""
}
