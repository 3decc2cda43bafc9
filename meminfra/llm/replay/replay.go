// Package replay records what models answered and plays it back, so that a run
// can be repeated without a provider. A tape is a file of JSON lines, each an
// answer under the SHA-256 of its request. It holds what the models said, in
// plain text: it is test data, not a cache for production.
package replay

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

// ErrNotRecorded is wrapped by the error for a request that the tape does not
// know; the error names the request's hash.
var ErrNotRecorded = errors.New("not on the tape")

// Tape is a file of recorded answers. It is safe for concurrent use.
type Tape struct {
	mu     sync.Mutex
	file   *os.File // nil when only playing back
	lines  map[string][]line
	played map[string]int
	asked  int
}

// line is one answer: a reply or vectors.
type line struct {
	Key     string        `json:"key"`
	Reply   *llm.Response `json:"reply,omitempty"`
	Vectors []string      `json:"vectors,omitempty"` // float32, little-endian, base64
}

// Record opens a tape to add to, made with mode 0600 if it is not there.
// Everything is asked of the models, and their answers are kept; errors are not.
func Record(path string) (*Tape, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Tape{file: f, played: map[string]int{}}, nil
}

// Play opens a tape to answer from. Nothing is asked of the models. A request
// that was recorded several times gets its answers in order, the last one from
// then on.
func Play(path string) (*Tape, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &Tape{lines: map[string][]line{}, played: map[string]int{}}
	return t, t.read(f, path)
}

// Resume opens a tape to answer from and to add to, made with mode 0600 if it is
// not there: what it has is played back, each answer once, and what it has not is
// asked of the models and kept. So a run that was broken off goes on where it
// was, and pays for nothing twice. A last line that was cut off is dropped.
func Resume(path string) (*Tape, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	t := &Tape{file: f, lines: map[string][]line{}, played: map[string]int{}}
	if err := t.mend(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// mend reads the tape to the end of its last whole line and cuts what follows.
func (t *Tape) mend(path string) error {
	whole, err := lastLineEnd(t.file)
	if err != nil {
		return err
	}
	if err := t.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := t.read(t.file, path); err != nil {
		return err
	}
	_, err = t.file.Seek(0, io.SeekEnd)
	return err
}

// lastLineEnd is the length of the file up to its last line feed.
func lastLineEnd(f *os.File) (int64, error) {
	r := bufio.NewReader(f)
	var n, end int64
	for {
		b, err := r.ReadSlice('\n')
		n += int64(len(b))
		switch {
		case err == nil:
			end = n
		case err == io.EOF:
			return end, nil
		case err != bufio.ErrBufferFull:
			return 0, err
		}
	}
}

// read takes in the recorded answers.
func (t *Tape) read(f io.Reader, path string) error {
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		b, err := r.ReadBytes('\n')
		if len(b) > 0 {
			var l line
			if json.Unmarshal(b, &l) != nil {
				return fmt.Errorf("%s: line %d is no recorded answer", path, n)
			}
			t.lines[l.Key] = append(t.lines[l.Key], l)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Counts returns how many requests the tape answered, and how many it passed on
// to a model.
func (t *Tape) Counts() (played, asked int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.played {
		played += n
	}
	return played, t.asked
}

// Close ends recording.
func (t *Tape) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// Generator returns g recorded, or played back. Played back, g only names the
// model, which is part of the request's hash.
func (t *Tape) Generator(g llm.Generator) llm.Generator { return &generator{g, t} }

// Embedder is Generator for an embedder; its Model and Dim are still e's.
func (t *Tape) Embedder(e llm.Embedder) llm.Embedder { return &embedder{e, t} }

type generator struct {
	llm.Generator
	tape *Tape
}

func (g *generator) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	key := hash("generate", g.Model(), req)
	l, err := g.tape.next(ctx, key)
	if err != nil {
		return llm.Response{}, err
	}
	if l != nil && l.Reply != nil {
		return *l.Reply, nil
	}
	if g.tape.file == nil {
		return llm.Response{}, missing(key)
	}
	resp, err := g.Generator.Generate(ctx, req)
	if err == nil {
		err = g.tape.keep(line{Key: key, Reply: &resp})
	}
	return resp, err
}

type embedder struct {
	llm.Embedder
	tape *Tape
}

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	key := hash("embed", e.Model(), texts)
	l, err := e.tape.next(ctx, key)
	if err != nil {
		return nil, err
	}
	if l != nil && len(l.Vectors) == len(texts) {
		return unpack(l.Vectors)
	}
	if e.tape.file == nil {
		return nil, missing(key)
	}
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err == nil {
		err = e.tape.keep(line{Key: key, Vectors: pack(vectors)})
	}
	return vectors, err
}

func missing(key string) error {
	return fmt.Errorf("request %s: %w", key, ErrNotRecorded)
}

// hash identifies a request: what is asked, of which model.
func hash(kind, model string, req any) string {
	b, err := json.Marshal([]any{kind, model, req})
	if err != nil {
		panic("replay: " + err.Error()) // requests are plain data
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// next is the recorded answer to a request, nil for none. A tape that can be
// added to gives each answer once, since a model asked again may say otherwise;
// one that cannot gives its last answer from then on.
func (t *Tape) next(ctx context.Context, key string) (*line, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.lines[key]
	n := t.played[key]
	if len(list) == 0 || t.file != nil && n >= len(list) {
		t.asked++
		return nil, nil
	}
	t.played[key]++
	return &list[min(n, len(list)-1)], nil
}

func (t *Tape) keep(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.file.Write(append(b, '\n'))
	return err
}

func pack(vectors [][]float32) []string {
	out := make([]string, len(vectors))
	for i, v := range vectors {
		b := make([]byte, 4*len(v))
		for k, x := range v {
			binary.LittleEndian.PutUint32(b[4*k:], math.Float32bits(x))
		}
		out[i] = base64.StdEncoding.EncodeToString(b)
	}
	return out
}

func unpack(list []string) ([][]float32, error) {
	out := make([][]float32, len(list))
	for i, s := range list {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil || len(b)%4 != 0 {
			return nil, errors.New("replay: a recorded vector is damaged")
		}
		out[i] = make([]float32, len(b)/4)
		for k := range out[i] {
			out[i][k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:]))
		}
	}
	return out, nil
}
