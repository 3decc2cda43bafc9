package memory

import (
	"slices"
	"strings"
	"unicode"
)

// SameFigures reports whether two texts agree in everything that similarity is
// blind to: numbers, negations, names, and the words of time and measure. When in
// doubt it says no: two items that say the same cost a line, one that swallowed
// another costs a fact.
//
//   - Numbers: digits and number words to twelve; where there are several
//     different ones, each must also count the same thing ("3 March in hall 4" is
//     not "4 March in hall 3").
//   - Names: capitalised words in their order, taken before folding. The first word
//     of a sentence counts unless it is a common one or the other text has it in
//     lower case. In scripts without case every word counts.
//
// Source: design section 5; wild-faults.md A07.
func SameFigures(a, b string) bool {
	x, y := figuresOf(a), figuresOf(b)
	return x.negations == y.negations && sameBag(x.measures, y.measures) &&
		sameNumbers(x.numbers, y.numbers) && slices.Equal(x.namesBeside(y), y.namesBeside(x))
}

// figures is what must not differ between two wordings of one proposition.
type figures struct {
	numbers   []number
	negations int
	measures  []string // units, dates and periods
	names     []name
	lower     map[string]bool // words that do not begin with a capital
}

type number struct {
	text string
	of   string // the word that it counts or numbers: "3 March", "hall 4"
}

type name struct {
	text  string
	start bool // first word of its sentence
}

// word is a token: the text as written, folded, and whether it starts a sentence.
type word struct {
	raw, fold string
	start     bool
}

func figuresOf(s string) figures {
	words := wordsOf(s)
	f := figures{lower: map[string]bool{}}
	for i, w := range words {
		first := firstRune(w.raw)
		digit := strings.ContainsFunc(w.fold, unicode.IsDigit)
		switch {
		case digit || numberWords[w.fold] != "":
			n, unit := splitNumber(w.fold)
			f.numbers = append(f.numbers, number{n, countedBy(words, i)})
			if unit != "" {
				f.measures = append(f.measures, measureOf(unit))
			}
		case IsNegation(w.fold):
			f.negations++
		case measureOf(w.fold) != "":
			f.measures = append(f.measures, measureOf(w.fold))
		case unicode.Is(unicode.Lo, first):
			f.names = append(f.names, name{text: w.fold})
		case (unicode.IsUpper(first) || unicode.IsTitle(first)) && !pronouns[w.fold]:
			f.names = append(f.names, name{w.fold, w.start})
		default:
			f.lower[w.fold] = true
		}
	}
	return f
}

// namesBeside returns the names in order, without first words of a sentence that
// the other text shows to be no names.
func (f figures) namesBeside(other figures) []string {
	var out []string
	for _, n := range f.names {
		if !n.start || !other.lower[n.text] && !starters[n.text] {
			out = append(out, n.text)
		}
	}
	return out
}

func sameNumbers(a, b []number) bool {
	if len(a) != len(b) {
		return false
	}
	several := slices.ContainsFunc(a, func(n number) bool { return n.text != a[0].text })
	left := slices.Clone(b)
	for _, n := range a {
		i := slices.IndexFunc(left, func(m number) bool {
			return m.text == n.text && (!several || n.of == m.of)
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

func sameBag(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// countedBy returns the word after number i ("3 March", "3rd of March"), else the
// one before it ("hall 4"), "" if neither says anything.
func countedBy(words []word, i int) string {
	tells := func(j int) bool {
		return j >= 0 && j < len(words) && !stops[words[j].fold] && !strings.ContainsFunc(words[j].fold, unicode.IsDigit)
	}
	after := i + 1
	if after < len(words) && words[after].fold == "of" {
		after++
	}
	switch {
	case tells(after):
		return words[after].fold
	case tells(i - 1):
		return words[i-1].fold
	}
	return ""
}

// wordsOf cuts a text into words: letters and digits with what joins them
// (decimal points, colons, slashes and hyphens between digits, apostrophes
// between letters), a sign before a number, and signs of money and measure.
func wordsOf(s string) []word {
	runes := []rune(s)
	var words []word
	start := true
	for i := 0; i < len(runes); {
		r := runes[i]
		if !isWordRune(r) && !isSign(runes, i) {
			start = start || strings.ContainsRune(".!?\n。！？", r)
			if strings.ContainsRune("$€£¥%°", r) {
				words = append(words, word{raw: string(r), fold: string(r)})
				start = false
			}
			i++
			continue
		}
		j := i + 1
		for j < len(runes) && (isWordRune(runes[j]) || isJoint(runes, j)) {
			j++
		}
		raw := string(runes[i:j])
		fold := strings.ReplaceAll(FoldName(raw), "’", "'")
		words = append(words, word{raw: raw, fold: strings.TrimSuffix(fold, "'s"), start: start})
		start, i = false, j
	}
	return words
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

// isSign reports a minus or plus that belongs to the number after it.
func isSign(s []rune, i int) bool {
	return strings.ContainsRune("-−+", s[i]) && i+1 < len(s) && unicode.IsDigit(s[i+1]) && (i == 0 || unicode.IsSpace(s[i-1]))
}

func isJoint(s []rune, i int) bool {
	if i+1 >= len(s) {
		return false
	}
	before, after := s[i-1], s[i+1]
	if strings.ContainsRune("'’", s[i]) {
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	}
	return strings.ContainsRune(".,:/-", s[i]) && unicode.IsDigit(before) && unicode.IsDigit(after)
}

// splitNumber returns the canonical number of a folded word and the unit that is
// written to it ("5mg"). Words that begin with a letter ("b12") stay whole.
func splitNumber(w string) (n, unit string) {
	if n := numberWords[w]; n != "" {
		return n, ""
	}
	end := strings.LastIndexFunc(w, unicode.IsDigit) + 1
	for end < len(w) && w[end]&0xc0 == 0x80 { // the rest of a digit of several bytes
		end++
	}
	n, tail := w[:end], w[end:]
	switch {
	case slices.Contains([]string{"st", "nd", "rd", "th"}, tail):
	case measureOf(tail) != "":
		unit = tail
	default:
		n = w
	}
	if parts := strings.Split(n, ","); len(parts) > 1 && !slices.ContainsFunc(parts[1:], func(p string) bool { return len(p) != 3 }) {
		n = strings.Join(parts, "")
	}
	if trimmed := strings.TrimLeft(n, "0"); trimmed != "" && strings.Trim(trimmed, "0123456789") == "" {
		n = trimmed
	}
	return n, unit
}

// IsNegation reports whether a folded word is one of the plain negations.
func IsNegation(w string) bool { return negations[w] || strings.HasSuffix(w, "n't") }

// measureOf returns the canonical form of a word of time or measure, "" for
// others.
func measureOf(w string) string {
	if measures[w] {
		return w
	}
	if s := strings.TrimSuffix(w, "s"); len(s) > 2 && measures[s] {
		return s
	}
	return measureNames[w]
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

func table(pairs string) map[string]string {
	m := map[string]string{}
	for _, p := range strings.Fields(pairs) {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return m
}

var (
	numberWords = table(`thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30
		forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 thousand=1000 million=1000000 billion=1000000000
		zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12
		first=1 third=3 fourth=4 fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 once=1x twice=2x half=0.5 dozen=12`)
	// The negations of English, and the plain ones of other languages with case.
	negations = set(`not no never none nobody nothing nowhere neither nor cannot cant without hardly rarely
		stopped quit ceased former formerly except unless
		dont doesnt didnt wont wouldnt isnt arent wasnt werent havent hasnt hadnt couldnt shouldnt
		nicht nichts kein keine keinen keinem keiner nie niemals ohne ne pas jamais aucun aucune sans nunca jamás ni sin tampoco ningún
		non mai senza não nunca sem niet geen nooit zonder inte aldrig ikke aldri ej utan uden uten nie nigdy bez
		не нет ни никогда без немає ніколи nem soha ei nikdy ne není nejsou nejsem δεν μη μην ποτέ χωρίς değil yok hiç`)
	measures = set(`mg g kg ml l cl dl mm cm m km mcg oz lb ft inch mile meter metre gram litre liter kilo kilometer kilometre
		percent degree dollar euro pound second minute hour day week month year decade century season quarter weekend
		daily weekly monthly yearly annually hourly today tomorrow yesterday tonight morning afternoon evening night noon midnight
		am pm ago before after since until till during last next previous every each always sometimes often usually
		spring summer autumn winter more less most least
		monday tuesday wednesday thursday friday saturday sunday january february march april may june july
		august september october november december $ € £ ¥ % °`)
	measureNames = table(`kgs=kg lbs=lb inches=inch feet=ft miles=mile fall=autumn hr=hour hrs=hour min=minute mins=minute sec=second
		mon=monday tue=tuesday wed=wednesday thu=thursday fri=friday sat=saturday sun=sunday centuries=century
		jan=january feb=february mar=march apr=april jun=june jul=july aug=august sep=september sept=september
		oct=october nov=november dec=december`)
	pronouns = set(`i i'm i've i'd i'll`)
	stops    = set(`a an the in on at of to for from by with and or is are was were be`)
	starters = set(`a an the in on at of to for from by with and or but so my our your his her its their this that these those
		we you he she it they there here when while if as is are was were be do does did has have had yes well also then now
		currently recently actually please some any all both many`)
)
