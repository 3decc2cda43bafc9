// Package llmtest has fake model servers: real HTTP on loopback, speaking the
// OpenAI or the Anthropic API, each answer scripted. They let adapters be tested
// through their real SDKs for everything that servers do wrong.
package llmtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Step is what a server does with one request.
type Step struct {
	text      string
	truncated bool
	inWords   bool // Anthropic: text although a tool was demanded
	status    int
	header    map[string]string
	body      string // of an error, or instead of an answer
	hang      bool
	reset     bool
	cut       bool
	twist     func(vectors [][]float32, order []int) ([][]float32, []int)
	mute      bool // ignores that base64 was asked for
}

// Reply answers with a text, or for Anthropic with the input of the demanded
// tool if the text is JSON.
func Reply(text string) Step { return Step{text: text} }

// Words answers with a text even where a tool was demanded.
func Words(text string) Step { return Step{text: text, inWords: true} }

// Truncated answers with a text that ended at the limit of tokens.
func Truncated(text string) Step { return Step{text: text, truncated: true, inWords: true} }

// Status refuses with an HTTP status and an error of the API's form. Header
// fields come in pairs.
func Status(status int, code, message string, header ...string) Step {
	s := Step{status: status, header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		s.header[header[i]] = header[i+1]
	}
	b, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": code, "code": code, "message": message}})
	s.body = string(b)
	return s
}

// Raw answers 200 with a body as it is.
func Raw(body string) Step { return Step{status: http.StatusOK, body: body} }

// Redirect sends the client elsewhere, method and body kept.
func Redirect(to string) Step {
	return Step{status: http.StatusTemporaryRedirect, header: map[string]string{"Location": to}}
}

// Hang never answers; it ends when the client goes or the server is closed.
func Hang() Step { return Step{hang: true} }

// Hangs reports a step that never answers, which the client must end.
func (s Step) Hangs() bool { return s.hang }

// Reset breaks the connection without an answer.
func Reset() Step { return Step{reset: true} }

// Cut breaks the connection in the middle of the answer.
func Cut() Step { return Step{cut: true} }

// Vectors answers an embeddings request with what twist makes of the right
// vectors and of the index that each is given; nil leaves them right.
func Vectors(twist func(vectors [][]float32, order []int) ([][]float32, []int)) Step {
	return Step{twist: twist}
}

// Numbers answers an embeddings request with numbers, whatever was asked.
func Numbers() Step { return Step{mute: true} }

// Request is what a server was asked.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
}

// Server is a fake. It does the steps in order, the last one again and again;
// without steps it answers "{}" and right vectors.
type Server struct {
	URL string // of the API, as adapters take it
	Dim int    // of vectors; 8 unless set before use

	server *httptest.Server
	closed chan struct{}
	reply  func(Step, map[string]any) any

	mu       sync.Mutex
	steps    []Step
	done     int
	requests []Request
}

// NewOpenAI starts a server of the OpenAI API; close it with Close.
func NewOpenAI(steps ...Step) *Server {
	s := start(openAIReply, steps)
	s.URL += "/v1"
	return s
}

// NewAnthropic starts a server of the Anthropic API; close it with Close.
func NewAnthropic(steps ...Step) *Server { return start(anthropicReply, steps) }

func start(reply func(Step, map[string]any) any, steps []Step) *Server {
	s := &Server{Dim: 8, reply: reply, steps: steps, closed: make(chan struct{})}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.server.URL
	return s
}

// Close stops the server and lets go of who hangs.
func (s *Server) Close() {
	close(s.closed)
	s.server.CloseClientConnections()
	s.server.Close()
}

// Script replaces the steps still to come.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps, s.done = steps, 0
}

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// next records a request and returns its step.
func (s *Server) next(r Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if len(s.steps) == 0 {
		return Reply("{}")
	}
	step := s.steps[min(s.done, len(s.steps)-1)]
	s.done++
	return step
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := map[string]any{}
	_ = json.Unmarshal(raw, &body)
	step := s.next(Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("x-request-id", "req_test")
	for k, v := range step.header {
		w.Header().Set(k, v)
	}
	switch {
	case step.hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	case step.reset:
		drop(w)
	case step.cut:
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"choices":[{"mess`)
		drop(w)
	case step.status != 0:
		w.WriteHeader(step.status)
		_, _ = io.WriteString(w, step.body)
	case r.URL.Path == "/v1/embeddings":
		_ = json.NewEncoder(w).Encode(s.embeddings(step, body))
	default:
		_ = json.NewEncoder(w).Encode(s.reply(step, body))
	}
}

// drop closes the connection under the answer.
func drop(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok && w.Header().Get("Content-Length") != "" {
		f.Flush()
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func openAIReply(s Step, body map[string]any) any {
	finish := "stop"
	if s.truncated {
		finish = "length"
	}
	return map[string]any{
		"id": "chatcmpl-test", "object": "chat.completion", "model": fmt.Sprint(body["model"], "-served"),
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish,
			"message": map[string]any{"role": "assistant", "content": s.text}}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
	}
}

func anthropicReply(s Step, body map[string]any) any {
	stop := "end_turn"
	content := []any{map[string]any{"type": "text", "text": s.text}}
	choice, _ := body["tool_choice"].(map[string]any)
	if choice["type"] == "tool" && !s.inWords && json.Valid([]byte(s.text)) {
		stop = "tool_use"
		content = []any{map[string]any{"type": "tool_use", "id": "toolu_test", "name": choice["name"], "input": json.RawMessage(s.text)}}
	}
	if s.truncated {
		stop = "max_tokens"
	}
	return map[string]any{"id": "msg_test", "type": "message", "role": "assistant", "model": fmt.Sprint(body["model"], "-served"),
		"content": content, "stop_reason": stop, "usage": map[string]any{"input_tokens": 100, "output_tokens": 10}}
}

func (s *Server) embeddings(step Step, body map[string]any) any {
	texts, _ := body["input"].([]any)
	vectors, order := make([][]float32, len(texts)), make([]int, len(texts))
	for i, t := range texts {
		vectors[i], order[i] = Vector(fmt.Sprint(t), s.Dim), i
	}
	if step.twist != nil {
		vectors, order = step.twist(vectors, order)
	}
	data := make([]any, len(vectors))
	for i, v := range vectors {
		var shown any = v
		if body["encoding_format"] == "base64" && !step.mute {
			shown = packed(v)
		}
		data[i] = map[string]any{"object": "embedding", "index": order[i], "embedding": shown}
	}
	return map[string]any{"object": "list", "data": data, "model": body["model"],
		"usage": map[string]any{"prompt_tokens": 5 * len(texts), "total_tokens": 5 * len(texts)}}
}

func packed(v []float32) string {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// Vector is the right vector of a text, not of length 1: the count of its bytes
// by their value modulo dim, plus one.
func Vector(text string, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = 1
	}
	for i := range len(text) {
		v[int(text[i])%dim]++
	}
	return v
}
