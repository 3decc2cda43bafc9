package extract_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// rent is a message with a number, a date, a negation and names.
const rent = "Hi! I do not pay 1,250 euros to Anna Berg on 3 March; my landlord is Tomas and the flat is on Pine Street 14. Thanks."

func TestFindVerifiesQuotes(t *testing.T) {
	for name, c := range map[string]struct {
		content, quote, value string
		want                  string // what is quoted, "" for a fault
		fault                 extract.Fault
	}{
		"as it is":            {rent, "landlord is Tomas and the flat", "", "landlord is Tomas and the flat", ""},
		"case and spaces":     {rent, "MY  landlord\nis tomas", "tomas", "my landlord is Tomas", ""},
		"typographic":         {"“I don’t eat meat – ever”, she said", "\"i don't eat meat - ever\"", "", "“I don’t eat meat – ever”", ""},
		"Unicode form":        {"We meet at the cafe\u0301 in Lie\u0300ge.", "we meet at the caf\u00e9 in li\u00e8ge", "", "We meet at the cafe\u0301 in Lie\u0300ge", ""},
		"wide letters":        {"Ｍｙ ｌａｎｄｌｏｒｄ is Tomas Berg", "my landlord is tomas berg", "", "Ｍｙ ｌａｎｄｌｏｒｄ is Tomas Berg", ""},
		"a slip of the pen":   {rent, "my landlrd is Tomas and the flat is on Pine Street 14", "", "my landlord is Tomas and the flat is on Pine Street 14", ""},
		"a slip in the text":  {"I recieved the blue parcel from Anna yesterday", "I received the blue parcel from Anna yesterday", "", "I recieved the blue parcel from Anna yesterday", ""},
		"a dropped article":   {"I would like to have the blue parcel from Anna Berg.", "I would like to have blue parcel from Anna Berg", "", "I would like to have the blue parcel from Anna Berg", ""},
		"another number":      {rent, "my landlord is Tomas and the flat is on Pine Street 41", "", "", extract.QuoteNumber},
		"swapped digits":      {"The account number is 8841 2207 at Northwind bank", "The account number is 8841 2270 at Northwind bank", "", "", extract.QuoteNumber},
		"a swapped date":      {"The rehearsal of the choir is on 3 March in hall 4", "The rehearsal of the choir is on 4 March in hall 3", "", "", extract.QuoteNumber},
		"another month":       {"The rehearsal of the choir is on 3 March in hall 4", "The rehearsal of the choir is on 3 May in hall 4", "", "", extract.QuoteNumber},
		"a number word":       {"I owe thirteen euros to the landlord of the flat", "I owe thirty euros to the landlord of the flat", "", "", extract.QuoteNumber},
		"a missing not":       {"I do not want to move to the house by the river next to the mill", "I do want to move to the house by the river next to the mill", "", "", extract.QuoteNegation},
		"an added not":        {"I do want to move to the house by the river next to the mill", "I do not want to move to the house by the river next to the mill", "", "", extract.QuoteNegation},
		"a missing n't":       {"I can't come to the dinner party at the harbour on the weekend", "I can come to the dinner party at the harbour on the weekend", "", "", extract.QuoteNegation},
		"never":               {"We have never eaten at the restaurant by the harbour together", "We have ever eaten at the restaurant by the harbour together", "", "", extract.QuoteNegation},
		"unhappy":             {"My sister was unhappy about the wedding at the old town hall", "My sister was happy about the wedding at the old town hall", "", "", extract.QuoteNegation},
		"another name":        {"My landlord is called Tomas and lives above the bakery", "My landlord is called Thomas and lives above the bakery", "", "", extract.QuoteName},
		"swapped names":       {"Anna has told Bert about the long trip to the mountains", "Bert has told Anna about the long trip to the mountains", "", "", extract.QuoteNotFound},
		"a name in lower":     {"My landlord is called Tomas and lives above the bakery", "my landlord is called jonas and lives above the bakery", "", "", extract.QuoteName},
		"German nicht":        {"Ich möchte im Sommer nicht in das alte Haus am kleinen Fluss hinter der Mühle und der Brücke ziehen", "Ich möchte im Sommer in das alte Haus am kleinen Fluss hinter der Mühle und der Brücke ziehen", "", "", extract.QuoteNegation},
		"Russian не":          {"Летом я точно не хочу переезжать в старый дом у реки", "Летом я точно хочу переезжать в старый дом у реки", "", "", extract.QuoteNegation},
		"Russian":             {"Летом я точно хочу переезжать в старый дом у реки", "летом я точно хочу пререезжать в старый дом у реки", "", "Летом я точно хочу переезжать в старый дом у реки", ""},
		"Greek":               {"Δεν θέλω να μετακομίσω στο παλιό σπίτι δίπλα στο ποτάμι", "θέλω να μετακομίσω στο παλιό σπίτι δίπλα στο ποτάμι", "", "θέλω να μετακομίσω στο παλιό σπίτι δίπλα στο ποτάμι", ""},
		"behind a not":        {rent, "pay 1,250 euros to Anna Berg", "", "", extract.QuoteCutNegation},
		"behind a don't":      {"I don't like olives on my pizza", "like olives on my pizza", "", "", extract.QuoteCutNegation},
		"Chinese behind a 不":  {"我不喜欢住在北京的郊区", "喜欢住在北京的郊区", "", "", extract.QuoteCutNegation},
		"from within a word":  {"I am unable to lift heavy boxes at work", "able to lift heavy boxes at work", "", "", extract.QuoteCut},
		"from within a sum":   {"They charged me 1,250 euros for the boiler", "250 euros for the boiler", "", "", extract.QuoteCut},
		"without its sign":    {"It is -15 degrees outside the cabin", "15 degrees outside the cabin", "", "", extract.QuoteCut},
		"a half address":      {"Write to billing@pay.example about the invoice", "pay.example about the invoice", "", "", extract.QuoteCut},
		"somebody's":          {"Anna's office is in the old mill", "Anna", "Anna", "Anna", ""},
		"another message":     {rent, "The dentist moved the appointment", "", "", extract.QuoteNotFound},
		"two common words":    {rent, "do not", "", "", extract.QuoteTooShort},
		"one common word":     {rent, "the", "", "", extract.QuoteTooShort},
		"a name with value":   {rent, "Tomas", "Tomas", "Tomas", ""},
		"a name without":      {rent, "Tomas", "", "", extract.QuoteTooShort},
		"a short sentence":    {rent, "Thanks.", "", "Thanks.", ""},
		"short and altered":   {rent, "landlord is Thomas", "", "", extract.QuoteNotFound},
		"keyed value":         {"Green, obviously, what else", "green", "colour: green", "Green", ""},
		"six characters":      {"我住在巴黎的左岸", "住在巴黎的左", "", "住在巴黎的左", ""},
		"five characters":     {"我住在巴黎的左岸", "住在巴黎的", "", "", extract.QuoteTooShort},
		"five with its value": {"我住在巴黎的左岸", "住在巴黎", "巴黎", "住在巴黎", ""},
		"Chinese altered":     {"我明天下午三点在北京机场的出口等你和你的妹妹还有她的朋友", "我明天下午五点在北京机场的出口等你和你的妹妹还有她的朋友", "", "", extract.QuoteName},
		"Thai":                {"ฉันอาศัยอยู่ในกรุงเทพ", "อาศัยอยู่ในกรุงเทพ", "", "อาศัยอยู่ในกรุงเทพ", ""},
		"Arabic":              {"أعيش في مدينة القاهرة منذ سنوات", "أعيش في مدينة القاهرة منذ سنوات", "", "أعيش في مدينة القاهرة منذ سنوات", ""},
		"Hebrew altered":      {"אני לא רוצה לגור בעיר הגדולה ליד הים התיכון", "אני רוצה לגור בעיר הגדולה ליד הים התיכון", "", "", extract.QuoteName},
		"Hindi":               {"मैं दिल्ली में रहता हूँ", "मैं दिल्ली में रहता हूँ", "", "मैं दिल्ली में रहता हूँ", ""},
		"blank":               {rent, " \u200b\n", "", "", extract.QuoteNotFound},
		"no UTF-8":            {rent, "my \xff landlord", "", "", extract.QuoteNotFound},
		"no text":             {"", "my landlord is Tomas", "", "", extract.QuoteNotFound},
	} {
		start, end, fault := extract.NewSource(c.content).Find(c.quote, c.value, -1)
		if fault != c.fault || fault == "" && c.content[start:end] != c.want {
			t.Errorf("%s: %q %q, want %q %q", name, c.content[start:end], fault, c.want, c.fault)
		}
	}
}

// FuzzFind: whatever is said and quoted, offsets are valid and what is accepted
// keeps the figures.
func FuzzFind(f *testing.F) {
	f.Add(rent, "my landlrd is Tomas and the flat is on Pine Street 14", "Tomas", 3)
	f.Add("of\ufb01ce \xff I don’t", "don't", "", -1)
	f.Add("我不喜欢住在北京", "喜欢住在北京", "北京", 5)
	f.Add("a@b.c -5 1,000", "5 1", "5", 0)
	f.Fuzz(func(t *testing.T, content, quote, value string, hint int) {
		content = memory.CleanText(content)
		start, end, fault := extract.NewSource(content).Find(quote, value, hint)
		if fault != "" {
			if start != 0 || end != 0 {
				t.Errorf("offsets beside the fault %s", fault)
			}
			return
		}
		if start < 0 || start >= end || end > len(content) {
			t.Fatalf("[%d, %d) of %d bytes", start, end, len(content))
		}
		if window := content[start:end]; !utf8.ValidString(window) {
			t.Error("offsets inside a rune")
		} else if changed := memory.ChangedFigure(window, quote); changed != "" && !strings.EqualFold(window, quote) && isASCII(content) && isASCII(quote) {
			t.Errorf("%q quoted as %q changes the %s", window, quote, changed)
		}
	})
}

// TestSlipsAreFoundWhereTheyAre puts one slip into random stretches of a text of
// words: each is found at its place.
func TestSlipsAreFoundWhereTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 400)
	for i := range words {
		b := make([]byte, 4+r.IntN(6))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	text := strings.Join(words, " ")
	source := extract.NewSource(text)
	for range 300 {
		from := r.IntN(len(words) - 30)
		to := from + 4 + r.IntN(26)
		want := strings.Join(words[from:to], " ")
		at := len(want)/3 + r.IntN(len(want)/3)
		slip := want[:at] + "q" + want[at+1:]
		if r.IntN(2) == 0 {
			slip = want[:at] + want[at+1:]
		}
		start, end, fault := source.Find(slip, "", -1)
		if fault != "" || text[start:end] != want {
			t.Errorf("%q: %q %s, want %q", slip, text[start:end], fault, want)
		}
	}
}

func BenchmarkFindIn1MiB(b *testing.B) {
	filler := strings.Repeat("The quick brown fox jumps over the lazy dog near the river bank. ", 1<<20/65)
	said := " I keep the spare key of the summer house under the third blue flower pot. "
	content := filler[:len(filler)/2] + said + filler[len(filler)/2:]
	for name, c := range map[string]struct{ content, quote string }{
		"exact":      {content, strings.TrimSpace(said)},
		"folded":     {content, strings.ToUpper(strings.TrimSpace(said))},
		"similar":    {content, "I keep the spare key of the sumer house under the third blue flower pot"},
		"missing":    {content, "We never agreed on the colour of the new curtains for the guest room upstairs"},
		"longest":    {content, strings.Repeat("no such words are anywhere in it ", 31)},
		"repetitive": {strings.Repeat("a", 1<<20), strings.Repeat("a", 1000)},
		"repeated":   {strings.Repeat("ab ab ", 1<<20/6), strings.Repeat("ab ab ", 150) + "ac"},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(c.content)))
			for range b.N {
				extract.NewSource(c.content).Find(c.quote, "", -1)
			}
		})
	}
}
