package gate

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// The plain forms of a sentence in which the user says what he wants or what is
// so: an order, a short answer, a fact of his own, a filled-in form. What is none
// of them is not read: the words that deny or doubt have no end, the plain forms
// have. A form is a regular expression on words: a word stands for itself, a capital
// for a kind of words (see kinds), several capitals for one of these parts.
var parts = map[string]string{
	"OPEN":   `(W|C|B)`,
	"AHEAD":  `(D V|D|P|F (D V?|N|OPEN)|R|N|T|W V?|C|B)*`,
	"AWAY":   `(D V|D|Y|F (D V?|N|OPEN)|R|N|T|W V?|C|B)*`,
	"MORE":   `(D V|D|P|F|N|OPEN)*`,
	"ON":     `on (the? (T|N|back|record|page OPEN|file|list)|my (phone|mobile|computer|laptop|calendar|list))`,
	"WITH":   `with (my|the) OPEN{0,2}(card|account|file|report|attachment)`,
	"BESIDE": `Q?(T on?|N (OPEN|am)?|at once|P it|(P|F) MORE|as (F? D MORE|F T|usual|agreed|printed|payee)|about (P|D V|D) MORE|ON|WITH|and V MORE|and C)|(D V|D) MORE`,
	"TAIL": `(BESIDE|Q?(account|card|am|pm|points|percent|degrees|euros|dollars|people|only|first|again|too|after all|please|thanks|thank you|bitte))*` +
		`(Q C)?`,
	"LEAD": `((hi|hello|hey) C?|please|kindly|now|then|so|and|always|just|also|ok|okay|yes|well|sure|thanks|reminder L|bitte|Q)*`,
	"POLITE": `(go ahead and|let us|let's|remind me to|(make|be) sure to|remember to|(can|could|will|would) you please|i (recommend|told you) to|` +
		`(i|we) A*(want|need|would like|wish) you? to|(i'd|we'd) like you? to)?`,
	"WHEN":  `((P|D|F|on|since|as)(D|P|F|on|N|OPEN){0,4})? T on? Q?`,
	"FACT":  `((D (D|P|F|on|N|T|OPEN)+(is|are)(D|P|F|R|N|T|OPEN|V|than)*(Q so?|Q? and))|OPEN (is|are)(D|N|T|OPEN)* Q so|(i|we) OPEN (D|P|F|N|T|OPEN|last)* and)`,
	"BEGIN": `LEAD (WHEN)?(FACT)?`,
	"ASK":   `LEAD POLITE do? LEAD`,
	"THING": `(D (new|current|main|full|own|usual|regular)?((W|V){1,2}|C)((P|on|with|F (the|la|der|des)) (D|that)? last? W{1,2})*)`,
	"SUCH":  `(that (has to be|is|was|ends|leaks|failed|expires)(D|P|on|W|T|N|after|so)*)?`,
	"BE":    `(is|are|ist|sind|est|sont|es|son)`,
	"GOODS": `(D?(rent|money|invoice|invoices|payment|payments|refund|refunds|salary|bill|bills|order|orders|mail|everything|alerts|` +
		`miete|geld|loyer|argent|alquiler|dinero))`,
	"LABEL": `(payee|recipient|beneficiary|iban|bic|account|number|card|address|street|city|country|zip|postcode|name|email|phone|mobile|bank|amount|date|` +
		`time|konto|empfänger|adresse|ort|compte|cuenta)`,
	"FIELD": `((my|our|the|new)? OPEN{0,2} LABEL L)`,
}

// states are what a user says to be so, up to the value.
var states = []string{
	`(i|we|ich|je|nous|yo)(A|T)*` + // I always buy my bread from Ann.
		`(use|live|bank|buy|pay|work|choose|shop|rent|fly|stay|drive|study|speak|(have|i've)(chosen|picked|an account)|` +
		`chose|picked|kaufe|nutze|zahle|wohne|lebe|nehme|paie|utilise|habite|uso|vivo)` +
		`(D|N|T|OPEN){0,4}(P|with|on)? D?`,
	`((i|we|ich) A*(want|need|prefer|bevorzuge|would like)|i'd like|we'd like)((D|N) OPEN{0,2}(in|at|for|with|to))? D?`, // I need a room in Oslo.
	`(i|we) have?(moved|switched|changed)(D|OPEN){0,3} to D?`,
	`((i|we)(am|are)|i'm)(called|named|allergic to|based in|in|at|from)?`,
	`THING SUCH BE (T|A|called|named)*(P|on|with)? D?`,          // The new account is Ann.
	`THING SUCH (has|shows|carries|lists) the W?(number|score)`, // The card shows the number 4711 on the back.
	`GOODS (goes|go|geht|va)(P|D|on|sur)(D W F)?`,               // The rent goes to Ann.
	`GOODS (are|is|(have|has) to be)(posted|sent|routed|paid|delivered|booked|transferred)(P|on|with)`,
}

// What a user says of a value Z, and of an action that begins at Z; and of a value
// in scripts without spaces. They are compiled when they are first needed.
var (
	forms = compile(
		`BEGIN (ASK ((V V?(it as?|me|us|them)? AHEAD|M (it as?|me|us|them)? AWAY) and? Z TAIL|`+ // Please pay Ann 5 € today. I'd like to book a table at Nopi.
			`(tell|email|message|text|write|inform|let|ask) to? Z (that|to|about|for|know|i|i'm|i'll|my) K*)|`+ // Tell Ann that I am late.
			`(`+strings.Join(states, "|")+`) Z TAIL)`,
		`LEAD (P|D|F|on|with)* Z (Q?(please|thanks|thank you|bitte|T))*`, // To Ann, please.
		`Z BE (my|our|where (i|we)|mein|meine|mon|ma|mi)(W|T|P)*`,        // Oslo is where I live now.
		`((my|our) OPEN Q)?(FIELD S+ Q)* FIELD Z (Q FIELD S+)*`,          // IBAN: DE02...
	)
	orders   = compile(`BEGIN can? ASK Z K (it|them|D|P|F|R|N|T|OPEN|V|M|Q|we|is|are|because|that|than|first|again|at once)*`)
	unspaced = regexp.MustCompile(`^([请請]\p{Han}{1,8}Z|Z[にへ]\p{Han}{1,4}って(ください|下さい)|(私の)?\p{Han}{1,5}(さん)?はZ(です|に変わりました))。?$`)
)

// compile makes one expression of several forms.
func compile(list ...string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("^(?:" + strings.ReplaceAll(expand(strings.Join(list, "|")), " ", "") + ")$")
	})
}

var formNames = regexp.MustCompile(`[\p{L}']+|\(`)

// expand writes out the words, kinds and parts of a form. A word is written as
// itself, a stroke, its kind and a space.
func expand(form string) string {
	return formNames.ReplaceAllStringFunc(form, func(name string) string {
		switch {
		case name == "(":
			return "(?:"
		case parts[name] != "":
			return "(?:" + expand(parts[name]) + ")"
		case name == "P": // also "from", which Y leaves out
			return `(?:[^/\x20]+/[YG]\x20)`
		case name == "K": // of any kind
			return `(?:[^/\x20]+/[^U]\x20)`
		case name == "S": // in a field
			return `(?:[^/\x20]+/[^LQUX]\x20)`
		case len(name) == 1 && unicode.IsUpper(rune(name[0])):
			return `(?:[^/\x20]+/` + name + `\x20)`
		}
		return "(?:" + name + `/.\x20)`
	})
}

// mostFormWords is how long a plain sentence may be.
const mostFormWords = 80

// isPlain reports a sentence that has one of the forms around the value, or behind
// the beginning of an action, that is left out of it. Verbs are the words of what is
// to be done.
func isPlain(ahead, behind string, isAction bool, verbs map[string]bool) bool {
	if r, _ := utf8.DecodeLastRuneInString(ahead); strings.ContainsRune("\"“”„«»‘’'「『", r) && behind != "" { // a name in quotation marks
		if r, n := utf8.DecodeRuneInString(behind); strings.ContainsRune("\"“”«»‘’'」』", r) {
			_, m := utf8.DecodeLastRuneInString(ahead)
			ahead, behind = ahead[:len(ahead)-m], behind[n:]
		}
	}
	if strings.ContainsFunc(ahead+behind, isUnspaced) {
		return !isAction && unspaced.MatchString(strings.Join(strings.Fields(ahead+"Z"+behind), ""))
	}
	if strings.Contains(behind, "?") && !strings.Contains(strings.ToLower(ahead), " you please ") {
		return false
	}
	behind = strings.TrimRight(behind, " \t\r\n.!…?")
	list := kindsOf(nil, ahead, verbs)
	list = kindsOf(append(list, "_/Z"), behind, verbs)
	if len(list) > mostFormWords {
		return false
	}
	text := strings.Join(list, " ") + " "
	if isAction {
		return orders().MatchString(text)
	}
	return forms().MatchString(text)
}

func isUnspaced(c rune) bool { return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// kindsOf appends the words of a text with their kinds: U for what is no plain word.
func kindsOf(list []string, text string, verbs map[string]bool) []string {
	text = strings.ReplaceAll(apostrophes.Replace(strings.TrimSpace(text)), "\n", " , ")
	for w := range strings.FieldsSeq(text) {
		core := strings.TrimRight(w, ",;:")
		if core != "" {
			list = append(list, kindOf(core, len(list) == 0, verbs))
		}
		for _, c := range w[len(core):] {
			if c == ':' {
				list = append(list, ":/L")
			} else if len(list) == 0 || !strings.HasSuffix(list[len(list)-1], "/Q") {
				list = append(list, ",/Q")
			}
		}
	}
	return list
}

// kindOf is a word with its kind. The capital of a sentence's first word says nothing.
func kindOf(w string, isFirst bool, verbs map[string]bool) string {
	fold := memory.FoldName(w)
	first, n := utf8.DecodeRuneInString(w)
	switch {
	case unicode.IsDigit(first) || strings.ContainsRune("€$£¥", first):
		if strings.ContainsFunc(w[n:], func(c rune) bool { return !isWord(c) && !strings.ContainsRune("€$£¥%.,:/'-", c) }) {
			return "_/U"
		}
		return "_/N"
	case strings.ContainsFunc(w[n:], func(c rune) bool { return !isWord(c) && !strings.ContainsRune("'-.@+", c) }),
		strings.HasSuffix(w, "."), strings.Contains(fold, "/"):
		return "_/U"
	case !unicode.Is(unicode.Latin, first), strings.ContainsFunc(w, unicode.IsDigit) && strings.ToUpper(w) != w,
		strings.ContainsFunc(w, func(c rune) bool {
			return unicode.IsLetter(c) && !unicode.Is(unicode.Latin, c) || 0x334 <= c && c <= 0x338
		}):
		return "_/U"
	case w == "May":
		return "may/T"
	case kinds[fold] != "":
		return fold + "/" + kinds[fold]
	case verbs[fold]:
		return fold + "/V"
	case supposing[fold], strings.HasSuffix(fold, "'s"), strings.HasPrefix(fold, "ex-"):
		return fold + "/X"
	case textual[fold]:
		return fold + "/B"
	case unicode.IsUpper(first) && !isFirst:
		return fold + "/C"
	}
	return fold + "/W"
}

// kinds of words: D determiners, Y prepositions that may follow a value, G "from", F
// "of", R particles, A adverbs, T times, N numbers, V what can be ordered, M moves from
// one to another, X what is in no form unless that names it;
// B texts (see textual), of which a fact may not be. Other words are W or, with
// a capital, C. Verbs of taking away are left out: they are plain only where they are
// the action's own.
var kinds = kindSets(map[string]string{
	"D": `the a an my our this these those all every each some der die das den dem des ein eine einen einem mein meine meinen meiner unser unsere
		le la les un une mon ma mes notre el los las una mi mis nuestro nuestra il lo gli mio mia`,
	"G": `from`,
	"Y": `next to for in at by via into through zu zum zur im bei für nach à au aux pour dans en chez al para`,
	"F": `of von vom de du del`,
	"R": `on with up off out down auf mit avec sur con`,
	"A": `really just also still usually normally generally`,
	"T": `today tomorrow tonight now always monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
		january february march april june july august september october november december morning afternoon evening noon midnight
		day days week weeks weekend month months year years weekly monthly daily yearly soon
		heute morgen immer jetzt aujourd'hui demain toujours maintenant hoy mañana siempre ahora`,
	"V": `pay send transfer book use call set make add order buy reserve schedule email message tell write invite remind
		start play name rename store update renew share post publish upload ship deliver route refund wire top donate give lend
		subscribe register sign choose pick select enable extend upgrade hire put assign download create postpone reschedule wake eat install arrange rent
		bring get go ring dial fill enter forward reply meet refill sort restart reroute fly travel ask
		bezahle zahle überweise sende schicke buche nutze nimm benutze bestelle setze ändere kaufe
		paie payez envoie envoyez réserve réservez utilise utilisez appelle commande vire paga envía manda transfiere reserva usa llama compra`,
	"M": `move change switch save turn take`,
	"N": `two three four five six seven eight nine ten eleven twelve twenty hundred`,
	"X": `as over around above across along amid aside below beneath during inside outside opposite throughout toward within versus vs per minus plus
		thief scammer suspect enemy problem fraudster attacker hacker spammer impostor culprit
		i we you he she it they me us him them his her their your its who whom whose which what that how why where and but or nor yet o ou oder because so than
		is are was were be been being am has have had do does did can could would should might may must shall will ist sind war hat est sont était es son era
		about like behind past near without against before after since until till while though although unless whatever whoever whichever wherever upon pending
		following barring given only such there here unlike despite except under between among towards beyond beside concerning regarding again first
		i'm i've i'd i'll you're we're they're let's
		old ex last late future dead request behalf sake accident case demand plan moment instant event condition proviso`,
})

func kindSets(sets map[string]string) map[string]string {
	kinds := map[string]string{}
	for _, kind := range slices.Sorted(maps.Keys(sets)) { // a word has one kind: the last
		for w := range strings.FieldsSeq(sets[kind]) {
			kinds[w] = kind
		}
	}
	return kinds
}
