// Package hashed is the built-in embedder: no network, no weights, no training.
// It hashes a text's words and the character n-grams in them into a vector of
// fixed length, so texts that share words, inflections or spellings lie near
// each other.
//
// It is weak. It knows no meaning: "car" and "automobile" have nothing in
// common for it, and long texts all look alike. It adds to a word search what
// that lacks, tolerance of spelling and of word forms in any language, and it
// lets everything that needs vectors run offline and repeatably. Use a model's
// embeddings where meaning matters. A name in a query draws in every text that
// mentions it: take names out of the query where you can.
//
// On LoCoMo's 1,982 questions it finds an evidence turn among the first five for
// 0.49 of them (BM25: 0.64), for 0.55 with the speakers' names taken out of the query.
//
// Source: issue 2; locomo-baselines.md, "Dense alone".
package hashed

import (
	"context"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

const (
	dim   = 512
	model = "hashed-512/1"
)

// Embedder embeds by hashing. It holds no state and is safe for concurrent use.
type Embedder struct{}

var _ llm.Embedder = (*Embedder)(nil)

// New returns the embedder.
func New() *Embedder { return &Embedder{} }

// Model returns "hashed-512/1". Its vectors are the same on every machine, and
// change only with the number after the slash.
func (*Embedder) Model() string { return model }

// Dim returns 512.
func (*Embedder) Dim() int { return dim }

// Embed returns one vector per text, in order, of 512 numbers that are not
// negative and of length 1. A text without words, or with stop words alone, gives
// the zero vector. No texts give no vectors. The only error is the context's.
func (*Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	h := pool.Get().(*hasher)
	defer pool.Put(h)
	block := make([]float32, dim*len(texts))
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = block[i*dim : (i+1)*dim : (i+1)*dim]
		h.embed(out[i], text)
	}
	return out, nil
}

// hasher counts features. It keeps its buffers from text to text.
type hasher struct {
	counts [dim]float32
	norm   []byte
	word   []byte // the word at hand, folded, between word marks
	starts []int  // where each of its characters starts, and the end
}

var pool = sync.Pool{New: func() any { return new(hasher) }}

// embed writes the vector of text into vec, which is zero.
func (h *hasher) embed(vec []float32, text string) {
	clear(h.counts[:])
	h.norm = norm.NFKC.AppendString(h.norm[:0], text)
	for src := h.norm; len(src) > 0; {
		src = src[h.next(src):]
	}
	// Each count goes in by its root, so that repeats and long words do not
	// drown the rest; the roots' squares are the counts again.
	var sum float32
	for _, n := range h.counts {
		sum += n
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(float64(sum))
	for i, n := range h.counts {
		if n > 0 {
			vec[i] = float32(math.Sqrt(float64(n)) * scale)
		}
	}
}

// next takes the run that src begins with, a word or what lies between words, and
// returns its length.
func (h *hasher) next(src []byte) int {
	h.word, h.starts = append(h.word[:0], edge), append(h.starts[:0], 0)
	r, n := utf8.DecodeRune(src)
	kind, i := kindOf(r), 0
	for kindOf(r) == kind {
		if kind != between {
			h.starts = append(h.starts, len(h.word))
			h.word = utf8.AppendRune(h.word, unicode.ToLower(unicode.ToUpper(r)))
		}
		if i += n; i == len(src) {
			break
		}
		r, n = utf8.DecodeRune(src[i:])
	}
	h.starts = append(h.starts, len(h.word))
	switch {
	case kind == unspaced:
		h.addGrams(h.starts[1:], 1, 3)
	case kind == spaced && !stopWords[string(h.word[1:])]:
		h.word = append(h.word, edge)
		h.starts = append(h.starts, len(h.word))
		h.add(extend(wordBasis, h.word))
		h.addGrams(h.starts, 3, 5)
	}
	return i
}

// edge stands before and after a word, so that n-grams know its ends.
const edge = 0x01

// addGrams counts the runs of least to most characters, which begin at starts.
func (h *hasher) addGrams(starts []int, least, most int) {
	for i := range starts {
		sum := uint64(gramBasis)
		for n := 1; n <= most && i+n < len(starts); n++ {
			sum = extend(sum, h.word[starts[i+n-1]:starts[i+n]])
			if n >= least {
				h.add(sum)
			}
		}
	}
}

func (h *hasher) add(sum uint64) {
	const mix, bits = 0x9E3779B97F4A7C15, 9 // 2^9 = dim
	h.counts[(sum^sum>>32)*mix>>(64-bits)]++
}

// FNV-1a, 64 bits, written out because the vectors must never change. A whole
// word starts from another basis than an n-gram, so that it counts by itself.
const (
	gramBasis = 0xcbf29ce484222325
	wordBasis = gramBasis ^ 0x55
	prime     = 0x100000001b3
)

func extend(sum uint64, b []byte) uint64 {
	for _, c := range b {
		sum = (sum ^ uint64(c)) * prime
	}
	return sum
}

// kind is how a character takes part in words.
type kind uint8

const (
	between  kind = iota
	spaced        // words have spaces around them
	unspaced      // words follow each other without
)

func kindOf(r rune) kind {
	const (
		firstThai = 0x0E00
		longVowel = 0x30FC // of Katakana, but common to two scripts
	)
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return spaced
	case r < utf8.RuneSelf:
		return between
	case r >= firstThai && (unicode.In(r, unspacedScripts...) || r == longVowel):
		return unspaced
	case unicode.In(r, unicode.L, unicode.N, unicode.M):
		return spaced
	}
	return between
}

var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// stopWords say nothing about what a text is about. The single letters are what
// is left of "it's" and "I'll".
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`
		a an the this that these those
		i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
		s t d m ll ve re
		am is are was were be been being do does did doing done have has had having
		can could will would shall should may might must
		and or but if so than then as of at by for from in into on onto to with about
		what which who whom whose when where why how
		there here just also too very some any more other`) {
		set[w] = true
	}
	return set
}()
